"""Reductions: sum, mean and their relatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.dims import wrap_dims

Dims = tuple[int, ...]


def restore_dims(g: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    """A reduced gradient with the reduced dimensions put back as size 1."""
    if keepdim:
        return g
    shape = list(g._array.shape)
    for dim in sorted(dims):
        shape.insert(dim, 1)
    return g.reshape(shape)


def accumulator_dtype(dtype: np.dtype) -> np.dtype:
    """Low-precision floats are summed in float32."""
    return np.dtype(np.float32) if dtype in dtypes.LOW_PRECISION else dtype


def _sum(self: np.ndarray, *, dims: Dims, keepdim: bool, dtype: np.dtype) -> np.ndarray:
    total = np.add.reduce(self, axis=dims, keepdims=keepdim, dtype=accumulator_dtype(dtype))
    return np.asarray(total).astype(dtype, copy=False)


SUM = Op(
    "sum",
    _sum,
    grads={
        "self": lambda g, dims, keepdim, self_shape: restore_dims(g, dims, keepdim).expand(
            self_shape
        )
    },
    linear=True,
)


def sum_dtype(input: Tensor, dtype: dtypes.dtype | None) -> np.dtype:
    """Integers and bools are summed as int64 unless a dtype is asked for."""
    if dtype is not None:
        return dtype.np
    have = input.dtype
    return dtypes.int64.np if have.category < dtypes.FLOAT else have.np


@public()
def sum(
    input: Tensor,
    dim: int | Dims | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """The sum over some dimensions, or over all."""
    dims = wrap_dims(dim, input._array.ndim)
    return SUM(input, dims=dims, keepdim=keepdim, dtype=sum_dtype(input, dtype))
