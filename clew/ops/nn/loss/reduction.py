"""The `reduction` argument of losses, with the older arguments that it replaced."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from clew.core.result_layout import Placement, laid_out
from clew.core.tensor import Tensor
from clew.kernels.numpy.arrays import widened
from clew.ops.reduce.reductions import add_up
from clew.source import user_stacklevel

REDUCTIONS = ("none", "mean", "sum")


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """What `size_average` and `reduce` mean as a `reduction`, with a warning if they are used."""
    if size_average is None and reduce is None:
        return reduction
    averaged = True if size_average is None else size_average
    reduced = True if reduce is None else reduce
    reduction = "none" if not reduced else "mean" if averaged else "sum"
    warnings.warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{reduction}' instead.",
        stacklevel=user_stacklevel(),
    )
    return reduction


def check_reduction(reduction: str) -> None:
    """Refuse unknown reductions."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def asked_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the three arguments of a loss ask for together."""
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce, reduction)
    if reduction not in REDUCTIONS:
        check_reduction(reduction)
    return reduction


def reduced(
    values: np.ndarray,
    reduction: str,
    dtype: np.dtype,
    operands: tuple[np.ndarray, ...] = (),
    placement: Placement = laid_out,
) -> np.ndarray:
    """Elementwise losses reduced as asked, in the dtype of the input.

    The losses themselves lie in memory as their operands do.
    """
    if reduction == "none":
        losses = values.astype(dtype, copy=False)
        is_like_first = bool(operands) and operands[0].shape == losses.shape
        return placement(operands, losses) if is_like_first else losses
    total: Any = add_up(widened(values), tuple(range(values.ndim)), keepdim=False)
    if reduction == "mean":
        # NumPy's division, because Python's would refuse the mean of nothing.
        total = np.divide(total, total.dtype.type(values.size))
    return np.asarray(total).astype(dtype, copy=False)


def spread(g: Any, reduction: str, count: int) -> Any:
    """The gradient of each elementwise loss, from that of the reduced one; a tensor or an array."""
    return g / count if reduction == "mean" else g


def reduce_loss(losses: Tensor, reduction: str) -> Tensor:
    """A loss that is composed of operations, reduced as asked."""
    if reduction == "none":
        return losses
    result: Tensor = losses.mean() if reduction == "mean" else losses.sum()
    return result
