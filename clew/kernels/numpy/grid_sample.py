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

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from clew.kernels import compiled
from clew.kernels.compiled.gather_scatter import rows_combined
from clew.kernels.compiled.grid_sampling import HALVES
from clew.kernels.numpy.arrays import Array, rounded, widened

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
    found = _neighbours(x, grid, mode, padding_mode, align_corners)
    out = compiled.grid_sampling.sample(widened(x), found, mode, x.dtype)
    return out.astype(x.dtype, copy=False)


def grid_sample_gradient(
    g: Array, x: Array, grid: Array, *, mode: str, padding_mode: str, align_corners: bool,
    needs: tuple[bool, bool],
) -> tuple[Array | None, Array | None]:  # fmt: skip
    """The gradients by x and by grid."""
    options = mode, padding_mode, align_corners
    found, moves = _neighbours(x, grid, *options), None
    if needs[1] and mode != "nearest":
        if x.dtype in HALVES:
            moves = [axis.slopes() for axis in _rounded_axes(x, grid, *options)]
        else:
            given = widened(x), widened(grid), _coefficients(x, align_corners)
            moves = compiled.grid_sampling.slopes(*given, *options, _cubic_derivatives)
    grads = compiled.grid_sampling.gradient(
        widened(g), widened(x), grid.shape, found, moves, mode, needs, x.dtype
    )
    return grads[0], grads[1]


def _coefficients(x: Array, align_corners: bool) -> list[tuple[float, float]]:
    """(scale, offset) from grid coordinates plus 1 to positions, for each axis."""
    return [((n - 1) / 2, 0.0) if align_corners else (n / 2, -0.5) for n in x.shape[2:]]


def _neighbours(
    x: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool
) -> list[list[Array]]:
    """For each axis: the indices of all points' neighbours, then their weights."""
    options = mode, padding_mode, align_corners
    if x.dtype in HALVES:
        return [axis.neighbours() for axis in _rounded_axes(x, grid, *options)]
    return compiled.grid_sampling.neighbours(
        x, grid, _coefficients(x, align_corners), *options, _cubic_weights
    )


# The coefficient of the cubic convolution, and its polynomials for neighbours at distances below
# and above 1, rounded as PyTorch rounds them.
_A = -0.75


def _inner(distance: Any) -> Any:
    return (((_A + 2) * distance - (_A + 3)) * distance).fma(distance, 1.0)


def _outer(distance: Any) -> Any:
    return ((_A * distance - 5 * _A) * distance + 8 * _A) * distance - 4 * _A


def _inner_derivative(distance: Any) -> Any:
    return (3 * (_A + 2) * distance - 2 * (_A + 3)) * distance


def _outer_derivative(distance: Any) -> Any:
    return (3 * _A * distance - 10 * _A) * distance + 8 * _A


def _cubic_weights(part: Any) -> list[Any]:
    """Weights of the neighbours at -1, 0, 1, 2 for a position `part` in [0, 1) after the second."""
    return [_outer(part + 1.0), _inner(part), _inner(1.0 - part), _outer(2.0 - part)]


def _cubic_derivatives(part: Any) -> list[Any]:
    """Their derivatives by `part`."""
    return [
        _outer_derivative(part + 1.0), _inner_derivative(part),
        -_inner_derivative(1.0 - part), -_outer_derivative(2.0 - part),
    ]  # fmt: skip


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


# -- halves --------------------------------------------------------------------------------------


