"""Sampling of (N, C, *S) at real-valued points: the integer side of `grid_sample`.

The differentiable side is left to the caller, who computes source positions, fractions and weights
from the grid with differentiable operations; this module gives what is constant almost everywhere:

1. `unnormalize_coefficients`: position = scale * grid + offset along one axis.
2. `padding_coefficients`: where a position is clipped or reflected, position' = scale * position +
   offset, with piecewise constant scale and offset (so the derivative is the scale).
3. `point_index`: flat index and validity of one integer neighbour of each point.
4. `gather_points` and its adjoint `scatter_points`.

`grid_sample` puts these together on arrays and shows in what order.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from clew.kernels import compiled
from clew.kernels.compiled.gather_scatter import rows_combined
from clew.kernels.numpy.arrays import Array, widened
from clew.kernels.numpy.interpolate import cubic_weight_derivatives, cubic_weights

MODES = ("bilinear", "nearest", "bicubic")
PADDING_MODES = ("zeros", "border", "reflection")

# Positions further out than this, and NaN, have no neighbours inside for any padding that keeps
# them there; the value only needs to be outside of every array and safe to convert to integer.
_FAR = 2.0**30
_OUTSIDE = -100.0


def unnormalize_coefficients(size: int, align_corners: bool) -> tuple[float, float]:
    """(scale, offset) from grid coordinates, [-1, 1] over the input, to array positions.

    With `align_corners` the ends are the centres of the outer elements, else their outer edges.
    """
    if align_corners:
        return (size - 1) / 2, (size - 1) / 2
    return size / 2, (size - 1) / 2


def padding_coefficients(
    positions: Array, size: int, padding_mode: str, align_corners: bool
) -> tuple[Array, Array]:
    """(scale, offset) of the map that brings positions into the array along one axis.

    "zeros" leaves positions alone (outside neighbours count as zero). At the exact border the
    scale is zero, as PyTorch has it.
    """
    one = np.ones_like(positions)
    if padding_mode == "zeros":
        return one, np.zeros_like(positions)
    scale, offset = one, np.zeros_like(positions)
    if padding_mode == "reflection":
        scale, offset = _reflection(positions, size, align_corners)
    inside = scale * positions + offset
    low, high = ~(inside > 0), inside >= size - 1
    offset = np.where(low, 0, np.where(high, size - 1, offset)).astype(positions.dtype)
    return np.where(low | high, 0, scale).astype(positions.dtype), offset


def _reflection(positions: Array, size: int, align_corners: bool) -> tuple[Array, Array]:
    """Reflect at the outer centres, or at the outer edges of the elements."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(positions), np.zeros_like(positions)
    sign = np.where(positions < low, -1.0, 1.0)
    distance = np.abs(positions - low)
    finite = np.isfinite(distance)
    flips = np.floor(np.divide(distance, span, out=np.zeros_like(distance), where=finite))
    odd = flips % 2 == 1
    # distance = sign * (position - low); even flips give low + distance - flips * span, odd ones
    # low + span - (distance - flips * span).
    scale = np.where(odd, -sign, sign)
    offset = low - scale * low + np.where(odd, (flips + 1) * span, -flips * span)
    return scale.astype(positions.dtype), offset.astype(positions.dtype)


def nearest_positions(positions: Array) -> Array:
    """The nearest integer position, halves to the even one."""
    return np.rint(positions)


def point_index(corner: Sequence[Array], spatial: Sequence[int]) -> tuple[Array, Array]:
    """Flat index (int64) of integer-valued positions, one array per axis, and which are inside.

    The index of a point outside is that of the nearest element; it is to be used with the mask.
    """
    shape = np.broadcast_shapes(*(axis.shape for axis in corner))
    flat, inside = np.zeros(shape, np.int64), np.ones(shape, np.bool_)
    for axis, size in zip(corner, spatial, strict=True):
        safe = np.where(np.abs(axis) < _FAR, axis, _OUTSIDE).astype(np.int64)
        inside &= (safe >= 0) & (safe < size)
        flat = flat * size + np.clip(safe, 0, size - 1)
    return flat, inside


