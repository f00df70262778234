"""Affine maps: linear and bilinear."""

from __future__ import annotations

import math

import numpy as np

from clew import errors
from clew.core.op import Op
from clew.core.tensor import Tensor
from clew.kernels.arrays import widened

Array = np.ndarray


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`."""
    for position, (name, value) in enumerate((("input", input), ("weight", weight))):
        if not isinstance(value, Tensor):
            raise errors.wrong_argument("linear", name, position + 1, "Tensor", value)
    ndim, weight_ndim = input._array.ndim, weight._array.ndim
    if weight_ndim == 2:
        if ndim == 2:
            transposed = weight.t()
            if bias is None:
                return input.mm(transposed)
            return bias.addmm(input, transposed)
        if bias is not None and ndim and input.is_contiguous():
            return _by_rows(input, weight, bias)
    elif weight_ndim > 2 or (weight_ndim == 0):
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {ndim}D and "
            f"{weight_ndim}D"
            + errors.at_user_line()
        )
    product = input.matmul(weight.t())
    return product if bias is None else product + bias


def _by_rows(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """All leading dimensions at once as the rows of one matrix."""
    shape = input._array.shape
    rows = input.view(math.prod(shape[:-1]), shape[-1])
    out_features = weight._array.shape[0]
    product: Tensor = bias.addmm(rows, weight.t())
    return product.view(*shape[:-1], out_features)
