"""Sliding windows over the trailing (spatial) axes: geometry, views, unfold and fold.

Every function takes any number of spatial axes. A window is described once, by `Window`; the
gather (`window_view`, `unfold`) and its adjoint (`add_windows`, `fold`) read the same description.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clew.kernels.numpy.arrays import Array, at, rounded, widened
from clew.kernels.numpy.strides import restride

Sizes = int | Sequence[int]
Padding = int | Sequence[int | tuple[int, int]]


def expand(value: Sizes, dims: int, name: str) -> tuple[int, ...]:
    """One integer per spatial axis, from one for all or one for each."""
    if isinstance(value, (int, np.integer)):
        return (int(value),) * dims
    items = tuple(int(item) for item in value)
    if len(items) == 1:
        return items * dims
    if len(items) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match "
            f"the convolution dimensions, but got {name}={list(items)}"
        )
    return items


def hashable(value: Any) -> Any:
    """The sizes as a key of a cache."""
    return tuple(value) if isinstance(value, list) else value


def expand_padding(padding: Padding, dims: int) -> tuple[tuple[int, int], ...]:
    """(before, after) per spatial axis; a single number per axis pads both ends by it."""
    if isinstance(padding, (int, np.integer)):
        pairs: tuple[tuple[int, int], ...] = ((int(padding), int(padding)),) * dims
    else:
        items = tuple(padding) * dims if len(padding) == 1 else tuple(padding)
        if len(items) != dims:
            raise RuntimeError(
                f"expected padding to be a single integer value or a list of {dims} values to "
                f"match the convolution dimensions, but got padding={list(items)}"
            )
        pairs = tuple(
            (int(item[0]), int(item[1])) if isinstance(item, tuple) else (int(item), int(item))
            for item in items
        )
    if any(end < 0 for pair in pairs for end in pair):
        raise RuntimeError("negative padding is not supported")
    return pairs


class Window(NamedTuple):
    """Kernel size, stride, dilation and zero padding of a sliding window, one entry per axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @staticmethod
    def of(kernel: Sizes, stride: Sizes, padding: Padding, dilation: Sizes, dims: int) -> "Window":
        """Check the parameters and give each spatial axis its own."""
        window = Window(
            expand(kernel, dims, "kernel_size"),
            expand(stride, dims, "stride"),
            expand(dilation, dims, "dilation"),
            expand_padding(padding, dims),
        )
        if min(window.kernel, default=1) < 1:
            raise RuntimeError(f"kernel size should be greater than zero, but got {window.kernel}")
        if min(window.stride, default=1) < 1:
            raise RuntimeError("non-positive stride is not supported")
        if min(window.dilation, default=1) < 1:
            raise RuntimeError(
                f"dilation should be greater than zero, but got {list(window.dilation)}"
            )
        return window

    @property
    def extent(self) -> tuple[int, ...]:
        """How many input positions one window spans, holes included."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    def padded(self, spatial: Sequence[int]) -> tuple[int, ...]:
        """Spatial sizes after padding."""
        return tuple(s + sum(pad) for s, pad in zip(spatial, self.pads, strict=True))

    def counts(self, spatial: Sequence[int]) -> tuple[int, ...]:
        """How many windows fit along each axis; zero or less means that none does."""
        return tuple(
            (size - extent) // step + 1
            for size, extent, step in zip(
                self.padded(spatial), self.extent, self.stride, strict=True
            )
        )

    def taps(self, counts: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        """For each kernel position: its index, and where all windows find it in padded space."""
        for tap in product(*map(range, self.kernel)):
            yield (
                tap,
                tuple(
                    slice(t * d, t * d + s * (n - 1) + 1, s)
                    for t, d, s, n in zip(tap, self.dilation, self.stride, counts, strict=True)
                ),
            )

    def interior(self, spatial: Sequence[int]) -> tuple[slice, ...]:
        """Where the unpadded array lies in padded space."""
        return tuple(slice(lo, lo + s) for (lo, _), s in zip(self.pads, spatial, strict=True))

    @property
    def is_padded(self) -> bool:
        """Whether any axis has padding."""
        return any(end for pair in self.pads for end in pair)


def pad_spatial(x: Array, window: Window) -> Array:
    """The array with the window's zero padding; the array itself when there is none."""
    if not window.is_padded:
        return x
    dims = len(window.kernel)
    spatial = x.shape[x.ndim - dims :]
    out = np.zeros(x.shape[: x.ndim - dims] + window.padded(spatial), x.dtype)
    out[at(..., *window.interior(spatial))] = x
    return out


