"""Resizing of the spatial axes of (N, C, *S): nearest, linear, cubic and area interpolation.

Every mode is a linear map applied axis by axis (an `AxisTable`), so that the adjoint is the same
with transposed tables. Positions are computed in the precision that PyTorch uses for them, because
a last bit can decide which neighbour is nearest.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clew.kernels.numpy.arrays import Array, compute_dtype, is_inexact, rounded
from clew.kernels.numpy.average_pool import adaptive_avg_table
from clew.kernels.numpy.im2col import expand, hashable
from clew.kernels.numpy.separable import AxisTable, apply_tables

Scales = float | Sequence[float | None] | None
Real = np.dtype[Any]

_AXES_OF_MODE = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "lanczos": 2}
_MODES = ("nearest", "nearest-exact", "area", *_AXES_OF_MODE)
_CORNER_MODES = ("linear", "bilinear", "bicubic", "trilinear")
# Not so bilinear interpolation, for which PyTorch has another kernel.
_ROUNDED = ("linear", "trilinear", "bicubic")
# The cubic convolution coefficient: PyTorch's for point sampling, and Pillow's with antialiasing.
_CUBIC_POINT = -0.75
_CUBIC_ANTIALIAS = -0.5


def interpolate(
    x: Array,
    *,
    size: int | Sequence[int],
    mode: str = "nearest",
    align_corners: bool = False,
    scales: Scales = None,
    antialias: bool = False,
) -> Array:
    """Resize x (N, C, *S) to (N, C, *size).

    `scales` are the factors that the user gave, when positions shall be computed from them; None
    derives them from the sizes.
    """
    tables = tables_of(
        x.dtype, x.shape[2:], hashable(size), mode, align_corners, hashable(scales), antialias
    )
    if mode in _ROUNDED and x.dtype != compute_dtype(x.dtype) and not antialias:
        tables = [_with_rounded_weights(table, x.dtype) for table in tables]
    return apply_tables(x, tables)


def _with_rounded_weights(table: AxisTable, dtype: np.dtype[Any]) -> AxisTable:
    """The table that PyTorch has for halves: its weights are halves."""
    weights = rounded(table.weights.astype(np.float32), dtype)
    if weights.shape[1] == 2:
        weights[:, 0] = rounded(1 - weights[:, 1], dtype)
    return AxisTable(table.indices, weights, table.input_size)


def interpolate_bytes(
    x: Array, *, size: Sequence[int], mode: str, align_corners: bool, scales: Scales,
    antialias: bool,
) -> Array:  # fmt: skip
    """`interpolate` of a byte image (N, C, H, W) with PyTorch's whole numbers for weights.

    It goes over the width, then over the height, and the image is one of bytes in between.
    """
    spatial = x.shape[2:]
    tables = tables_of(
        np.dtype(np.float64), spatial, hashable(size), mode, align_corners, hashable(scales),
        antialias,
    )  # fmt: skip
    for axis in (1, 0):
        if spatial[axis] == tables[axis].output_size:
            continue
        whole, bits = _whole_weights(tables[axis])
        step = [AxisTable.identity(n) for n in x.shape[2:]]
        step[axis] = whole
        sums = apply_tables(x.astype(np.float64), step)
        x = np.clip(np.floor((sums + 2.0 ** (bits - 1)) / 2.0**bits), 0, 255)
    return x.astype(np.uint8)


def _whole_weights(table: AxisTable) -> tuple[AxisTable, int]:
    """Weights times the largest power of 2 with which they fit into 16 bits, and that power."""
    weights, indices = table.weights.astype(np.float64), table.indices
    # What lies beyond the edge counts for the edge.
    for later in range(weights.shape[1] - 1, 0, -1):
        same = indices[:, later] == indices[:, later - 1]
        weights[:, later - 1] += np.where(same, weights[:, later], 0)
        weights[:, later] = np.where(same, 0, weights[:, later])
    bits = 0
    while bits < 22 and int(0.5 + weights.max(initial=0) * 2 ** (bits + 1)) < 2**15:
        bits += 1
    scaled = np.trunc(weights * 2**bits + np.copysign(0.5, weights))
    return AxisTable(indices, scaled, table.input_size), bits


def interpolate_adjoint(
    g: Array,
    *,
    input_shape: Sequence[int],
    mode: str = "nearest",
    align_corners: bool = False,
    scales: Scales = None,
    antialias: bool = False,
) -> Array:
    """Adjoint of `interpolate` from input (N, C, *S) to g's spatial sizes."""
    spatial = tuple(input_shape[2:])
    tables = tables_of(
        g.dtype, spatial, g.shape[2:], mode, align_corners, hashable(scales), antialias
    )
    return apply_tables(g, [table.transposed for table in tables])


