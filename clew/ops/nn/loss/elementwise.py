"""Losses that compare an input with a target element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import explained
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.tensor import Tensor
from clew.kernels.numpy.arrays import rounded, widened
from clew.kernels.numpy.conversion import converted
from clew.ops.define.memory_layout import as_first
from clew.ops.nn.activation.unary import run_kernel
from clew.ops.nn.loss.checks import (
    check_pair,
    in_one_dtype,
    paired,
    require_float,
)
from clew.ops.nn.loss.kernels import (
    SMOOTH,
    SMOOTH_DERIVATIVE,
    SQUARES,
)

# Pickles name these functions here.
from clew.ops.nn.loss.likelihood import (  # noqa: F401
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    kl_div,
    poisson_nll_loss,
)
from clew.ops.nn.loss.reduction import (
    asked_reduction,
    check_reduction,
    reduce_loss,
    reduced,
    spread,
)
from clew.ops.shape.broadcasting import broadcast_tensors

Array = np.ndarray


def _weighted(losses: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """The weighted mean, sum or elements of elementwise losses."""
    if weight._array.shape != input._array.shape:
        raise ValueError("Weights and input must have the same size." + errors.at_user_line())
    weighted = losses * weight
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    return reduce_loss(weighted, reduction)


# -- squared, absolute and mixed errors ----------------------------------------------------


def _mse(self: Array, target: Array, *, reduction: str) -> Array:
    self, target = in_one_dtype(self, target)
    dtype = self.dtype
    if dtype in dtypes.LOW_PRECISION:
        difference = rounded(widened(self) - widened(target), dtype)
        losses = rounded(difference * difference, dtype)
    else:
        losses = run_kernel(SQUARES, self, target)
    return reduced(losses, reduction, dtype, (self, target))


def _count(value: Any) -> int:
    """The elements of a tensor or a bare array."""
    return (value if type(value) is np.ndarray else value._array).size


def _mse_gradient(g: Any, self: Any, target: Any, reduction: str) -> Any:
    """Of tensors or bare arrays."""
    # Bools have no difference, so all are converted first.
    if type(g) is np.ndarray:
        difference = converted(self, g.dtype) - converted(target, g.dtype)
        dtype = g.dtype
    else:
        difference = self.to(g.dtype) - target.to(g.dtype)
        dtype = g._array.dtype
    if reduction == "mean" and dtype in dtypes.HALVES:
        # Rounded after each step, as PyTorch does, the factor included.
        factor = float(converted(np.asarray(2 / max(_count(self), 1)), dtype))
        return difference * factor * g
    return difference * (spread(g, reduction, _count(self)) * 2)


MSE_LOSS = Op(
    "mse_loss", _mse, bare=True,
    grads={
        "self": _mse_gradient,
        "target": lambda g, self, target, reduction: -_mse_gradient(g, self, target, reduction),
    },
)  # fmt: skip


@casts(FLOAT32)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference.

    Args:
        target: it broadcasts with the input, with a warning
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them
        weight: a factor for each loss; "mean" divides by their sum

    Example:
        >>> F.mse_loss(clew.tensor([1.0, 2.0]), clew.tensor([1.0, 5.0]))
        tensor(4.5000)
    """
    check_pair("mse_loss", input, target)
    reduction = asked_reduction(size_average, reduce, reduction)
    x, y, common = paired(input, target)
    if weight is not None:
        return _weighted((x - y).pow(2), input, weight, reduction)
    require_float("mse_cpu", common)
    result: Tensor = MSE_LOSS(x, y, reduction=reduction)
    return result