class _Rounded:
    """Numbers in float32 that are rounded to a half after each operation, as PyTorch's are."""

    def __init__(self, values: Any, dtype: np.dtype[Any]) -> None:
        self.values, self.dtype = rounded(np.asarray(values, np.float32), dtype), dtype

    def _with(self, how: Callable[[Any, Any], Any], left: Any, right: Any) -> "_Rounded":
        operands = (each.values if isinstance(each, _Rounded) else each for each in (left, right))
        return _Rounded(how(*operands), self.dtype)

    def __add__(self, other: Any) -> "_Rounded":
        return self._with(np.add, self, other)

    def __sub__(self, other: Any) -> "_Rounded":
        return self._with(np.subtract, self, other)

    def __rsub__(self, other: Any) -> "_Rounded":
        return self._with(np.subtract, other, self)

    def __mul__(self, other: Any) -> "_Rounded":
        return self._with(np.multiply, self, other)

    def __rmul__(self, other: Any) -> "_Rounded":
        return self * other

    def __truediv__(self, other: Any) -> "_Rounded":
        return self._with(np.divide, self, other)

    def fma(self, factor: Any, addend: Any) -> "_Rounded":
        """The product is rounded as well."""
        return self * factor + addend

    def __neg__(self) -> "_Rounded":
        return _Rounded(-self.values, self.dtype)


class _RoundedAxis:
    """The neighbours of points in halves along one axis."""

    def __init__(
        self, coordinates: Array, size: int, axes: int, mode: str, padding_mode: str,
        align_corners: bool,
    ) -> None:  # fmt: skip
        self.size, self.axes, self.mode, self.padding_mode = size, axes, mode, padding_mode
        self.dtype = coordinates.dtype
        self.scale = (size - 1) / 2 if align_corners else size / 2
        self.low, self.span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        self.free = (_Rounded(coordinates, self.dtype) + 1) * self.scale
        if not align_corners:
            self.free = self.free - 0.5
        self.position = self.free if mode == "bicubic" else self.padded(self.free)

    def padded(self, position: _Rounded) -> _Rounded:
        if self.padding_mode == "zeros":
            return position
        if self.padding_mode == "reflection":
            position = self.reflected(position)
        # NaN goes to the first element.
        values = np.where(position.values > 0, np.minimum(position.values, self.size - 1), 0)
        return _Rounded(values, self.dtype)

    def reflected(self, position: _Rounded) -> _Rounded:
        if self.span == 0:
            return _Rounded(np.zeros_like(position.values), self.dtype)
        twice = 2 * self.span
        distance = _Rounded(np.abs((position - self.low).values), self.dtype)
        flips = np.trunc((distance / twice).values)
        extra = distance - _Rounded(flips, self.dtype) * twice
        nearest = np.minimum(extra.values, (twice - extra).values)
        return _Rounded(nearest, self.dtype) + self.low

    def neighbours(self) -> list[Array]:
        """Their indices, -1 for those outside, then their weights."""
        if self.mode == "nearest":
            return [self.index(np.rint(self.position.values))]
        floor = np.floor(self.position.values)
        part = self.position - floor
        if self.mode == "bilinear":
            after = floor + 1
            before = 1 - part if self.axes == 2 else _Rounded(after, self.dtype) - self.position
            return [self.index(floor), self.index(after), before.values, part.values]
        corners = [self.padded(_Rounded(floor + tap, self.dtype)) for tap in (-1, 0, 1, 2)]
        weights = [each.values for each in _cubic_weights(part)]
        return [*(self.index(corner.values) for corner in corners), *weights]

    def index(self, places: Array) -> Array:
        is_inside = (places >= 0) & (places < self.size)
        return np.where(is_inside, places, -1).astype(np.int64)

    def slopes(self) -> list[Array]:
        """The derivatives of four weights, then how fast the position moves."""
        scale = _Rounded(np.full_like(self.free.values, self.scale), self.dtype)
        if self.mode == "bicubic":
            part = self.position - np.floor(self.position.values)
            found = [each.values for each in _cubic_derivatives(part)]
            return [*found, scale.values]
        factor, _ = padding_coefficients(
            self.free.values, self.size, self.padding_mode, self.span == self.size - 1
        )
        return [(scale * factor).values]


def _rounded_axes(
    x: Array, grid: Array, mode: str, padding_mode: str, align_corners: bool
) -> list[_RoundedAxis]:
    last = x.ndim - 3
    return [
        _RoundedAxis(
            np.ascontiguousarray(grid[..., last - axis]), size, x.ndim - 2, mode, padding_mode,
            align_corners,
        )
        for axis, size in enumerate(x.shape[2:])
    ]  # fmt: skip
