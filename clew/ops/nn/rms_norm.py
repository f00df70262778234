"""rms_norm: rows divided by their root mean square."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.kernels.codegen.ufunc import over_columns, over_rows
from clew.kernels.numpy.arrays import row_by_row
from clew.ops.nn.layer_norm import (
    as_row,
    check_like_normalized,
    check_normalized_shape,
    graph_is_wanted,
)

Array = np.ndarray


@over_rows("rms_norm", "(n),(n),()->(n),()", cost=2)
def RMS_NORM_KERNEL(x: Any, weight: Any, eps: Any) -> Any:
    rstd = 1.0 / ((x * x).row_mean() + eps).sqrt()
    return x * rstd * weight, rstd


@over_rows("rms_norm_backward", "(n),(n),(n),()->(n)", cost=2)
def RMS_NORM_BACKWARD_KERNEL(g: Any, x: Any, weight: Any, rstd: Any) -> Any:
    weighted, normal = g * weight, x * rstd
    return rstd * (weighted - normal * (weighted * normal).row_mean())


@over_columns("rms_norm_weight", "(m,n),(m,n),(m)->(n)", cost=2)
def RMS_NORM_WEIGHT_KERNEL(g: Any, x: Any, rstd: Any) -> Any:
    return g * x * rstd


def _rms_norm(
    input: Array, weight: Array | None, *, normalized_ndim: int, eps: float
) -> tuple[Array, Array]:
    """Of float32 or float64 alone; beside the result, what the input was multiplied by."""
    input = row_by_row(input)
    leading = input.shape[: input.ndim - normalized_ndim]
    flat = input.reshape(*leading, math.prod(input.shape[input.ndim - normalized_ndim :]))
    factor = as_row(weight, 1, input, normalized_ndim)
    out, rstd = RMS_NORM_KERNEL.specialize(input)(flat, factor, input.dtype.type(eps))
    return out.reshape(input.shape), np.reshape(rstd, leading + (1,) * normalized_ndim)


def _rms_norm_gradients(
    g: tuple[Tensor | None, ...],
    input: Tensor,
    weight: Tensor | None,
    out1: Tensor,
    normalized_ndim: int,
    eps: float,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    grad, x = g[0], input._array
    if grad is None:
        return None, None
    ndim = x.ndim - normalized_ndim
    if graph_is_wanted():
        return _composed_rms_norm(grad, input, weight, ndim, eps, needs)
    factor = as_row(None if weight is None else weight._array, 1, x, normalized_ndim)
    rows = (out1._array.size, factor.size)
    rstd, gradient, x = out1._array.reshape(-1), grad._array.reshape(rows), x.reshape(rows)
    of_input = of_weight = None
    if needs[0]:
        through = RMS_NORM_BACKWARD_KERNEL.ufunc(gradient, x, factor, rstd)
        of_input = wrap(through.reshape(input._array.shape))
    if needs[1]:
        total = RMS_NORM_WEIGHT_KERNEL.ufunc(gradient, x, rstd)
        of_weight = wrap(total.reshape(input._array.shape[ndim:]))
    return of_input, of_weight


def _composed_rms_norm(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None,
    leading: int,
    eps: float,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    dims = tuple(range(leading, input._array.ndim))
    rstd = ((input * input).mean(dims, keepdim=True) + eps).rsqrt()
    normal = input * rstd
    of_input = of_weight = None
    if needs[0]:
        weighted = grad if weight is None else grad * weight
        of_input = rstd * (weighted - normal * (weighted * normal).mean(dims, keepdim=True))
    if needs[1]:
        of_weight = grad * normal
        of_weight = of_weight.sum(tuple(range(leading))) if leading else of_weight
    return of_input, of_weight


RMS_NORM = Op("_rms_norm", _rms_norm, joint=_rms_norm_gradients, outputs=2, node="MulBackward0")


@public(checked=True, method=False, out=False)
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """The input divided by its root mean square over the last dimensions, then scaled.

    Args:
        normalized_shape: the sizes of those dimensions
        weight: the scale of each element; None is 1
        eps: what is added to the mean square; None is the dtype's smallest step at 1

    Example:
        >>> F.rms_norm(clew.tensor([[3.0, 4.0]]), (2,))
        tensor([[0.8485, 1.1314]])
    """
    shape = check_normalized_shape(input, normalized_shape, "rms_norm")
    check_like_normalized("weight", weight, shape)
    have = input.dtype
    if have.category < dtypes.FLOAT:
        raise errors.no_kernel("rms_norm", have)
    wide = input.to(dtypes.float32) if have.np in dtypes.LOW_PRECISION else input
    if eps is None:
        eps = dtypes.finfo(wide.dtype).eps
    if have.is_complex:
        dims = tuple(range(-len(shape), 0))
        out = wide * (wide.pow(2).mean(dims, keepdim=True) + eps).rsqrt()
    else:
        # A weight is saved for the input's gradient only.
        alone = weight is not None and weight.requires_grad and not wide.requires_grad
        inside = weight is not None and weight.dtype is wide.dtype and not alone
        if weight is not None and weight.dtype is not have:
            errors.warn_once(
                f"Mismatch dtype between input and weight: input dtype = {have.c_name}, weight "
                f"dtype = {weight.dtype.c_name}, Cannot dispatch to fused implementation."
            )
        out = RMS_NORM(wide, weight if inside else None, normalized_ndim=len(shape), eps=eps)[0]
        weight = None if inside else weight
    if weight is not None:
        out = out * weight
    return out if out.dtype is have else out.to(have)