def interpolate_output_size(spatial: Sequence[int], scales: Sequence[float]) -> tuple[int, ...]:
    """Sizes that scale factors lead to: each product rounded down."""
    return tuple(int(size * scale) for size, scale in zip(spatial, scales, strict=True))


@lru_cache(maxsize=256)
def tables_of(
    dtype: np.dtype[Any],
    spatial: Sequence[int],
    size: int | Sequence[int],
    mode: str,
    align_corners: bool,
    scales: Scales,
    antialias: bool,
) -> list[AxisTable]:
    """The linear map along each axis."""
    dims = len(spatial)
    sizes = expand(size, dims, "size")
    _check(dtype, spatial, sizes, mode, align_corners, antialias)
    factors = _factors(scales, dims)
    # Positions of 16-bit and single precision values are single precision. For the nearest
    # element of a two-dimensional array PyTorch has single precision for every dtype.
    single = compute_dtype(dtype) in (np.dtype(np.float32), np.dtype(np.complex64))
    single |= dims == 2 and mode.startswith("nearest")
    precision = np.dtype(np.float32 if single else np.float64)
    return [
        _axis_table(*axis, dims, mode, align_corners, antialias, precision)
        for axis in zip(spatial, sizes, factors, strict=True)
    ]


def _check(
    dtype: np.dtype[Any],
    spatial: Sequence[int],
    sizes: Sequence[int],
    mode: str,
    align_corners: bool,
    antialias: bool,
) -> None:
    if mode not in _MODES:
        raise NotImplementedError(f"interpolate: mode must be one of {_MODES}, but got {mode!r}")
    if _AXES_OF_MODE.get(mode, len(spatial)) != len(spatial):
        raise NotImplementedError(
            f"Got {len(spatial) + 2}D input, but {mode} mode needs {_AXES_OF_MODE[mode] + 2}D input"
        )
    if antialias and mode not in _FILTERS:
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if align_corners and mode not in _CORNER_MODES:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    if min(spatial) < 1 or min(sizes) < 1:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input "
            f"{list(spatial)} and output {list(sizes)}"
        )
    if not is_inexact(dtype) and mode not in ("nearest", "nearest-exact"):
        raise RuntimeError(f'"interpolate" with mode {mode!r} not implemented for {dtype.name!r}')


def _factors(scales: Scales, dims: int) -> tuple[float | None, ...]:
    if scales is None or isinstance(scales, (int, float)):
        return (scales,) * dims
    if len(scales) != dims:
        raise ValueError(
            f"scale_factor must have one entry for each of the {dims} spatial dimensions, but "
            f"got {list(scales)}"
        )
    return tuple(scales)


@lru_cache(maxsize=256)
def _axis_table(
    size: int,
    count: int,
    factor: float | None,
    dims: int,
    mode: str,
    align_corners: bool,
    antialias: bool,
    precision: Real,
) -> AxisTable:
    if mode == "area":
        return adaptive_avg_table(size, count)
    if mode.startswith("nearest"):
        step = _source_step(size, count, factor, False, precision)
        return _nearest_table(size, count, step, mode == "nearest-exact", dims == 2, precision)
    cubic = mode == "bicubic"
    scale = _source_step(size, count, factor, align_corners, precision)
    if antialias:
        # An axis that keeps its length keeps its values, whatever factor was asked for.
        same = precision.type(1)
        return _antialias_table(size, count, same if size == count else scale, mode, precision)
    steps = np.arange(count).astype(precision)
    half = precision.type(0.5)
    source = steps * scale if align_corners else (steps + half) * scale - half
    return _cubic_table(source, size) if cubic else _linear_table(source, size, count)


def _source_step(
    size: int, count: int, factor: float | None, align_corners: bool, precision: Real
) -> Any:
    """How far the source position moves from one output position to the next."""
    if align_corners:
        whole = precision.type(size - 1)
        return whole / precision.type(count - 1) if count > 1 else precision.type(0)
    if factor is not None and factor > 0:
        return precision.type(1.0 / factor)
    return precision.type(size) / precision.type(count)


