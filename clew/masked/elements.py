"""Which elements of a tensor count, and which ones of a masked function's result have a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor, wrap
from clew.masked.masks import largest, mask_of, reduced_dims, smallest

_REDUCTIONS = {
    "sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std",
    "logsumexp",
}  # fmt: skip
_ALONG = {"softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"}


def _input_mask(input: Tensor, *args: Any, mask: Tensor | None = None, **kwargs: Any) -> Tensor:
    """The mask in the shape of the input, as bool.

    Args:
        input: what a masked function is called with
        args: the function's other arguments
        mask: True for the elements that count
        kwargs: the function's other arguments

    Example:
        >>> clew.masked._input_mask(clew.zeros(2, 2), mask=clew.tensor([True, False]))
        tensor([[ True, False],
                [ True, False]])
    """
    if mask is None:
        raise ValueError("_input_mask requires explicit mask" + errors.at_user_line())
    return mask_of(input, mask)


def _output_mask(op: Callable[..., Tensor], input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Where the result of a masked function has a value: where an element counted.

    Args:
        op: the function of `clew.masked`
        input: what it is called with
        args: its other arguments
        kwargs: its other arguments, among them the mask

    Example:
        >>> mask = clew.tensor([[True, False], [False, False]])
        >>> clew.masked._output_mask(clew.masked.sum, clew.zeros(2, 2), 1, mask=mask)
        tensor([ True, False])
    """
    name = getattr(op, "__name__", "")
    if name not in _REDUCTIONS | _ALONG or not callable(op):
        what = f"callable {op.__module__}.{name}" if callable(op) else f"{type(op).__name__} object"
        raise ValueError(
            f"_output_mask expected masked operation (got {what})" + errors.at_user_line()
        )
    mask = _input_mask(input, *args, **kwargs)
    if name in _ALONG:
        return mask
    given = args[1:] if name == "norm" else args
    dim = given[0] if given else kwargs.get("dim")
    dims = reduced_dims(dim, input._array.ndim)
    return mask.any(dims, kwargs.get("keepdim", False)) if dims else mask


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """What a masked function does not see: an element that does not change its result.

    Args:
        op_name: the name of the function of `clew.masked`, or its dotted name
        input: what it is called with; the result has its dtype
        args: the function's other arguments: the order of a norm

    Example:
        >>> clew.masked._reduction_identity("prod", clew.ones(2))
        tensor(1.)
    """
    dtype = input.dtype
    op_name = op_name.rpartition(".")[2]
    if op_name in ("mean", "var", "std"):
        return None
    if op_name == "median":
        return wrap(np.asarray(math.nan, np.float32))
    if op_name in ("sum", "cumsum"):
        value: Any = 0
    elif op_name in ("prod", "cumprod"):
        value = 1
    elif op_name in ("amax", "argmax"):
        value = smallest(dtype, op_name)
    elif op_name in ("amin", "argmin"):
        value = largest(dtype, op_name)
    elif op_name in ("logaddexp", "logsumexp"):
        value = -math.inf
    elif op_name == "norm":
        value = largest(dtype, op_name) if args and args[0] == -math.inf else 0
    else:
        raise NotImplementedError(f"identity of {op_name} on {dtype} input" + errors.at_user_line())
    return wrap(np.asarray(value, dtype.np))
