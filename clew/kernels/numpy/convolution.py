"""Cross-correlation over any number of spatial axes, through im2col tiles and BLAS.

With x (N, C, *S), w (O, C/groups, *K) and g (N, O, *L), the three kernels are the three partial
derivatives of one trilinear form, <g, conv(x, w)>:

    conv_forward(x, w) = d/dg,    conv_grad_input(g, w) = d/dx,    conv_grad_weight(g, x) = d/dw

so the derivatives of each are the other two, to any order. Nothing is conjugated: for complex
arrays the caller conjugates. A transposed convolution is `conv_grad_input` with the `input_shape`
that `conv_transpose_output_shape` gives.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from clew.kernels import conv
from clew.kernels.numpy.arrays import Array, at, widened
from clew.kernels.numpy.conv_depthwise import (
    depthwise_forward,
    depthwise_grad_input,
    depthwise_grad_weight,
)
from clew.kernels.numpy.conv_scatter import (
    add_tap_by_tap,
    grid_shape,
    rounds_each_tap,
    scatter_grad_input,
)
from clew.kernels.numpy.im2col import Padding, Sizes, Window, expand, hashable, window_view

Shape = tuple[int, ...]
Tile = tuple[slice, slice]

# A tile's columns should stay in the second-level cache between the copy that makes them and the
# product that reads them, and yet be wide enough for the product to run at full speed.
_TILE_BYTES = 1 << 21
_MIN_COLUMNS = 256
# Multiplications from which a compiled kernel is worth loading.
_COMPILED_FROM = 1 << 16
# Groups of so few channels and filters make matrices that are too small for BLAS (measured).
_FEW_CHANNELS = 8


def conv_output_shape(
    input_shape: Sequence[int],
    weight_shape: Sequence[int],
    *,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Shape:
    """Shape (N, O, *L) of a convolution; raises where the arguments do not fit together."""
    dims = _check_ranks(input_shape, weight_shape)
    window = Window.of(tuple(weight_shape[2:]), stride, padding, dilation, dims)
    _check_groups(weight_shape, groups)
    if input_shape[1] != weight_shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight_shape)}, expected "
            f"input{list(input_shape)} to have {weight_shape[1] * groups} channels, but got "
            f"{input_shape[1]} channels instead"
        )
    counts = window.counts(input_shape[2:])
    if min(counts) < 1:
        padded = " x ".join(map(str, window.padded(input_shape[2:])))
        extent = " x ".join(map(str, window.extent))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({padded}). Kernel size: ({extent}). "
            f"Kernel size can't be greater than actual input size"
        )
    return (input_shape[0], weight_shape[0], *counts)


def conv_transpose_output_shape(
    input_shape: Sequence[int],
    weight_shape: Sequence[int],
    *,
    stride: Sizes = 1,
    padding: Padding = 0,
    output_padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Shape:
    """Shape (N, C_out, *S) of a transposed convolution with weight (C_in, C_out/groups, *K)."""
    dims = _check_ranks(input_shape, weight_shape)
    window = Window.of(tuple(weight_shape[2:]), stride, padding, dilation, dims)
    _check_groups(weight_shape, groups)
    if input_shape[1] != weight_shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight_shape)}, expected "
            f"input{list(input_shape)} to have {weight_shape[0]} channels, but got "
            f"{input_shape[1]} channels instead"
        )
    extra = expand(output_padding, dims, "output_padding")
    if min(extra) < 0:
        raise RuntimeError("negative output_padding is not supported")
    for out_pad, step, spacing in zip(extra, window.stride, window.dilation, strict=True):
        if out_pad >= step and out_pad >= spacing:
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got "
                f"output_padding={list(extra)}, stride={list(window.stride)}, "
                f"dilation={list(window.dilation)}"
            )
    spatial = tuple(
        (n - 1) * s + e - lo - hi + o
        for n, s, e, (lo, hi), o in zip(
            input_shape[2:], window.stride, window.extent, window.pads, extra, strict=True
        )
    )
    if min(spatial) < 1:
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, input_shape[2:]))}). Calculated "
            f"output size per channel: ({' x '.join(map(str, spatial))}). Output size is too small"
        )
    return (input_shape[0], weight_shape[1] * groups, *spatial)


def conv_forward(
    x: Array,
    w: Array,
    *,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    output_size: Sequence[int] | None = None,
    bias: Array | None = None,
) -> Array:
    """Cross-correlation of x (N, C, *S) with w (O, C/groups, *K): an array (N, O, *L).

    `output_size` keeps only the first windows along each spatial axis. The adjoint of a
    transposed convolution whose output padding made room for one more window needs this.
    """
    shape, window = geometry(
        x.shape, w.shape, hashable(stride), hashable(padding), hashable(dilation), groups
    )
    if output_size is not None:
        wanted = (*shape[:2], *output_size)
        _check_output(wanted, shape)
        shape = wanted
    out_dtype = np.result_type(x, w)
    wide_x, wide_w = _wide(shape, w.shape, x, w)
    compiled = kernel_for(window, shape, w.shape, groups, wide_x, wide_w)
    if compiled is not None:
        out = np.empty(shape, wide_x.dtype)
        wide_bias = None if bias is None else widened(bias)
        _run_compiled(
            compiled, conv.im2col_conv.FORWARD, wide_x, wide_w, out, window, groups, wide_bias
        )
        return out.astype(out_dtype, copy=False)
    elif _is_depthwise(w.shape, groups):
        out = depthwise_forward(wide_x, wide_w, window, shape[2:])
    else:
        out = np.empty(shape, np.result_type(wide_x, wide_w))
        matrix = wide_w.reshape(groups, w.shape[0] // groups, prod(w.shape[1:]))
        for tile, columns in _column_tiles(wide_x, window, shape[2:], groups):
            _store_product(matrix, columns, out, tile)
    _add_bias(out, bias)
    return out.astype(out_dtype, copy=False)


def conv_grad_input(
    g: Array,
    w: Array,
    *,
    input_shape: Sequence[int],
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
    bias: Array | None = None,
) -> Array:
    """Adjoint of `conv_forward` in x: g (N, O, *L) spread through w to (N, C, *S)."""
    full, window = geometry(
        tuple(input_shape), w.shape, hashable(stride), hashable(padding), hashable(dilation), groups
    )
    _check_output(g.shape, full)
    out_dtype = np.result_type(g, w)
    wide_g, wide_w = _wide(g.shape, w.shape, g, w)
    if rounds_each_tap(out_dtype, window, tuple(input_shape[2:]), g.shape[2:]):
        out = add_tap_by_tap(wide_g, wide_w, window, tuple(input_shape), groups, out_dtype)
        _add_bias(out, bias)
        return out.astype(out_dtype, copy=False)
    compiled = kernel_for(window, g.shape, w.shape, groups, wide_g, wide_w)
    if compiled is not None:
        out = np.empty(tuple(input_shape), wide_g.dtype)
        wide_bias = None if bias is None else widened(bias)
        _run_compiled(
            compiled, conv.im2col_conv.GRAD_INPUT, out, wide_w, wide_g, window, groups, wide_bias
        )
        return out.astype(out_dtype, copy=False)
    flipped_padding = _flipped_padding(window, tuple(input_shape[2:]), g.shape[2:])
    depthwise = _is_depthwise(w.shape, groups)
    if flipped_padding is not None and (
        depthwise or _prefers_flipped(window, w.shape, g.shape[2:], input_shape[1])
    ):
        flipped = _flip_weight(wide_w, groups)
        out = conv_forward(
            wide_g, flipped, padding=flipped_padding, dilation=dilation, groups=groups
        )
    elif depthwise:
        out = depthwise_grad_input(wide_g, wide_w, window, tuple(input_shape))
    else:
        out = scatter_grad_input(wide_g, wide_w, window, tuple(input_shape), groups)
    _add_bias(out, bias)
    return out.astype(out_dtype, copy=False)


def _add_bias(out: Array, bias: Array | None) -> None:
    """Add one number per channel, in the precision of the computation."""
    if bias is not None:
        out += widened(bias).reshape(-1, *(1,) * (out.ndim - 2))


def conv_grad_weight(
    g: Array,
    x: Array,
    *,
    weight_shape: Sequence[int],
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Array:
    """Adjoint of `conv_forward` in w: g (N, O, *L) with x (N, C, *S) to (O, C/groups, *K)."""
    full, window = geometry(
        x.shape,
        tuple(weight_shape),
        hashable(stride),
        hashable(padding),
        hashable(dilation),
        groups,
    )
    _check_output(g.shape, full)
    out_dtype = np.result_type(g, x)
    wide_g, wide_x = _wide(g.shape, tuple(weight_shape), g, x)
    compiled = kernel_for(window, g.shape, tuple(weight_shape), groups, wide_g, wide_x)
    if compiled is not None:
        out = np.empty(tuple(weight_shape), wide_x.dtype)
        _run_compiled(compiled, conv.im2col_conv.GRAD_WEIGHT, wide_x, out, wide_g, window, groups)
    elif _is_depthwise(weight_shape, groups):
        out = depthwise_grad_weight(wide_g, wide_x, window, tuple(weight_shape))
    else:
        rows, depth = weight_shape[0] // groups, prod(weight_shape[1:])
        out = np.zeros((groups, rows, depth), np.result_type(wide_g, wide_x))
        for tile, columns in _column_tiles(wide_x, window, g.shape[2:], groups):
            out += np.matmul(_tile_matrix(wide_g, tile, groups), columns.swapaxes(1, 2))
        out = out.reshape(tuple(weight_shape))
    return out.astype(out_dtype, copy=False)


def _wide(out: Shape, weight: Shape, *arrays: Array) -> Iterator[Array]:
    """The operands in the precision to compute in; few complex products are added in complex128.

    Their parts cancel more often than real numbers do.
    """
    for each in arrays:
        few = each.dtype == np.complex64 and _work(out, weight) < _COMPILED_FROM
        yield each.astype(np.complex128) if few else widened(each)


def _work(out: Shape, weight: Shape) -> int:
    """The multiplications of a convolution."""
    return prod(out) * prod(weight[1:])


def kernel_for(window: Window, out: Shape, weight: Shape, groups: int, *arrays: Any) -> Any:
    """The compiled kernel: for one or two spatial axes, and enough multiplications."""
    if len(window.stride) > 2 or _work(out, weight) < _COMPILED_FROM:
        return None
    few = max(weight[1], weight[0] // groups) <= _FEW_CHANNELS and prod(weight[2:]) > 1
    if _is_depthwise(weight, groups) or (groups > 1 and few):
        return conv.depthwise if conv.depthwise.can_run(*arrays) else None
    return conv.im2col_conv if conv.im2col_conv.can_run(*arrays) else None


def _run_compiled(
    compiled: Any,
    kind: str,
    x: Array,
    w: Array,
    y: Array,
    window: Window,
    groups: int,
    bias: Array | None = None,
) -> None:
    """Fill one of the arrays from the other two; a single spatial axis is an image of one row."""
    sizes = geometry_of(window, x.shape, w.shape, y.shape, groups)

    def image(array: Array) -> Array:
        array = np.ascontiguousarray(array)
        return array[:, :, None] if len(window.stride) == 1 else array

    x, w, y = image(x), image(w), image(y)
    if compiled is conv.im2col_conv:
        dense = None if bias is None else np.ascontiguousarray(bias)
        conv.algorithms.run(kind, x, w, y, sizes, dense)
        return
    result = x if kind == conv.im2col_conv.GRAD_INPUT else y
    if result is x:
        x.fill(0)
    compiled.run(kind, x, w, y, sizes)
    _add_bias(result, bias)


def geometry_of(window: Window, x: Shape, w: Shape, y: Shape, groups: int) -> Any:
    """The geometry of a convolution for compiled kernels."""
    low = [lo for lo, _ in window.pads]
    make = conv.im2col_conv.Geometry.of
    return make((x, w, y), window.stride, low, window.dilation, groups)


def _check_ranks(input_shape: Sequence[int], weight_shape: Sequence[int]) -> int:
    """The number of spatial axes, which input and weight must share."""
    dims = len(weight_shape) - 2
    if dims < 1 or len(input_shape) != len(weight_shape):
        raise RuntimeError(
            f"Expected input and weight to have the same number of dimensions, at least 3, but "
            f"got input of size {list(input_shape)} and weight of size {list(weight_shape)}"
        )
    return dims


def _check_groups(weight_shape: Sequence[int], groups: int) -> None:
    if groups < 1:
        raise RuntimeError("non-positive groups is not supported")
    if weight_shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(weight_shape)} instead"
        )
    if weight_shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(weight_shape)}] instead"
        )


@lru_cache(maxsize=1024)
def geometry(
    input_shape: Shape,
    weight_shape: Shape,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: int,
) -> tuple[Shape, Window]:
    """Output shape and window; a network asks for the same few again and again."""
    shape = conv_output_shape(
        input_shape,
        weight_shape,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )
    dims = len(weight_shape) - 2
    return shape, Window.of(weight_shape[2:], stride, padding, dilation, dims)


def _check_output(shape: Shape, full: Shape) -> None:
    """Raise unless the shape has all images and channels, and no more windows than there are."""
    fits = len(shape) == len(full) and all(0 < n <= m for n, m in zip(shape[2:], full[2:]))
    if not fits or shape[:2] != full[:2]:
        raise RuntimeError(
            f"Expected the output of the convolution to have size {list(full)}, or less along "
            f"spatial dimensions, but got {list(shape)}"
        )


def _tiles(batch: int, counts: Shape, depth: int, itemsize: int) -> Iterator[Tile]:
    """Cut the output into (images, rows of the first spatial axis), several of either, not both."""
    if prod(counts) == 0:
        return
    row = prod(counts[1:])
    fitting = max(_TILE_BYTES // max(depth * itemsize, 1), _MIN_COLUMNS)
    images = max(1, _MIN_COLUMNS // prod(counts))
    passes = -(-counts[0] * row // fitting)
    rows = -(-counts[0] // passes)
    for first in range(0, batch, images):
        for top in range(0, counts[0], rows):
            yield (
                slice(first, min(first + images, batch)),
                slice(top, min(top + rows, counts[0])),
            )


def _column_tiles(
    x: Array, window: Window, counts: Shape, groups: int
) -> Iterator[tuple[Tile, Array]]:
    """Tile after tile, the windows as a matrix (groups, C/groups * prod(K), images * positions).

    The matrix is a buffer used again for the next tile.
    """
    batch, channels = x.shape[:2]
    dims, depth = len(counts), channels * prod(window.kernel)
    # (images, C, *K, *L) -> (C, *K, images, *L)
    order = (*range(1, dims + 2), 0, *range(dims + 2, 2 * dims + 2))
    padded, buffer = np.empty(0, x.dtype), np.empty(0, x.dtype)
    windows = padded
    for images, rows in _tiles(batch, counts, depth, x.dtype.itemsize):
        if rows.start == 0:
            previous, padded = padded, _padded_images(x, images, window, padded)
            if padded is not previous:
                windows = window_view(padded, window, counts).transpose(order)
        view = windows[at(*(slice(None),) * (dims + 2), rows)]
        if padded.shape[0] == 1 and prod(window.kernel) == 1 and view.flags.c_contiguous:
            columns = view
        else:
            if buffer.size < view.size:
                buffer = np.empty(view.size, x.dtype)
            columns = buffer[: view.size].reshape(view.shape)
            np.copyto(columns, view)
        places = prod(view.shape[dims + 1 :])
        yield (images, rows), columns.reshape(groups, depth // groups, places)


def _padded_images(x: Array, images: slice, window: Window, scratch: Array) -> Array:
    """The chosen images with padding, in `scratch` when it has the shape (its border is zero)."""
    chosen = x[images]
    if not window.is_padded:
        return chosen
    shape = (*chosen.shape[:2], *window.padded(x.shape[2:]))
    if scratch.shape != shape:
        scratch = np.zeros(shape, x.dtype)
    scratch[at(..., *window.interior(x.shape[2:]))] = chosen
    return scratch


def _tile_matrix(g: Array, tile: Tile, groups: int) -> Array:
    """The tile of (N, O, *L) as a matrix (groups, O/groups, images * positions)."""
    part = g[tile[0], :, tile[1]]
    return part.swapaxes(0, 1).reshape(groups, g.shape[1] // groups, -1)


def _store_product(matrix: Array, columns: Array, out: Array, tile: Tile) -> None:
    """Write matrix @ columns to the tile of (N, O, *L), without a copy for a single image."""
    images, rows = tile
    groups, per_group = matrix.shape[:2]
    if images.stop - images.start == 1:
        row = prod(out.shape[3:])
        flat = out[images.start].reshape(groups, per_group, -1)
        np.matmul(matrix, columns, out=flat[:, :, rows.start * row : rows.stop * row])
        return
    part = out[images, :, rows]
    product = np.matmul(matrix, columns)
    part[...] = product.reshape(part.shape[1], part.shape[0], *part.shape[2:]).swapaxes(0, 1)


def _flipped_padding(
    window: Window, spatial: Shape, counts: Shape
) -> tuple[tuple[int, int], ...] | None:
    """Padding with which grad-input is itself a convolution; None where it is not (strides)."""
    if max(window.stride) > 1:
        return None
    pads = []
    for size, count, extent, (low, _) in zip(
        spatial, counts, window.extent, window.pads, strict=True
    ):
        before = extent - 1 - low
        pads.append((before, size + extent - 1 - count - before))
    return tuple(pads) if min(map(min, pads)) >= 0 else None


def _prefers_flipped(
    window: Window, weight_shape: Sequence[int], counts: Shape, channels: int
) -> bool:
    """Whether convolving g with the flipped weight beats scattering products (both measured).

    The first copies windows of g's channels; the second adds windows of x's, on a larger grid.
    """
    wasteful = 2 * prod(grid_shape(window, counts)) > 3 * prod(counts)
    return weight_shape[0] < 2 * channels or wasteful


def _flip_weight(w: Array, groups: int) -> Array:
    """(O, C/groups, *K) as (C, O/groups, *K) with every kernel axis reversed."""
    split = w.reshape(groups, w.shape[0] // groups, *w.shape[1:]).swapaxes(1, 2)
    flipped = np.flip(split, axis=tuple(range(3, split.ndim)))
    return flipped.reshape(groups * w.shape[1], w.shape[0] // groups, *w.shape[2:])


def _is_depthwise(weight_shape: Sequence[int], groups: int) -> bool:
    return groups > 1 and weight_shape[1] == 1
