"""`check=True`: an eager run beside a replay, and what differs between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.backend import random as streams
from clew.compiler.graph import CALL
from clew.compiler.trace import Trace
from clew.core.tensor import Tensor
from clew.errors import at_user_line
from clew.interrupts import run_to_end
from clew.utils._pytree import tree_flatten

# How far compiled values may be from eager ones, by dtype: rounding in another order.
TOLERANCES = {
    "float32": 1e-4,
    "float64": 1e-9,
    "float16": 2e-2,
    "bfloat16": 5e-2,
    "complex64": 1e-4,
}


class Differs(AssertionError):
    """A compiled call gave something else than the eager one."""


def checked_replay(
    trace: Trace, tensors: Sequence[Tensor], args: Any, kwargs: Any, numbers: tuple[float, ...]
) -> Any:
    """Replay a call, then run it eagerly from the same state; the eager outcome stays."""
    states = _states(trace)
    before = [each.copy() for each in states]
    grads = [(leaf, leaf._grad) for leaf in trace.leaves]
    stepped = [(each, dict(each)) for each in _stepped(trace)]
    stream = streams.default_generator.get_state()
    replayed = trace.replay(tensors, args, kwargs, numbers)
    found = [np.array(each) for each in states]
    gradients = [None if leaf._grad is None else np.array(leaf._grad._array) for leaf, _ in grads]

    def restore() -> None:
        for array, copy in zip(states, before, strict=True):
            array[...] = copy
        for leaf, grad in grads:
            leaf._grad = grad
        for each, values in stepped:
            each.update(values)
        streams.default_generator.set_state(stream)

    run_to_end(restore)
    result = trace.function(*args, **kwargs)
    for number, (mine, right) in enumerate(zip(found, states, strict=True)):
        _compare(f"state {number}", mine, right)
    for (leaf, _), gradient in zip(grads, gradients, strict=True):
        if (gradient is None) is not (leaf._grad is None):
            raise Differs("a gradient is there in one run only" + at_user_line())
        if gradient is not None and leaf._grad is not None:
            _compare(f"the gradient of shape {list(leaf.shape)}", gradient, leaf._grad._array)
    pairs = zip(tree_flatten(replayed)[0], tree_flatten(result)[0], strict=True)
    for number, (mine, right) in enumerate(pairs):
        if isinstance(right, Tensor):
            _compare(f"result {number}", mine._array, right._array)
    return result


def _states(trace: Trace) -> list[np.ndarray]:
    """The memory of all tensors that the function can reach, each once."""
    tensors = [*trace.reached.tensors.values()]
    for values in _stepped(trace):
        tensors += [each for each in values.values() if isinstance(each, Tensor)]
    return list({id(each._array): each._array for each in tensors}.values())


def _stepped(trace: Trace) -> list[dict[str, Any]]:
    """What the optimizers and schedulers keep that the function steps."""
    found: list[dict[str, Any]] = []
    for each in trace.graph.instructions:
        owner: Any = getattr(each.detail, "__self__", None) if each.kind == CALL else None
        if hasattr(owner, "param_groups"):
            found += [*owner.state.values(), *owner.param_groups]
        elif owner is not None:
            found.append(vars(owner))
    return found


def _compare(what: str, mine: np.ndarray, right: np.ndarray) -> None:
    if mine.shape != right.shape or mine.dtype != right.dtype:
        raise Differs(
            f"{what}: compiled {mine.dtype}{list(mine.shape)}, eager {right.dtype}"
            f"{list(right.shape)}" + at_user_line()
        )
    if mine.dtype.kind in "biu":
        same = bool((mine == right).all())
    else:
        bound = TOLERANCES.get(right.dtype.name, 1e-4)
        wide = [each.astype(np.complex128 if each.dtype.kind == "c" else np.float64)
                for each in (mine, right)]  # fmt: skip
        same = bool(np.allclose(wide[0], wide[1], bound, bound, equal_nan=True))
    if not same:
        raise Differs(f"{what}: compiled and eager values differ" + at_user_line())