def window_view(padded: Array, window: Window, counts: Sequence[int]) -> Array:
    """View (*lead, *kernel, *counts) of every window of an already padded array, to be read."""
    lead = padded.ndim - len(window.kernel)
    steps = padded.strides[lead:]
    return restride(
        padded,
        (*padded.shape[:lead], *window.kernel, *counts),
        (
            *padded.strides[:lead],
            *(step * d for step, d in zip(steps, window.dilation, strict=True)),
            *(step * s for step, s in zip(steps, window.stride, strict=True)),
        ),
    )


def add_windows(padded: Array, columns: Array, window: Window, dtype: np.dtype[Any]) -> None:
    """Adjoint of `window_view`, in place: add each (*lead, *kernel, *counts) entry to its source.

    The loop runs over the kernel's taps; within one tap no two windows share an element. Halves,
    of which `dtype` says so, are rounded after each, as PyTorch's are.
    """
    dims = len(window.kernel)
    counts = columns.shape[columns.ndim - dims :]
    if 0 in counts:
        return
    keep = (slice(None),) * (columns.ndim - 2 * dims)
    for tap, where in window.taps(counts):
        place = padded[at(*keep, *where)]
        place += columns[at(*keep, *tap)]
        if dtype != padded.dtype:
            place[...] = rounded(place, dtype)


def _unfold_counts(spatial: Sequence[int], window: Window) -> tuple[int, ...]:
    counts = window.counts(spatial)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given an input with spatial size {tuple(spatial)}, kernel_size={window.kernel}, "
            f"dilation={window.dilation}, padding={tuple(lo for lo, _ in window.pads)}, "
            f"stride={window.stride}, calculated shape of the array of sliding blocks as "
            f"{counts}, but its components must be at least one."
        )
    return counts


def unfold(
    x: Array,
    *,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Padding = 0,
    stride: Sizes = 1,
) -> Array:
    """Windows of (N, C, *S) as columns (N, C * prod(kernel), windows), in any dimension."""
    window = Window.of(kernel_size, stride, padding, dilation, x.ndim - 2)
    counts = _unfold_counts(x.shape[2:], window)
    view = window_view(pad_spatial(x, window), window, counts)
    depth = x.shape[1] * prod(window.kernel)
    return np.array(view, order="C").reshape(x.shape[0], depth, prod(counts))


def fold(
    columns: Array,
    *,
    output_size: Sequence[int],
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Padding = 0,
    stride: Sizes = 1,
) -> Array:
    """Adjoint of `unfold`: sum (N, C * prod(kernel), windows) into (N, C, *output_size)."""
    spatial = tuple(int(size) for size in output_size)
    window = Window.of(kernel_size, stride, padding, dilation, len(spatial))
    counts = _unfold_counts(spatial, window)
    batch, depth, length = columns.shape
    if depth % prod(window.kernel):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of "
            f"kernel_size, but got input.size(1)={depth} and kernel_size={window.kernel}."
        )
    if length != prod(counts):
        raise RuntimeError(
            f"Given output_size={spatial}, kernel_size={window.kernel}, "
            f"dilation={window.dilation}, padding={tuple(lo for lo, _ in window.pads)}, "
            f"stride={window.stride}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {' * '.join(map(str, counts))} = "
            f"{prod(counts)}, but got input.size(2)={length}."
        )
    channels = depth // prod(window.kernel)
    wide = widened(columns).reshape(batch, channels, *window.kernel, *counts)
    total = np.zeros((batch, channels, *window.padded(spatial)), wide.dtype)
    add_windows(total, wide, window, columns.dtype)
    result = total[at(..., *window.interior(spatial))]
    return np.ascontiguousarray(result.astype(columns.dtype, copy=False))
