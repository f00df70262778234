"""Depthwise convolution by NumPy: every input channel makes `multiplier` output channels.

The sum is over the kernel's taps only, so each tap is one multiply-add of arrays. At stride one the
padded channels are flattened: a tap is then a shift of a contiguous array, and positions whose
window would wrap around the end of a row are computed and dropped. (Grad-input at stride one is
most often such a forward convolution, too, and does not come here.)
"""

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from clew.kernels.numpy.arrays import Array, at
from clew.kernels.numpy.im2col import Window, pad_spatial

Shape = tuple[int, ...]

# The channels of a block should stay in the cache for all taps.
_BLOCK_BYTES = 1 << 18
# The taps of one im2col matrix, which is multiplied by BLAS for each channel; more would not stay
# in the cache.
_TAPS_PER_MATMUL = 9


def depthwise_forward(x: Array, w: Array, window: Window, counts: Shape) -> Array:
    """x (N, C, *S) with w (C * multiplier, 1, *K) to (N, C * multiplier, *counts)."""
    weight = w.reshape(x.shape[1], -1, *window.kernel)
    dtype = np.result_type(x, w)
    out = np.empty((*x.shape[:2], weight.shape[1], *counts), dtype)
    for image, block in _blocks(x.shape, window, weight.shape[1] * dtype.itemsize):
        padded = pad_spatial(x[image, block], window)
        if max(window.stride) == 1:
            total = _flat_forward(padded, weight[block], window, dtype)
            out[image, block] = total[at(..., *map(slice, counts))]
            continue
        total = np.zeros(out[image, block].shape, dtype)
        for tap, where in window.taps(counts):
            total += padded[at(slice(None), None, *where)] * _per_channel(weight[block], tap)
        out[image, block] = total
    return out.reshape(x.shape[0], w.shape[0], *counts)


def depthwise_grad_input(g: Array, w: Array, window: Window, input_shape: Shape) -> Array:
    """Adjoint of `depthwise_forward` in x."""
    channels, counts = input_shape[1], g.shape[2:]
    weight = w.reshape(channels, -1, *window.kernel)
    grads = g.reshape(g.shape[0], channels, weight.shape[1], *counts)
    out = np.empty(input_shape, np.result_type(g, w))
    interior = at(..., *window.interior(input_shape[2:]))
    for image, block in _blocks(input_shape, window, weight.shape[1] * out.itemsize):
        total = np.zeros((len(weight[block]), *window.padded(input_shape[2:])), out.dtype)
        for tap, where in window.taps(counts):
            part = grads[image, block] * _per_channel(weight[block], tap)
            total[at(slice(None), *where)] += _sum_multiplier(part)
        out[image, block] = total[interior]
    return out


def depthwise_grad_weight(g: Array, x: Array, window: Window, weight_shape: Shape) -> Array:
    """Adjoint of `depthwise_forward` in w."""
    channels, counts = x.shape[1], g.shape[2:]
    multiplier = weight_shape[0] // channels
    grads = g.reshape(g.shape[0], channels, multiplier, *counts)
    out = np.zeros((channels, multiplier, *window.kernel), np.result_type(g, x))
    for image, block in _blocks(x.shape, window, multiplier * out.itemsize):
        padded = pad_spatial(x[image, block], window)
        if max(window.stride) == 1:
            padded_grads, span = _padded_flat(grads[image, block], padded.shape[1:])
            flat = padded.reshape(len(padded), 1, -1)
            # vecdot conjugates its first argument, which must not happen here.
            left = np.conj(padded_grads[:, :, :span])
            for tap, shift in _shifts(window, padded.shape[1:]):
                dots = np.vecdot(left, flat[:, :, shift : shift + span])
                out[at(block, slice(None), *tap)] += dots
            continue
        for tap, where in window.taps(counts):
            part = grads[image, block] * padded[at(slice(None), None, *where)]
            dots = part.reshape(*part.shape[:2], -1).sum(axis=2, dtype=out.dtype)
            out[at(block, slice(None), *tap)] += dots
    return out.reshape(weight_shape)


def _blocks(shape: Shape, window: Window, plane_itemsize: int) -> Iterator[tuple[int, slice]]:
    """Every image, a cache-sized block of channels at a time."""
    plane = max(1, prod(window.padded(shape[2:])) * plane_itemsize)
    step = max(1, _BLOCK_BYTES // plane)
    for image in range(shape[0]):
        for first in range(0, shape[1], step):
            yield image, slice(first, first + step)


def _shifts(window: Window, padded: Shape) -> Iterator[tuple[Shape, int]]:
    """Every tap with its distance from the window's first element in the flat padded plane."""
    for tap in product(*map(range, window.kernel)):
        shift = 0
        for t, d, size in zip(tap, window.dilation, padded, strict=True):
            shift = shift * size + t * d
        yield tap, shift


def _flat_forward(
    padded: Array, weight: Array, window: Window, dtype: np.dtype[np.generic]
) -> Array:
    """Window sums at every flat position of the padded grid; those that wrap are meaningless."""
    flat = padded.reshape(len(padded), -1)
    shifts = [shift for _, shift in _shifts(window, padded.shape[1:])]
    factors = weight.reshape(*weight.shape[:2], -1)
    span = flat.shape[1] - shifts[-1]
    total = np.zeros((*weight.shape[:2], flat.shape[1]), dtype)
    for first in range(0, len(shifts), _TAPS_PER_MATMUL):
        chunk = shifts[first : first + _TAPS_PER_MATMUL]
        columns = np.empty((len(flat), len(chunk), span), padded.dtype)
        for index, shift in enumerate(chunk):
            columns[:, index] = flat[:, shift : shift + span]
        part = factors[:, :, first : first + len(chunk)]
        if first == 0:
            np.matmul(part, columns, out=total[:, :, :span])
        else:
            total[:, :, :span] += np.matmul(part, columns)
    return total.reshape(*weight.shape[:2], *padded.shape[1:])


def _padded_flat(grads: Array, padded: Shape) -> tuple[Array, int]:
    """(C, multiplier, *L) with zeros up to the padded grid, flat, and where its last value ends."""
    padded_grads = np.zeros((*grads.shape[:2], *padded), grads.dtype)
    padded_grads[at(..., *map(slice, grads.shape[2:]))] = grads
    last = 0
    for count, size in zip(grads.shape[2:], padded, strict=True):
        last = last * size + count - 1
    return padded_grads.reshape(*grads.shape[:2], -1), last + 1


def _per_channel(weight: Array, tap: Shape) -> Array:
    """One tap's factors (C, multiplier), shaped to multiply (C, multiplier, *L)."""
    factor = weight[at(slice(None), slice(None), *tap)]
    shaped: Array = factor.reshape(*factor.shape, *(1,) * len(tap))
    return shaped


def _sum_multiplier(part: Array) -> Array:
    """Sum over axis 1, which is most often of length one."""
    summed: Array = part[:, 0] if part.shape[1] == 1 else part.sum(axis=1, dtype=part.dtype)
    return summed
