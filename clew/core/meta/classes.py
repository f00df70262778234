"""`__torch_dispatch__` of tensor classes: a class takes over the operations on its objects.

Where `__torch_function__` is about functions, this is about operations, below autograd: what the
handler returns gets the history of the operation, and backward's operations go to the handler as
well. Objects made by `_make_wrapper_subclass` have a shape, dtype, strides and device, and no
elements: their arrays are of the meta device, so its interceptor is there while one is alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.inplace import rebase
from clew.core.meta.handlers import handler_of
from clew.core.op import Op
from clew.core.recording import differentiable, edges_of, grad_mask, record
from clew.core.state import State
from clew.core.tensor import Tensor, placed
from clew.source import _getframe

# Operations, and functions that make tensors, as handlers get them: see `ops/op_calls.py`.
calls: list[Callable[..., Any]] = []


def made_like(function: str, like: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the class of a tensor makes of a function that makes tensors like it."""
    return ask(calls[1](function), [type(like)], (like, *args), kwargs)


def taking_over(values: tuple[Any, ...]) -> list[type]:
    """The classes among the inputs that take over operations, subclasses before their bases."""
    found: list[type] = []
    for value in values:
        kind = type(value)
        if isinstance(value, Tensor) and kind not in found and handler_of(kind) is not None:
            place = next((i for i, k in enumerate(found) if issubclass(kind, k)), len(found))
            found.insert(place, kind)
    return found


def offer(
    state: State,
    kinds: list[type],
    op: Op,
    inputs: tuple[Any, ...],
    params: dict[str, Any],
    inplace: bool,
) -> Any:
    """What the first class that wants the operation makes of it, with its history."""
    func = calls[0](op, inplace)
    before, state.grad_enabled = state.grad_enabled, False
    try:
        result = ask(func, kinds, inputs, params)
    finally:
        state.grad_enabled = before
    return _recorded(state, op, inputs, params, result, inplace)


def ask(func: Any, kinds: list[type], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first of the classes that does not decline returns."""
    for kind in kinds:
        result = handler_of(kind)(func, tuple(kinds), args, kwargs)
        if result is not NotImplemented:
            return result
    listed = "".join(f"\n  - tensor subclass {kind}" for kind in kinds)
    raise TypeError(
        f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n{listed}" + errors.at_user_line()
    )


def _recorded(
    state: State,
    op: Op,
    inputs: tuple[Any, ...],
    params: dict[str, Any],
    result: Any,
    inplace: bool,
) -> Any:
    mask = grad_mask(inputs)
    outs = result if type(result) is tuple or type(result) is list else (result,)
    if not (mask and state.grad_enabled and op.differentiable and outs):
        return result
    if not all(isinstance(out, Tensor) for out in outs):
        return result
    plan = op.plan(mask)
    if not plan.active or not any([differentiable(out) for out in outs]):
        return result
    edges = edges_of(inputs)
    dual, state.dual = state.dual, True  # what is saved is saved as the objects that they are
    try:
        frame = _getframe(2)
        node = record(state, plan, op.node_class, inputs, params, tuple(outs), edges, frame)
    finally:
        state.dual = dual
    if inplace:
        rebase(state, outs[0], node, is_step=True)
        return result
    given = [_own(out, inputs) for out in outs]
    for number, out in enumerate(given):
        if differentiable(out):
            out._requires_grad, out._node, out._output_nr = True, node, number
    return tuple(given) if type(result) in (tuple, list) else given[0]


def _own(out: Tensor, inputs: tuple[Any, ...]) -> Tensor:
    """A result that is not one of the inputs, nor part of a graph already."""
    if any(out is each for each in inputs) or out._requires_grad:
        return placed(out, None, 0)
    return out
