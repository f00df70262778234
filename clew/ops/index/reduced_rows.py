"""What `index_reduce` takes as its reduction, and of numbers without order or arithmetic."""

from __future__ import annotations

from clew import errors
from clew.backend import dtypes
from clew.core.state import local
from clew.core.tensor import Tensor


def check_rows_of_unordered(
    input: Tensor, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> None:
    """What PyTorch reduces of bools and complex numbers: rows, beginning with what is there."""
    is_complex = input.is_complex()
    missing = None
    if not include_self:
        missing = "index_reduce_func_exclude_input_init"
    elif input._array.ndim <= 1:
        missing = "index_func_"
    elif index._array.size and reduce == "mean" and not is_complex:
        missing = "div_floor_cpu"
    elif index._array.size and reduce == "mean" and input.dtype is dtypes.complex32:
        missing = "div_cpu"
    elif index._array.size and reduce in ("amax", "amin") and is_complex:
        missing = "maximum_cpu" if reduce == "amax" else "minimum_cpu"
    if missing is not None:
        raise errors.no_kernel(missing, input.dtype)
    if is_complex and local.state.grad_enabled and (input.requires_grad or source.requires_grad):
        raise RuntimeError(
            "index_reduce does not support automatic differentiation for outputs with complex "
            "dtype." + errors.at_user_line()
        )


def check_reduction(reduce: object) -> None:
    if not isinstance(reduce, str):
        place = 4 + errors.is_function_call()
        raise errors.wrong_argument("index_reduce", "reduce", place, "str", reduce)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}." + errors.at_user_line()
        )