def gather_points(x: Array, index: Array, inside: Array) -> Array:
    """Elements of x (N, C, *S) at flat positions (N, *P), zero where not inside: (N, C, *P)."""
    batch, channels = x.shape[:2]
    flat = x.reshape(batch, channels, prod(x.shape[2:]))
    values = np.empty((batch, channels, *index.shape[1:]), x.dtype)
    for image, places, out in zip(flat, index, values, strict=True):
        np.take(image, places, axis=1, out=out, mode="clip")
    return np.where(inside[:, None], values, values.dtype.type(0))


def scatter_points(g: Array, index: Array, inside: Array, *, spatial: Sequence[int]) -> Array:
    """Adjoint of `gather_points`: add g (N, C, *P) into zeros (N, C, *spatial)."""
    batch, channels = g.shape[:2]
    volume = prod(spatial)
    wide = widened(g)
    kept = np.where(inside[:, None], wide, wide.dtype.type(0))
    values = np.ascontiguousarray(kept).reshape(batch, channels, prod(index.shape[1:]), 1)
    out = np.zeros((batch, channels, volume, 1), wide.dtype)
    for image, places, added in zip(out, index, values, strict=True):
        rows_combined(image, np.ascontiguousarray(places), added)
    return out.reshape(batch, channels, *spatial).astype(g.dtype, copy=False)


def grid_sample(
    x: Array,
    grid: Array,
    *,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Array:
    """Values of x (N, C, *S) at the points of grid (N, *P, axes), last axis of x first.

    This is the value only; a differentiable version has the arithmetic on positions below.
    """
    check_grid_sample(x.shape, grid.shape, mode, padding_mode)
    spatial = x.shape[2:]
    wide_x, wide_grid = widened(x), widened(grid)
    coefficients = [unnormalize_coefficients(size, align_corners) for size in spatial]
    options = mode, padding_mode, align_corners, cubic_weights
    out = compiled.grid_sampling.sample(wide_x, wide_grid, coefficients, *options)
    return out.astype(x.dtype, copy=False)


def grid_sample_gradient(
    g: Array, x: Array, grid: Array, *, mode: str, padding_mode: str, align_corners: bool,
    needs: tuple[bool, bool],
) -> tuple[Array | None, Array | None]:  # fmt: skip
    """The gradients by x and by grid, all float32 or float64."""
    coefficients = [unnormalize_coefficients(size, align_corners) for size in x.shape[2:]]
    options = mode, padding_mode, align_corners, cubic_weights, cubic_weight_derivatives
    return compiled.grid_sampling.gradient(g, x, grid, coefficients, *options, needs)


def pad_corner(
    corner: Sequence[Array], spatial: Sequence[int], padding_mode: str, align_corners: bool
) -> list[Array]:
    """Bring integer neighbours into the array: bicubic sampling pads these, not the positions."""
    padded = []
    for axis, size in zip(corner, spatial, strict=True):
        scale, offset = padding_coefficients(axis, size, padding_mode, align_corners)
        padded.append(np.where(scale == 0, offset, scale * axis + offset))
    return padded


def check_grid_sample(
    x_shape: Sequence[int], grid_shape: Sequence[int], mode: str, padding_mode: str
) -> None:
    """Raise where input, grid and modes do not fit together."""
    if mode not in MODES:
        raise ValueError(f"grid_sample(): expected mode to be one of {MODES}, but got {mode!r}")
    if padding_mode not in PADDING_MODES:
        raise ValueError(
            f"grid_sample(): expected padding_mode to be one of {PADDING_MODES}, but got "
            f"{padding_mode!r}"
        )
    if len(x_shape) not in (4, 5) or len(grid_shape) != len(x_shape):
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
            f"but got input with sizes {list(x_shape)} and grid with sizes {list(grid_shape)}"
        )
    if x_shape[0] != grid_shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input "
            f"with sizes {list(x_shape)} and grid with sizes {list(grid_shape)}"
        )
    if grid_shape[-1] != len(x_shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(x_shape) - 2} in last dimension, "
            f"but got grid with sizes {list(grid_shape)}"
        )
    if min(x_shape[2:]) < 1:
        raise RuntimeError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {list(x_shape)}"
        )
    if mode == "bicubic" and len(x_shape) != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
