"""Elementwise losses as compiled kernels, and their derivatives, which backward multiplies by."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where as choose
from clew.kernels.codegen.tracing import softplus as log1p_exp
from clew.kernels.codegen.ufunc import elementwise
from clew.ops.define.rows import Row
from clew.ops.nn.activation.unary import run_kernel

Array = np.ndarray

# -- squared and mixed errors --------------------------------------------------------------

SQUARES = elementwise("squared_difference", 2)(lambda x, y: (x - y) ** 2)


@elementwise("smooth_difference", 5, scalars=(2, 3, 4))
def SMOOTH(x: Any, y: Any, border: Any, curvature: Any, slope: Any) -> Any:
    """A parabola below the border, a line above it."""
    size = (x - y).abs()
    return choose(size < border, size * size * curvature, (size - border * 0.5) * slope)


@elementwise("smooth_difference_derivative", 4, scalars=(2, 3))
def SMOOTH_SLOPE(x: Any, y: Any, scale: Any, limit: Any) -> Any:
    return ((x - y) / scale).clamp(-limit, limit)


def _smooth_second_derivative(
    g: Tensor, self: Tensor, target: Tensor, scale: float, limit: float
) -> Tensor:
    # None at the border, nor where the difference is not a number.
    return (g / scale).masked_fill(~(((self - target) / scale).abs() < limit), 0)


SMOOTH_DERIVATIVE = Row(
    "_smooth_loss_derivative",
    lambda self, target, *, scale, limit: run_kernel(
        SMOOTH_SLOPE, self, target, numbers=(scale, limit)
    ),
    grads={
        "self": _smooth_second_derivative,
        "target": lambda g, self, target, scale, limit: (
            -_smooth_second_derivative(g, self, target, scale, limit)
        ),
    },
)

# -- binary cross entropy ------------------------------------------------------------------

# The least denominator of a derivative, as in PyTorch.
LEAST_DENOMINATOR = 1e-12


@elementwise("binary_cross_entropy", 2, cost=8)
def BCE_OF_PROBABILITIES(x: Any, target: Any) -> Any:
    # The logarithms are bounded below, so that a certain and wrong prediction stays finite.
    hit, miss = x.log().maximum(-100.0), (-x).log1p().maximum(-100.0)
    return (target - 1.0) * miss - target * hit


BCE_SLOPE = elementwise("binary_cross_entropy_derivative", 2)(
    lambda x, target: (x - target) / (x * (1.0 - x)).maximum(LEAST_DENOMINATOR)
)


def _bce_second_derivative(g: Tensor, self: Tensor, target: Tensor) -> Tensor:
    return (
        g
        * (self * self - 2 * self * target + target)
        / (self * (1 - self) + LEAST_DENOMINATOR) ** 2
    )


BCE_DERIVATIVE = Row(
    "_binary_cross_entropy_derivative",
    lambda self, target: run_kernel(BCE_SLOPE, self, target),
    grads={
        "self": _bce_second_derivative,
        "target": lambda g, self: -g / (self * (1 - self)).clamp_min(LEAST_DENOMINATOR),
    },
)

BCE_OF_LOGITS = elementwise("binary_cross_entropy_with_logits", 2, cost=8)(
    lambda x, target: (1.0 - target) * x + log1p_exp(-x)
)
