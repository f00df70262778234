"""cond and while_loop: control flow as functions, for programs that torch.compile captures.

clew runs them as Python would; gradients flow through what was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.tensor import Tensor

__all__ = ["cond", "while_loop"]


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:
    """`true_fn(*operands)` if `pred` holds, else `false_fn(*operands)`.

    Args:
        pred: a bool, or a tensor of one element
        true_fn: the function for a true `pred`
        false_fn: the function for a false one
        operands: what either gets

    Example:
        >>> x = clew.tensor([1., 2.])
        >>> clew.cond(x.sum() > 2, lambda x: x * 10, lambda x: x, (x,))
        tensor([10., 20.])
    """
    if isinstance(pred, Tensor) and pred._array.size != 1:
        raise _failure(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not (callable(true_fn) and callable(false_fn)):
        raise _failure("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise _failure(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists "
            f"of tensor leaves, but got {operands}."
        )
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried_inputs: tuple[Any, ...] | list[Any],
) -> Any:
    """Calls `body_fn` with its own results as long as `cond_fn` holds for them.

    Args:
        cond_fn: what to ask before each step; returns a bool or a tensor of one element
        body_fn: one step, which returns as many values as it takes
        carried_inputs: the values to begin with

    Example:
        >>> clew.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, clew.tensor(1.)))
        (3, tensor(8.))
    """
    if not (callable(cond_fn) and callable(body_fn)):
        raise _failure("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise _failure(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only "
            f"consists of tensor or int leaves, but got {carried_inputs}."
        )
    values: Any = tuple(carried_inputs)
    while cond_fn(*(values if isinstance(values, (tuple, list)) else (values,))):
        values = body_fn(*(values if isinstance(values, (tuple, list)) else (values,)))
    return values


def _failure(text: str) -> RuntimeError:
    return RuntimeError(text + errors.at_user_line())
