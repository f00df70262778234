"""Maximum pooling over the spatial axes of (N, C, *S), and selection by index.

Maximum pooling gives the values and, as PyTorch does, their flat indices in the spatial volume.
Once the indices are known the pooling is linear: it is `gather_by_index`, whose adjoint is
`scatter_by_index`, and each of the two is the other's derivative. Averages are in `average_pool`.
"""

import functools
from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from clew.kernels import pool
from clew.kernels.numpy.arrays import Array, are_below, at, is_inexact, widened
from clew.kernels.numpy.conversion import converted
from clew.kernels.numpy.im2col import Sizes, expand
from clew.kernels.numpy.scatter import add_flat
from clew.kernels.numpy.separable import (
    LONG_WINDOW,
    adaptive_bounds,
    check_adaptive,
    pick,
    window_slices,
)

Shape = tuple[int, ...]
# Elements from which a compiled kernel is worth loading.
_COMPILED_FROM = 1 << 11


def pool_output_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """Number of windows along one axis, by PyTorch's rule.

    With `ceil_mode` a last partial window counts only if it starts inside the input or its left
    padding.
    """
    if kernel < 1:
        raise RuntimeError(f"kernel size should be greater than zero, but got {kernel}")
    if stride < 1:
        raise RuntimeError(f"stride should not be zero, but got {stride}")
    if dilation < 1:
        raise RuntimeError(f"dilation should be greater than zero, but got dilation: {dilation}")
    extent = dilation * (kernel - 1) + 1
    if not 0 <= padding <= extent // 2:
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, and not negative, but got "
            f"pad={padding}, kernel_size={kernel} and dilation={dilation}"
        )
    room = size + 2 * padding - extent
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def line_maxima(
    x: Array, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> Array:
    """The maxima of windows along the last axis, by comparing what is shifted by one place."""
    dtype, size = x.dtype, x.shape[-1]
    x = widened(x)
    count = pool_output_size(size, kernel, stride, padding, dilation, ceil_mode)
    reach = (count - 1) * stride + 1
    span = reach + dilation * (kernel - 1)
    if padding or span > size:
        padded = np.full((*x.shape[:-1], max(span, padding + size)), -np.inf, x.dtype)
        padded[..., padding : padding + size] = x
        x = padded
    result = np.array(x[..., :reach:stride], order="C")
    for start in range(dilation, dilation * kernel, dilation):
        np.maximum(result, x[..., start : start + reach : stride], out=result)
    return converted(result, dtype)


def pool_output_shape(
    spatial: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool
) -> Shape:
    """Number of windows along each axis; raises where there is none."""
    counts = tuple(
        pool_output_size(*axis, ceil_mode)
        for axis in zip(spatial, kernel, stride, padding, dilation, strict=True)
    )
    if min(counts) < 1 or 0 in spatial:
        raise RuntimeError(
            f"Given input size per channel: {spatial}. Calculated output size per channel: "
            f"{counts}. Output size is too small"
        )
    return counts


def pool_parameters(
    x_shape: Sequence[int], kernel_size: Sizes, stride: Sizes | None, padding: Sizes
) -> tuple[Shape, Shape, Shape, Shape]:
    """Spatial sizes, kernel, stride (by default the kernel) and padding, one entry per axis."""
    spatial = tuple(x_shape[2:])
    kernel = expand(kernel_size, len(spatial), "kernel_size")
    steps = kernel if stride is None else expand(stride, len(spatial), "stride")
    return spatial, kernel, steps, expand(padding, len(spatial), "padding")


def max_pool(
    x: Array,
    *,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """Largest value of every window, and its flat index in the spatial volume (int64).

    The first of equal values is chosen; the last NaN, where a window has any. A window that lies
    wholly in the padding has the lowest value there is, and index -1.
    """
    spatial, kernel, steps, pads = pool_parameters(x.shape, kernel_size, stride, padding)
    spacing = expand(dilation, len(spatial), "dilation")
    counts = pool_output_shape(spatial, kernel, steps, pads, spacing, ceil_mode)
    axes = list(zip(spatial, counts, kernel, steps, pads, spacing, strict=True))
    some_empty = has_empty_windows(spatial, kernel, steps, pads, spacing, ceil_mode)
    has_kernel = x.dtype in pool.window_max.KINDS and not some_empty
    if len(spatial) == 2 and has_kernel and x.size >= _COMPILED_FROM:
        geometry = counts, kernel, steps, pads, spacing
        values, index = pool.max_pool.max_pool(widened(x), *geometry)
        return converted(values, x.dtype), index
    if len(spatial) == 3 and has_kernel:
        ranges = [_window_ranges(*axis) for axis in axes]
        lows, highs = [low for low, _ in ranges], [high for _, high in ranges]
        return pool.window_max.window_max(x, lows, highs, spacing)
    inside = [_window_positions(*axis) for axis in axes]
    rooms = [_room(*axis) for axis in axes]
    if not any(map(any, rooms)):
        return _max_over(x, widened(x), inside, inside)
    # With room for whole windows every tap is an evenly spaced view. Where a tap of the border is
    # chosen all values are as low, and it stands for the window's first element inside.
    padded = _with_border(x, rooms)
    whole = [where + low for where, (low, _) in zip(map(_unclipped, axes), rooms, strict=True)]
    values, index = _max_over(x, padded, whole, inside)
    if some_empty:
        empty = [_empty_windows(*axis) for axis in axes]
        index[..., functools.reduce(np.logical_or.outer, empty)] = -1
    return values, index


@lru_cache(maxsize=256)
def _window_ranges(
    size: int, count: int, kernel: int, stride: int, padding: int, dilation: int
) -> tuple[Array, Array]:
    """Where the part of each window that lies in the input begins, and after which it ends."""
    start = np.arange(count) * stride - padding
    first, last = _taps_inside(start, size, kernel, dilation)
    return start + first * dilation, start + last * dilation + 1


def has_empty_windows(
    spatial: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool
) -> bool:
    """Whether some window of a pooling lies wholly in the padding."""
    if all(d * (k - 1) < n for n, k, d in zip(spatial, kernel, dilation, strict=True)):
        return False
    counts = pool_output_shape(spatial, kernel, stride, padding, dilation, ceil_mode)
    axes = zip(spatial, counts, kernel, stride, padding, dilation, strict=True)
    return any(_empty_windows(*axis).any() for axis in axes)


def adaptive_max_pool(x: Array, *, output_size: Sizes) -> tuple[Array, Array]:
    """Largest value of each of `output_size` nearly equal windows, and its flat index."""
    spatial = x.shape[2:]
    sizes = expand(output_size, len(spatial), "output_size")
    check_adaptive(spatial, sizes)
    bounds = [adaptive_bounds(*axis) for axis in zip(spatial, sizes, strict=True)]
    if 0 not in sizes and prod(spatial) >= LONG_WINDOW * prod(sizes):
        values, index = _of_long_windows(widened(x), bounds)
        return values.astype(x.dtype, copy=False), index
    if len(spatial) == 1:
        row = np.array([0]), np.array([1])
        values, index = pool.adaptive_max_pool.adaptive_max(widened(x)[:, :, None], row, *bounds)
        return values[:, :, 0].astype(x.dtype, copy=False), index[:, :, 0]
    values, index = pool.adaptive_max_pool.adaptive_max(widened(x), *bounds[-2:])
    if len(spatial) == 3:
        values, index = _deepest(values, index, bounds[0], spatial)
    return values.astype(x.dtype, copy=False), index


def _of_long_windows(x: Array, bounds: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Maxima window by window, and flat indices: NumPy compares many elements at once."""
    spatial, sizes = x.shape[2:], tuple(len(start) for start, _ in bounds)
    values = np.empty((*x.shape[:2], *sizes), x.dtype)
    index = np.empty(values.shape, np.int64)
    for place in np.ndindex(*sizes):
        corner = [int(start[n]) for n, (start, _) in zip(place, bounds, strict=True)]
        part = x[window_slices(place, bounds)]
        flat = part.reshape(*x.shape[:2], prod(part.shape[2:]))
        where = flat.argmax(-1)
        best = np.take_along_axis(flat, where[..., None], axis=-1)[..., 0]
        lost = np.isnan(best)
        if lost.any():
            last = flat.shape[-1] - 1 - np.isnan(flat[..., ::-1]).argmax(-1)
            where = np.where(lost, last, where)
        inner = np.unravel_index(where, part.shape[2:])
        moved = tuple(each + first for each, first in zip(inner, corner, strict=True))
        values[at(..., *place)] = best
        index[at(..., *place)] = np.ravel_multi_index(moved, spatial)
    return values, index


def _deepest(
    values: Array, index: Array, depths: tuple[Array, Array], spatial: Shape
) -> tuple[Array, Array]:
    """Maxima over planes that have been reduced, (N, C, D, rows, columns), and their indices."""
    plane = values.shape[3:]
    across = np.arange(prod(plane))
    flat = values.reshape(*values.shape[:3], prod(plane))
    best, where = pool.adaptive_max_pool.adaptive_max(flat, depths, (across, across + 1))
    shape = (*best.shape[:3], *plane)
    # Where a maximum is among the planes' maxima, and where that was in its plane.
    depth = where // max(prod(plane), 1)
    inner = np.take_along_axis(index.reshape(flat.shape), depth, axis=2)
    return best.reshape(shape), (depth * prod(spatial[1:]) + inner).reshape(shape)


def _unclipped(axis: tuple[int, ...]) -> Array:
    """(kernel, count) positions of each window's taps, outside of the input too."""
    _, count, kernel, stride, padding, dilation = axis
    taps = np.arange(kernel)[:, None] * dilation
    return np.arange(count) * stride - padding + taps


def _room(
    size: int, count: int, kernel: int, stride: int, padding: int, dilation: int
) -> tuple[int, int]:
    """How far the windows reach beyond both ends of the input."""
    end = (count - 1) * stride - padding + dilation * (kernel - 1) + 1
    return padding, max(0, end - size)


def _with_border(x: Array, rooms: Sequence[tuple[int, int]]) -> Array:
    """The array with a border of the lowest value there is."""
    wide = widened(x)
    lowest = -np.inf if is_inexact(wide.dtype) else np.iinfo(wide.dtype).min
    spatial = tuple(n + low + high for n, (low, high) in zip(x.shape[2:], rooms, strict=True))
    padded = np.full((*x.shape[:2], *spatial), lowest, wide.dtype)
    interior = (slice(low, low + n) for n, (low, _) in zip(x.shape[2:], rooms, strict=True))
    padded[at(..., *interior)] = wide
    return padded


@lru_cache(maxsize=256)
def _window_positions(
    size: int, count: int, kernel: int, stride: int, padding: int, dilation: int
) -> Array:
    """(kernel, count) input positions of each window's taps.

    Taps in the padding are replaced by the window's nearest tap inside: looking twice at one value
    changes neither the maximum nor which of equals comes first.
    """
    start = np.arange(count) * stride - padding
    taps = np.clip(np.arange(kernel)[:, None], *_taps_inside(start, size, kernel, dilation))
    return np.clip(start + taps * dilation, 0, size - 1)


def _taps_inside(start: Array, size: int, kernel: int, dilation: int) -> tuple[Array, Array]:
    """The first and the last tap of each window that lies in the input."""
    first = np.maximum(0, -(start // dilation))
    return first, np.minimum(kernel - 1, (size - 1 - start) // dilation)


@lru_cache(maxsize=256)
def _empty_windows(
    size: int, count: int, kernel: int, stride: int, padding: int, dilation: int
) -> Array:
    """Which windows have no tap in the input."""
    first, last = _taps_inside(np.arange(count) * stride - padding, size, kernel, dilation)
    return last < first


def _max_over(
    x: Array, values: Array, positions: list[Array], meanings: list[Array]
) -> tuple[Array, Array]:
    """Maximum over windows that are products of per-axis position lists, last axis first.

    The windows are those of `values`, which is x or x with a border; `meanings` are the positions
    in x that their taps stand for.

    On the way only the number of the chosen tap is kept for each axis, in a byte; which element
    it stands for is found in the end, when there are few left.
    """
    has_nan = is_inexact(x.dtype) and x.size > 0 and bool(np.isnan(values.max()))
    taps: list[Array] = []
    for axis in range(len(positions) - 1, -1, -1):
        values, taps = _max_along(values, taps, positions[axis], axis + 2, has_nan)
    index = _flat_index(taps, meanings, x.shape[2:], values.shape)
    return values.astype(x.dtype, copy=False), index


def _max_along(
    values: Array, taps: list[Array], positions: Array, axis: int, has_nan: bool
) -> tuple[Array, list[Array]]:
    """Maximum along one axis; the taps chosen along later axes come with their elements."""
    best = pick(values, positions[0], axis).copy()
    carried = [pick(tap, positions[0], axis).copy() for tap in taps]
    chosen = np.zeros(best.shape, np.uint8 if len(positions) <= 256 else np.intp)
    for number in range(1, len(positions)):
        candidate = pick(values, positions[number], axis)
        better = candidate > best
        if has_nan:
            better |= np.isnan(candidate)
        np.maximum(best, candidate, out=best)
        if number == 1 and chosen.itemsize == 1:
            chosen = better.view(np.uint8).copy() if len(positions) > 2 else better.view(np.uint8)
        else:
            np.copyto(chosen, number, where=better, casting="unsafe")
        for kept, tap in zip(carried, taps, strict=True):
            np.copyto(kept, pick(tap, positions[number], axis), where=better)
    return best, [chosen, *carried]


def _flat_index(taps: list[Array], positions: list[Array], spatial: Shape, shape: Shape) -> Array:
    """Flat indices (int64) of the chosen taps of every window."""
    index = np.zeros(shape, np.int64)
    volume = 1
    for axis in range(len(spatial) - 1, -1, -1):
        where, tap = positions[axis], taps[axis]
        across = (-1, *(1,) * (len(spatial) - 1 - axis))
        spacing = int(where[1, 0] - where[0, 0]) if where.size > where.shape[1] else 0
        evenly = where[0] + spacing * np.arange(len(where))[:, None]
        if np.array_equal(evenly, where):
            if spacing:
                index += np.multiply(tap, spacing * volume, dtype=np.int64)
            index += (where[0] * volume).reshape(across)
        else:
            column = np.arange(where.shape[1]).reshape(across)
            found = where.ravel().take(tap.astype(np.intp) * where.shape[1] + column)
            index += found * volume
        volume *= spatial[axis]
    return index


def fractional_max_pool(
    x: Array, *, kernel_size: Sizes, output_size: Sizes, samples: Array
) -> tuple[Array, Array]:
    """Maxima of pseudo-randomly placed windows, and flat indices.

    `samples` (N, C, axes), uniform in [0, 1), places each plane's windows. As in PyTorch the
    entries stand for (width, height) with two spatial axes, (depth, height, width) with three.
    """
    spatial = x.shape[2:]
    dims = len(spatial)
    kernel = expand(kernel_size, dims, "kernel_size")
    counts = expand(output_size, dims, "output_size")
    for size, count, width in zip(spatial, counts, kernel, strict=True):
        if count + width - 1 > size:
            raise RuntimeError(
                f"fractional_max_pool: pool size {width} too large relative to input size {size}"
            )
    ordered = (samples[..., ::-1] if dims == 2 else samples)[: x.shape[0]]
    starts = _fractional_starts(ordered, spatial, counts, kernel)
    firsts = [starts[:, :, axis, :count].copy() for axis, count in enumerate(counts)]
    stops = [first + width for first, width in zip(firsts, kernel, strict=True)]
    return pool.window_max.window_max(x, firsts, stops, (1,) * dims)


def _fractional_starts(samples: Array, spatial: Shape, counts: Shape, kernel: Shape) -> Array:
    """(N, C, axes, largest count): where the windows begin; the last one ends with the input."""
    steps, alpha = _fractional_steps(spatial, counts, kernel, samples.dtype)
    starts: Array = ((steps + samples[..., None]) * alpha[:, None]).astype(np.int64)
    starts -= (samples * alpha).astype(np.int64)[..., None]
    for axis, (size, count, width) in enumerate(zip(spatial, counts, kernel, strict=True)):
        starts[:, :, axis, count - 1 : count] = size - width
    return starts


@lru_cache(maxsize=256)
def _fractional_steps(
    spatial: Shape, counts: Shape, kernel: Shape, dtype: np.dtype
) -> tuple[Array, Array]:
    """The numbers of windows, and for each axis how far they are apart."""
    kind = dtype.type
    apart = [
        kind(size - width) / kind(max(count - 1, 1))
        for size, count, width in zip(spatial, counts, kernel, strict=True)
    ]
    return np.arange(max(counts)).astype(dtype), np.array(apart, dtype)


def gather_by_index(x: Array, indices: Array) -> Array:
    """The elements of each plane of x (N, C, *S) at flat `indices` (N, C, *L)."""
    planes, volume = x.shape[0] * x.shape[1], prod(x.shape[2:])
    return x.reshape(-1)[_absolute(indices, planes, volume)].reshape(indices.shape)


def scatter_by_index(
    g: Array, indices: Array, *, spatial: Sequence[int], unique: bool = False
) -> Array:
    """Adjoint of `gather_by_index`: add g (N, C, *L) into planes (N, C, *spatial) of zeros.

    `unique` promises that no index occurs twice in a plane.
    """
    planes, volume = g.shape[0] * g.shape[1], prod(spatial)
    if g.dtype in pool.window_max.KINDS and len(spatial) == 2 and g.size >= _COMPILED_FROM:
        return converted(pool.max_pool.scatter_add(widened(g), indices, tuple(spatial)), g.dtype)
    if unique:
        placed = np.zeros(planes * volume, g.dtype)
        placed[_absolute(indices, planes, volume)] = g.ravel()
        return placed.reshape(*g.shape[:2], *spatial)
    out = np.zeros(planes * volume, g.dtype)
    add_flat(out, _absolute(indices, planes, volume), g.ravel(), wide=True)
    return out.reshape(*g.shape[:2], *spatial)


def max_unpool(x: Array, indices: Array, *, spatial: Sequence[int]) -> Array:
    """Put x (N, C, *L) at its flat indices of planes (N, C, *spatial) of zeros.

    Where an index repeats the last value stays, as in PyTorch; otherwise it is
    `scatter_by_index`, and `gather_by_index` is its adjoint.
    """
    planes, volume = x.shape[0] * x.shape[1], prod(spatial)
    if not are_below(indices, volume):
        wrong = indices[(indices < 0) | (indices >= volume)].flat[0]
        raise RuntimeError(
            f"Found an invalid max index: {wrong} (output volumes are of size "
            f"{'x'.join(map(str, spatial))})"
        )
    out = np.zeros(planes * volume, x.dtype)
    out[_absolute(indices, planes, volume)] = x.ravel()
    return out.reshape(*x.shape[:2], *spatial)


def _absolute(indices: Array, planes: int, volume: int) -> Array:
    """Indices into each plane as indices into all planes together."""
    per_plane = indices.reshape(planes, prod(indices.shape[2:]))
    return (per_plane + np.arange(planes)[:, None] * volume).ravel()