@casts(FLOAT32)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference.

    Args:
        target: it broadcasts with the input, with a warning
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them
        weight: a factor for each loss; "mean" divides by their sum

    Example:
        >>> F.l1_loss(clew.tensor([1.0, 2.0]), clew.tensor([1.0, 5.0]))
        tensor(1.5000)
    """
    check_pair("l1_loss", input, target)
    reduction = asked_reduction(size_average, reduce, reduction)
    x, y = broadcast_tensors(input, target)
    losses = (x - y).abs()
    if weight is not None:
        return _weighted(losses, input, weight, reduction)
    return reduce_loss(losses, reduction)


def _smooth_l1(self: Array, target: Array, *, reduction: str, beta: float) -> Array:
    self, target = in_one_dtype(self, target)
    numbers = beta, 0.5 / beta, 1.0
    losses = run_kernel(SMOOTH, widened(self), widened(target), numbers=numbers)
    return reduced(losses, reduction, self.dtype, (self, target))


def _smooth_l1_gradient(g: Any, self: Any, target: Any, reduction: str, beta: float) -> Any:
    """Of tensors or bare arrays."""
    if type(g) is np.ndarray:
        self, target = converted(self, g.dtype), converted(target, g.dtype)
    derivative = SMOOTH_DERIVATIVE.over(self, target, scale=beta, limit=1.0)
    return derivative * spread(g, reduction, _count(self))


SMOOTH_L1_LOSS = Op(
    "smooth_l1_loss", _smooth_l1, node="SmoothL1LossBackward0", bare=True,
    grads={
        "self": _smooth_l1_gradient,
        "target": lambda g, self, target, reduction, beta: -_smooth_l1_gradient(
            g, self, target, reduction, beta
        ),
    },
)  # fmt: skip


@explained
@casts(FLOAT32)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared below `beta`, absolute above, joined smoothly.

    Args:
        target: it broadcasts with the input, with a warning
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them
        beta: where the one passes into the other

    Example:
        >>> F.smooth_l1_loss(clew.tensor([0.5, 3.0]), clew.zeros(2), reduction="none")
        tensor([0.1250, 2.5000])
    """
    check_pair("smooth_l1_loss", input, target)
    reduction = asked_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError(
            "smooth_l1_loss does not support negative values for beta." + errors.at_user_line()
        )
    x, y, common = paired(input, target)
    if beta == 0:
        return reduce_loss((x - y).abs(), reduction)
    require_float("smooth_l1_cpu", common)
    result: Tensor = SMOOTH_L1_LOSS(x, y, reduction=reduction, beta=beta)
    return result


def _huber(
    self: Array, target: Array, *, reduction: str, delta: float, dtype: np.dtype | None = None
) -> Array:
    """The losses in another dtype than the operands', where the user's input has another."""
    self, target = in_one_dtype(self, target)
    numbers = delta, 0.5, delta
    losses = run_kernel(SMOOTH, widened(self), widened(target), numbers=numbers)
    return reduced(losses, reduction, dtype or self.dtype, (self, target), as_first)


def _huber_gradient(
    g: Tensor, self: Tensor, target: Tensor, reduction: str, delta: float
) -> Tensor:
    if self.dtype is not target.dtype:
        raise RuntimeError(
            f"Found dtype {target.dtype.scalar_name} but expected {self.dtype.scalar_name}\n"
            "  Convert one of them: the gradient of huber_loss takes operands of one dtype."
            + errors.at_user_line()
        )
    derivative = SMOOTH_DERIVATIVE(self, target, scale=1.0, limit=delta)
    return derivative * spread(g, reduction, self._array.size)


HUBER_LOSS = Op(
    "huber_loss", _huber,
    grads={
        "self": _huber_gradient,
        "target": lambda g, self, target, reduction, delta: _huber_gradient(
            g, target, self, reduction, delta
        ),
    },
)  # fmt: skip


@explained
@casts(FLOAT32)
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squared below `delta`, absolute above: `delta` times `smooth_l1_loss`.

    Args:
        target: it broadcasts with the input, with a warning
        reduction: "mean" or "sum" of all losses, or "none": each of them
        delta: where the one passes into the other
        weight: a factor for each loss; "mean" divides by their sum

    Example:
        >>> F.huber_loss(clew.tensor([0.5, 3.0]), clew.zeros(2), reduction="none", delta=2.0)
        tensor([0.1250, 4.0000])
    """
    check_pair("huber_loss", input, target)
    check_reduction(reduction)
    if delta <= 0:
        raise RuntimeError(
            "huber_loss does not support non-positive values for delta." + errors.at_user_line()
        )
    x, y, common = paired(input, target)
    if not dtypes.can_cast(common, input.dtype):
        raise errors.in_place_dtype(common.scalar_name, input.dtype.scalar_name)
    require_float("huber_cpu", common)
    if weight is not None:
        losses: Tensor = HUBER_LOSS(x, y, reduction="none", delta=delta)
        return _weighted(losses, input, weight, reduction)
    result: Tensor = HUBER_LOSS(x, y, reduction=reduction, delta=delta, dtype=input.dtype.np)
    return result
