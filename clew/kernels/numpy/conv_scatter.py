"""Grad-input of a convolution by NumPy: one GEMM, then shifted sums of contiguous arrays.

Each tap of the kernel, at offset o = tap * dilation, adds its product to padded position
o + stride * i for every output position i. Split by phase, o % stride, this is a shift by
o // stride on a grid common to all taps of the phase. With the output gradient padded to
that grid with zeros, a shift over several axes is one shift of the flattened grid, for several
images at once: what wraps around the end of a row is zero.
"""

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from clew.kernels.numpy.arrays import Array, at, compute_dtype, rounded
from clew.kernels.numpy.im2col import Window, add_windows

Shape = tuple[int, ...]

# Products of one tile should stay in cache until they are summed.
_TILE_BYTES = 3 << 19
_MIN_COLUMNS = 256


def grid_shape(window: Window, counts: Shape) -> Shape:
    """The common grid of all phases, on which shifts of the output gradient stay inside."""
    return tuple(
        n + (e - 1) // s for n, e, s in zip(counts, window.extent, window.stride, strict=True)
    )


def scatter_grad_input(
    g: Array, w: Array, window: Window, input_shape: Shape, groups: int
) -> Array:
    """Adjoint of a convolution in its input, for g (N, O, *L) and w (O, C/groups, *K)."""
    channels, counts = input_shape[1], g.shape[2:]
    out = np.zeros(input_shape, np.result_type(g, w))
    phases = _phases(window, grid_shape(window, counts))
    matrices = {phase: _tap_matrix(w, taps, groups) for phase, (taps, _) in phases.items()}
    depth = channels * max(len(taps) for taps, _ in phases.values())
    for images, rows in _tiles(g.shape[0], window, counts, depth * out.itemsize):
        part = g[images, :, rows]
        grid = grid_shape(window, part.shape[2:])
        padded, span = _padded_to_grid(part, grid, groups)
        for phase, (taps, shifts) in phases.items():
            products = np.matmul(matrices[phase], padded[:, :, :span])
            products = products.reshape(groups, len(taps), channels // groups, span)
            total = np.zeros((groups, channels // groups, padded.shape[2]), out.dtype)
            for index, shift in enumerate(shifts):
                total[:, :, shift : shift + span] += products[:, index]
            summed = total.reshape(channels, part.shape[0], *grid).swapaxes(0, 1)
            _add_phase(out[images], summed, window, phase, rows.start)
    return out


def _phases(
    window: Window, grid: Shape
) -> dict[tuple[int, ...], tuple[list[tuple[int, ...]], list[int]]]:
    """For each phase that the kernel reaches: its taps, and their shifts on the flat grid."""
    found: dict[tuple[int, ...], tuple[list[tuple[int, ...]], list[int]]] = {}
    for tap in product(*map(range, window.kernel)):
        offsets = [t * d for t, d in zip(tap, window.dilation, strict=True)]
        phase = tuple(o % s for o, s in zip(offsets, window.stride, strict=True))
        shift = 0
        for offset, step, size in zip(offsets, window.stride, grid, strict=True):
            shift = shift * size + offset // step
        taps, shifts = found.setdefault(phase, ([], []))
        taps.append(tap)
        shifts.append(shift)
    return found


def _tap_matrix(w: Array, taps: list[tuple[int, ...]], groups: int) -> Array:
    """The chosen taps of w as (groups, taps * C/groups, O/groups)."""
    chosen = np.stack([w[at(slice(None), slice(None), *tap)] for tap in taps])
    split = chosen.reshape(len(taps), groups, w.shape[0] // groups, w.shape[1])
    ordered = split.transpose(1, 0, 3, 2)
    return ordered.reshape(groups, len(taps) * w.shape[1], w.shape[0] // groups)


def _tiles(
    batch: int, window: Window, counts: Shape, column_bytes: int
) -> Iterator[tuple[slice, slice]]:
    """Cut g into (images, rows): several images while they are small, several rows of a large one.

    Rows may be cut anywhere: tiles overlap in the input, where they are added.
    """
    if prod(counts) == 0:
        return
    grid = grid_shape(window, counts)
    fitting = max(_TILE_BYTES // max(column_bytes, 1), _MIN_COLUMNS)
    images = max(1, min(fitting, 4 * _MIN_COLUMNS) // prod(grid))
    rows = max(1, min(counts[0], fitting // prod(grid[1:])))
    rows = -(-counts[0] // -(-counts[0] // rows))
    for first in range(0, batch, images):
        for top in range(0, counts[0], rows):
            yield (
                slice(first, min(first + images, batch)),
                slice(top, min(top + rows, counts[0])),
            )


def _padded_to_grid(part: Array, grid: Shape, groups: int) -> tuple[Array, int]:
    """(images, O, *L) as (groups, O/groups, images * grid), and where its last value ends."""
    images, channels, *counts = part.shape
    padded = np.zeros((channels, images, *grid), part.dtype)
    padded[at(..., *map(slice, counts))] = part.swapaxes(0, 1)
    last = 0
    for count, size in zip(counts, grid, strict=True):
        last = last * size + count - 1
    span = (images - 1) * prod(grid) + last + 1
    return padded.reshape(groups, channels // groups, images * prod(grid)), span


def _add_phase(out: Array, summed: Array, window: Window, phase: Shape, top: int) -> None:
    """Add one phase's grid to every stride-th position of the unpadded input."""
    target, source = [], []
    for axis, (p, s, (low, _)) in enumerate(zip(phase, window.stride, window.pads, strict=True)):
        # Grid position q of this axis is input position origin + s * q.
        origin = p - low + (s * top if axis == 0 else 0)
        first = max(0, -(origin // s))
        start = origin + s * first
        size = out.shape[2 + axis]
        number = max(0, min(summed.shape[2 + axis] - first, -(-(size - start) // s)))
        target.append(slice(start, start + s * number, s))
        source.append(slice(first, first + number))
    out[at(..., *target)] += summed[at(..., *source)]


def rounds_each_tap(dtype: np.dtype[Any], window: Window, spatial: Shape, counts: Shape) -> bool:
    """Whether PyTorch has no kernel for it that rounds once.

    In bfloat16 that is so only where windows leave a stride or more at the end.
    """
    if dtype == np.float32 or compute_dtype(dtype) != np.float32:
        return False
    ends = zip(spatial, counts, window.stride, window.pads, window.extent, strict=True)
    return dtype == np.float16 or any(
        size - ((n - 1) * step - low - high + extent) >= step
        for size, n, step, (low, high), extent in ends
    )


def add_tap_by_tap(
    g: Array, w: Array, window: Window, input_shape: Shape, groups: int, dtype: np.dtype[Any]
) -> Array:
    """Grad-input of halves as PyTorch rounds it: the products first, then after each addition."""
    filters, channels = w.shape[0] // groups, input_shape[1]
    matrix = w.reshape(groups, filters, -1).swapaxes(1, 2)
    total = np.zeros((*input_shape[:2], *window.padded(input_shape[2:])), w.dtype)
    image_bytes = channels * prod(window.kernel) * prod(g.shape[2:]) * w.itemsize
    step = max(1, _TILE_BYTES // max(image_bytes, 1))
    for start in range(0, len(g), step):
        images = slice(start, start + step)
        part = g[images].reshape(-1, groups, filters, prod(g.shape[2:]))
        columns = rounded(np.matmul(matrix, part), dtype)
        shaped = columns.reshape(-1, channels, *window.kernel, *g.shape[2:])
        add_windows(total[images], shaped, window, dtype)
    return total[at(..., *window.interior(input_shape[2:]))]
