"""Which algorithm a convolution goes through: Winograd's, an implicit GEMM, or im2col and GEMM.

The choice depends on the shapes, never on the number of threads: algorithms round in different
ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.codegen.ufunc import over_rows
from clew.kernels.conv import im2col_conv, implicit_gemm, weight_gradient, winograd
from clew.kernels.conv.im2col_conv import FORWARD, GRAD_INPUT, GRAD_WEIGHT, Geometry

Array = np.ndarray

# The gradient of so few channels is cheaper as a product of all their windows.
_FEW_CHANNELS = 16

ROW_SUMS = over_rows("row_sums", "(n)->()")(lambda x: x.row_sum())


@over_rows("biased_rows", "(n),()->(n),()")
def BIASED_ROWS(x: Any, bias: Any) -> Any:
    """Rows with a bias added, and their sums."""
    result = (x + bias).materialize()
    return result, result.row_sum()


def run(kind: str, x: Array, w: Array, y: Array, geometry: Geometry, bias: Array | None) -> None:
    """Fill y, x or w (by `kind`) from the other two, and add the bias to y or x."""
    if winograd.fits(kind, geometry, x.dtype):
        winograd.run(kind, x, w, y, geometry)
        sums = _add_bias({FORWARD: y, GRAD_INPUT: x, GRAD_WEIGHT: w}[kind], bias)
        if np.isfinite(np.add.reduce(sums, axis=None)):
            return
        # Transforms mix neighbours: infinities and NaN must reach only the windows they are in.
    algorithm = exact(kind, geometry)
    if algorithm is weight_gradient:
        weight_gradient.run(x, w, y, geometry)
    elif algorithm is implicit_gemm:
        implicit_gemm.run(kind, x, w, y, geometry, bias)
    else:
        if kind == GRAD_INPUT:
            x.fill(0)
        im2col_conv.run(kind, x, w, y, geometry)
        if bias is not None:
            _add_bias(x if kind == GRAD_INPUT else y, bias)


def exact(kind: str, geometry: Geometry) -> Any:
    """The module whose products are those of the definition."""
    if geometry.weight_shape[2:] == (1, 1):
        return im2col_conv
    if kind == GRAD_WEIGHT:
        return weight_gradient
    return implicit_gemm if _is_convolution(kind, geometry) else im2col_conv


def _is_convolution(kind: str, geometry: Geometry) -> bool:
    """Whether the result is one of a convolution: that of a stride is spread over the input."""
    if kind != GRAD_INPUT:
        return True
    return geometry.stride == (1, 1) and geometry.weight_shape[1] >= _FEW_CHANNELS


def _add_bias(result: Array, bias: Array | None) -> Array:
    """Add one number for each channel; gives the sums of the results' rows."""
    rows = result.reshape(*result.shape[:2], -1)
    if bias is None:
        return np.asarray(ROW_SUMS.ufunc(rows))
    # A bias for each row: NumPy would make a loop, with threads of its own, for each image.
    biases = np.empty(rows.shape[:2], bias.dtype)
    biases[...] = bias
    return np.asarray(BIASED_ROWS.ufunc(rows, biases, out=(rows, None))[1])