def _nearest_table(
    size: int, count: int, step: Any, exact: bool, planar: bool, precision: Real
) -> AxisTable:
    """The source position, rounded to single precision whatever it was computed in, and down."""
    outputs = np.arange(count).astype(precision)
    half = precision.type(0.5)
    if planar and not exact and count in (size, 2 * size):
        # These two sizes do not look at the scale factor, which may be slightly other than 1 or 2.
        source = outputs // precision.type(count // size)
    elif not exact:
        source = outputs * step
    elif planar:
        source = (outputs + half) * step
    else:
        # Outside of two dimensions the position passes through (i + 1/2) * step - 1/2, rounded
        # once, to which the half is added again.
        shifted = (outputs.astype(np.float64) + 0.5) * np.float64(step) - 0.5
        source = shifted.astype(precision) + half
    chosen = np.minimum(np.floor(source.astype(np.float32)).astype(np.intp), size - 1)[:, None]
    return AxisTable(chosen, np.ones(chosen.shape), size)


def _linear_table(source: Array, size: int, count: int) -> AxisTable:
    if size == count:
        return AxisTable(np.arange(size)[:, None], np.ones((size, 1)), size)
    source = np.maximum(source, 0)
    low = np.minimum(source.astype(np.intp), size - 1)
    high = np.minimum(low + 1, size - 1)
    part = np.clip(source - low, 0, 1)
    return AxisTable(np.stack([low, high], 1), np.stack([1 - part, part], 1), size)


def _cubic_table(source: Array, size: int) -> AxisTable:
    low = np.floor(source)
    weights = np.stack(cubic_weights(source - low), axis=1)
    indices = low.astype(np.intp)[:, None] + np.arange(-1, 3)
    return AxisTable(np.clip(indices, 0, size - 1), weights, size)


def cubic_weights(part: Any, coefficient: float = _CUBIC_POINT) -> list[Any]:
    """Weights of the neighbours at -1, 0, 1, 2 for a position `part` in [0, 1) after the second.

    Only sums and products of the argument: it may be an array or anything that has these.
    """
    after = 1 - part
    return [
        _cubic_outer(part + 1, coefficient),
        _cubic_inner(part, coefficient),
        _cubic_inner(after, coefficient),
        _cubic_outer(after + 1, coefficient),
    ]


def cubic_weight_derivatives(part: Any, coefficient: float = _CUBIC_POINT) -> list[Any]:
    """Derivatives of `cubic_weights` by `part`."""
    after = 1 - part
    return [
        _cubic_outer_derivative(part + 1, coefficient),
        _cubic_inner_derivative(part, coefficient),
        -_cubic_inner_derivative(after, coefficient),
        -_cubic_outer_derivative(after + 1, coefficient),
    ]


def _cubic_inner_derivative(distance: Any, a: float) -> Any:
    return (3 * (a + 2) * distance - 2 * (a + 3)) * distance


def _cubic_outer_derivative(distance: Any, a: float) -> Any:
    return (3 * a * distance - 10 * a) * distance + 8 * a


def _cubic_inner(distance: Any, a: float) -> Any:
    return ((a + 2) * distance - (a + 3)) * distance * distance + 1


def _cubic_outer(distance: Any, a: float) -> Any:
    return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a


def _triangle_filter(distance: Array) -> Array:
    height: Array = np.maximum(0, 1 - np.abs(distance))
    return height


def _cubic_filter(distance: Array) -> Array:
    far = np.abs(distance)
    outer: Array = np.where(far < 2, _cubic_outer(far, _CUBIC_ANTIALIAS), 0)
    inner: Array = _cubic_inner(far, _CUBIC_ANTIALIAS)
    return np.where(far < 1, inner, outer)


def _lanczos_filter(distance: Array) -> Array:
    windowed: Array = np.sinc(distance) * np.sinc(distance / 3)
    return np.where(np.abs(distance) < 3, windowed, 0)


# The shape of each filter, and how far it reaches on both sides.
_FILTERS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "bilinear": (_triangle_filter, 1),
    "bicubic": (_cubic_filter, 2),
    "lanczos": (_lanczos_filter, 3),
}


def _antialias_table(size: int, count: int, scale: Any, mode: str, precision: Real) -> AxisTable:
    """The filter is widened by the reduction factor, so that it covers all that is left out."""
    shape, reach = _FILTERS[mode]
    half, one = precision.type(0.5), precision.type(1)
    stretch = max(scale, one)
    support = precision.type(reach) * stretch
    centre = (np.arange(count).astype(precision) + half) * scale
    first = np.maximum((centre - support + half).astype(np.intp), 0)
    stop = np.minimum((centre + support + half).astype(np.intp), size)
    taps = np.arange(max(1, int((stop - first).max())))
    indices = first[:, None] + taps
    offset = (indices.astype(precision) - centre[:, None] + half) * (one / stretch)
    weights = np.where(indices < stop[:, None], shape(offset), 0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, total, out=weights, where=total != 0)
    return AxisTable(np.minimum(indices, size - 1), weights, size)
