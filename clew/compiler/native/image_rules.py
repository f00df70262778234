"""Rules for convolution and pooling of images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.compiler.native import rules
from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import FLOATS, INT64, forward, gradient, present, require
from clew.kernels import pool
from clew.kernels.conv import (
    algorithms,
    depthwise,
    im2col_conv,
    implicit_gemm,
    weight_gradient,
    winograd,
)
from clew.kernels.conv.im2col_conv import FORWARD, GRAD_INPUT, GRAD_WEIGHT, Geometry
from clew.kernels.numpy import average_pool, convolution, interpolate, reduce
from clew.kernels.numpy.im2col import hashable
from clew.kernels.numpy.max_pool import has_empty_windows, pool_parameters
from clew.kernels.numpy.separable import AxisTable
from clew.kernels.pool import small_max_pool

Shape = tuple[int, ...]

# -- convolution -----------------------------------------------------------------------------------


def _run(
    c: Calls, kind: str, x: Layout, w: Layout, y: Layout, bias: Layout | None, options: Any
) -> None:
    """Fill y, x or w (by `kind`) from the other two, and add the bias to y or x."""
    require(x.dtype in FLOATS and x.dtype is w.dtype and x.dtype is y.dtype, "no floats")
    require(0 not in (x.size, w.size, y.size), "no elements")
    target = {FORWARD: y, GRAD_INPUT: x, GRAD_WEIGHT: w}[kind]
    x, w, y = (each if each is target else rules.in_order(c, each) for each in (x, w, y))
    sizes = [hashable(options[name]) for name in ("stride", "padding", "dilation")]
    groups = options["groups"]
    full, window = convolution.geometry(x.shape, w.shape, *sizes, groups)
    fits = full[:2] == y.shape[:2] and all(n <= m for n, m in zip(y.shape, full, strict=True))
    require(fits, "another output")
    # Of few multiplications NumPy's sums are rounded in another way, which training would show.
    kernel = convolution.kernel_for(window, y.shape, w.shape, groups, x, w)
    require(kernel is not None, "no kernel")
    geometry = convolution.geometry_of(window, x.shape, w.shape, y.shape, groups)
    shapes = geometry.input_shape, geometry.weight_shape, geometry.output_shape
    x, w, y = (each.reshaped(*shape) for each, shape in zip((x, w, y), shapes, strict=True))
    if kernel is depthwise:
        _convolve_directly(c, kind, x, w, y, geometry, bias)
    else:
        _convolve(c, kind, x, w, y, geometry, bias)


def _convolve_directly(
    c: Calls, kind: str, x: Layout, w: Layout, y: Layout, geometry: Geometry, bias: Layout | None
) -> None:
    """Few channels in each group."""
    order, shifts, starts = depthwise.tables(kind, geometry)
    result = {FORWARD: y, GRAD_INPUT: x, GRAD_WEIGHT: w}[kind]
    if kind == GRAD_INPUT:
        taps = w.reshaped(w.size // len(order), len(order))
        w = c.temporary(taps.shape, w.dtype)
        for place, tap in enumerate(order.tolist()):
            c.call(np.positive, taps.part(1, tap, 1), w.part(1, place, 1))
    if kind != FORWARD:
        c.call(np.positive, c.constant(0.0, result.dtype), result)
    call = depthwise.calling(kind, x.dtype, geometry)
    c.context("convolution of groups", call, x, w, y, c.array(shifts), c.array(starts))
    if bias is not None:
        _add_bias(c, result, bias)


def _convolve(
    c: Calls, kind: str, x: Layout, w: Layout, y: Layout, geometry: Geometry, bias: Layout | None
) -> None:
    if not winograd.fits(kind, geometry, x.dtype):
        _convolve_exactly(c, kind, x, w, y, geometry, bias)
        return
    _winograd(c, kind, x, w, y, geometry)
    sums = _add_bias(c, {FORWARD: y, GRAD_INPUT: x, GRAD_WEIGHT: w}[kind], bias)
    total = c.temporary((), x.dtype)
    c.call(reduce.SUM, sums.reshaped(sums.size), total)
    # Zero, if it is finite. Transforms mix neighbours: infinities and NaN must reach only the
    # windows that they are in.
    c.call(np.subtract, total, total, total)
    with c.unless_zero(total):
        _convolve_exactly(c, kind, x, w, y, geometry, bias)


def _winograd(c: Calls, kind: str, x: Layout, w: Layout, y: Layout, geometry: Geometry) -> None:
    call, parts = winograd.calling(kind, geometry)
    filters, channels = geometry.weight_shape[:2]
    taps = w.reshaped(filters * channels, 9)
    if kind == GRAD_WEIGHT:
        sums = c.temporary((parts * 16, filters * channels), w.dtype)
        c.context("winograd", call, x, sums, y)
        back = c.array(winograd.back_transform(parts))
        rules.batch_product(c, sums.permuted((1, 0)), back, taps)
        return
    transformed = c.temporary((16, filters * channels), w.dtype)
    transform = c.array(winograd.transform(kind))
    rules.product(c, [transformed], transform, taps.permuted((1, 0)))
    images = (x, y) if kind == FORWARD else (y, x)
    c.context("winograd", call, images[0], transformed, images[1])


def _convolve_exactly(
    c: Calls, kind: str, x: Layout, w: Layout, y: Layout, geometry: Geometry, bias: Layout | None
) -> None:
    dtype, algorithm = x.dtype, algorithms.exact(kind, geometry)
    if algorithm is weight_gradient:
        call, *counts = weight_gradient.calling(dtype, geometry)
        assert call is not None  # there are images
        c.context("weight gradient", call, x, w, y, *[c.temporary((n,), dtype) for n in counts])
    elif algorithm is implicit_gemm:
        call, count = implicit_gemm.calling(kind, dtype, geometry)
        if kind == GRAD_INPUT:
            turned = c.temporary(w.shape, dtype)
            transposing = implicit_gemm.transposing(dtype, w.shape, geometry.groups)
            c.context("transposed weights", transposing, w, turned)
            x, w, y = y, turned, x
        c.context("implicit gemm", call, x, w, y, bias, c.temporary((count,), dtype))
    else:
        _im2col(c, kind, x, w, y, geometry)
        if bias is not None:
            _add_bias(c, x if kind == GRAD_INPUT else y, bias)


def _im2col(c: Calls, kind: str, x: Layout, w: Layout, y: Layout, geometry: Geometry) -> None:
    if kind == GRAD_INPUT:
        c.call(np.positive, c.constant(0.0, x.dtype), x)
    call, count = im2col_conv.calling(kind, x.dtype, geometry)
    assert call is not None  # there are images
    others = c.temporary((count, w.size), w.dtype)
    c.context("convolution", call, x, w, y, others)
    flat = w.reshaped(w.size)
    for number in range(count):
        part = flat._replace(root=others.root, offset=number * w.size * w.dtype.itemsize)
        rules.add_to(c, flat, part)


def _add_bias(c: Calls, result: Layout, bias: Layout | None) -> Layout:
    """Add one number for each channel; gives the sums of the results' rows."""
    batch, channels, *rest = result.shape
    rows = result.reshaped(batch, channels, math.prod(rest))
    sums = c.temporary((batch, channels), result.dtype)
    if bias is None:
        c.call(algorithms.ROW_SUMS, rows, sums)
        return sums
    # A bias for each row: one loop.
    biases = c.temporary((batch, channels), result.dtype)
    c.call(np.positive, bias, biases)
    c.call(algorithms.BIASED_ROWS, rows, biases, rows, sums)
    return sums


def _bias_gradient(c: Calls, g: Layout, out: Layout) -> None:
    """The sums of channels."""
    batch, channels, *rest = g.shape
    count = math.prod(rest)
    require(count < reduce.LONG and batch < 2 * reduce.ROWS, "large sums")
    g = rules.in_order(c, g)
    sums = c.temporary((batch, channels), g.dtype)
    c.call(reduce.SUM, g.reshaped(batch, channels, count), sums)
    rules.fold(c, sums, (0,), out)


@forward("convolution", "convolution_bias")
def _convolution(
    c: Calls, outs: list[Layout | None], x: Layout, w: Layout, bias: Layout | None = None,
    output_size: Any = None, **options: Any,
) -> None:  # fmt: skip
    (y,) = present(outs)
    _run(c, FORWARD, x, w, y, bias, options)


@forward("convolution_transpose", "convolution_transpose_bias")
def _transposed(
    c: Calls, outs: list[Layout | None], y: Layout, w: Layout, bias: Layout | None = None,
    output_shape: Any = None, **options: Any,
) -> None:  # fmt: skip
    (x,) = present(outs)
    _run(c, GRAD_INPUT, x, w, y, bias, options)


def _options(stride: Shape, padding: Any, dilation: Shape, groups: int) -> dict[str, Any]:
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


@gradient("convolution", "convolution_bias")
def _convolution_gradients(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, w: Layout,
    needs: tuple[bool, ...], *sizes: Any,
) -> None:  # fmt: skip
    (g,) = grads
    of_input, of_weight, *of_bias = outs
    if of_input is not None:
        _run(c, GRAD_INPUT, of_input, w, g, None, _options(*sizes))
    if of_weight is not None:
        _run(c, GRAD_WEIGHT, x, of_weight, g, None, _options(*sizes))
    for out in present([each for each in of_bias if each is not None]):
        _bias_gradient(c, g, out)


@gradient("convolution_transpose", "convolution_transpose_bias")
def _transposed_gradients(
    c: Calls, outs: list[Layout | None], grads: list[Any], y: Layout, w: Layout,
    needs: tuple[bool, ...], *sizes: Any,
) -> None:  # fmt: skip
    (g,) = grads
    of_input, of_weight, *of_bias = outs
    if of_input is not None:
        _run(c, FORWARD, g, w, of_input, None, _options(*sizes))
    if of_weight is not None:
        _run(c, GRAD_WEIGHT, g, of_weight, y, None, _options(*sizes))
    for out in present([each for each in of_bias if each is not None]):
        _bias_gradient(c, g, out)


# -- max pooling -----------------------------------------------------------------------------------


def _require_images(*images: Layout) -> None:
    right = [each.dtype in FLOATS or each.dtype is INT64 for each in images]
    require(all(right) and all(len(each.shape) == 4 for each in images), "no images of floats")
    require(all(each.is_contiguous and each.size for each in images), "images with gaps")


@forward("max_pool2d_with_indices")
def _max_pool(
    c: Calls, outs: list[Layout | None], x: Layout, kernel_size: Shape, stride: Shape,
    padding: Shape, dilation: Shape, ceil_mode: bool,
) -> None:  # fmt: skip
    values = present(outs[:1])[0]
    index = c.temporary(values.shape, INT64) if outs[1] is None else outs[1]
    _require_images(x, values, index)
    spatial, kernel, steps, pads = pool_parameters(x.shape, kernel_size, stride, padding)
    require(
        not has_empty_windows(spatial, kernel, steps, pads, dilation, ceil_mode), "empty windows"
    )
    counts, geometry = values.shape[2:], (kernel, steps, pads, dilation)
    if not small_max_pool.are_small(kernel, pads, dilation):
        sizes = [*spatial, *counts, *kernel, *steps, *pads, *dilation]
        call = pool.max_pool.calling("max", x.dtype, values.shape, sizes)
        c.context("max pool", call, x, values, index)
        return
    wide = small_max_pool.padded(spatial, counts, geometry)
    if wide is not None:
        x = _padded(c, x, wide, pads)
    call = small_max_pool.calling(
        x.dtype, x.shape[0] * x.shape[1], x.shape[2:], spatial, counts, geometry,
        pool.max_pool.grain(values.shape),
    )  # fmt: skip
    c.context("max pool", call, x, values, index)


def _padded(c: Calls, x: Layout, size: Shape, corner: Shape) -> Layout:
    """Images of another size, with -inf around them."""
    wide = c.temporary((*x.shape[:2], *size), x.dtype)
    c.call(np.positive, c.constant(-math.inf, x.dtype), wide)
    skipped = sum(n * step for n, step in zip(corner, wide.strides[2:], strict=True))
    c.call(np.positive, x, wide._replace(shape=x.shape, offset=wide.offset + skipped))
    return wide


@gradient("max_pool2d_with_indices")
def _max_pool_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, index: Layout,
    kernel_size: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool,
) -> None:  # fmt: skip
    (out,) = present(outs)
    require(isinstance(grads[0], Layout), "no gradient")
    g = rules.in_order(c, grads[0])
    _require_images(out, g, index)
    spatial, kernel, steps, pads = pool_parameters(out.shape, kernel_size, stride, padding)
    require(
        not has_empty_windows(spatial, kernel, steps, pads, dilation, ceil_mode), "empty windows"
    )
    sizes = [*spatial, *g.shape[2:], *[1] * 8]
    call = pool.max_pool.calling("scatter_add", out.dtype, g.shape, sizes)
    c.context("max pool gradient", call, out, g, index)


# -- averages --------------------------------------------------------------------------------------


def _map(c: Calls, x: Layout, out: Layout, tables: list[AxisTable]) -> None:
    """A linear map along each axis."""
    x = rules.in_order(c, x)
    _require_images(x, out)
    rows, columns = tables
    taps = [*rows.taps(x.dtype, False), *columns.taps(x.dtype, True)]
    images = [each.reshaped(each.shape[0] * each.shape[1], *each.shape[2:]) for each in (x, out)]
    c.call(pool.separable_maps.KERNEL, images[0], *map(c.array, taps), images[1])


@forward("avg_pool2d")
def _avg_pool(c: Calls, outs: list[Layout | None], x: Layout, **options: Any) -> None:
    (out,) = present(outs)
    _map(c, x, out, average_pool.avg_tables(x.shape[2:], *_given(**options)))


def _given(
    kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None,
) -> tuple[Any, ...]:  # fmt: skip
    sizes = hashable(kernel_size), hashable(stride), hashable(padding)
    return (*sizes, ceil_mode, count_include_pad, divisor_override)


@gradient("avg_pool2d")
def _avg_pool_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, *options: Any
) -> None:
    (out,) = present(outs)
    tables = average_pool.avg_tables(out.shape[2:], *_given(*options))
    _map(c, grads[0], out, [table.transposed for table in tables])


@forward("_adaptive_avg_pool2d")
def _adaptive_pool(c: Calls, outs: list[Layout | None], x: Layout, output_size: Shape) -> None:
    (out,) = present(outs)
    _map(c, x, out, average_pool.adaptive_tables(x.shape, output_size))


@gradient("_adaptive_avg_pool2d")
def _adaptive_pool_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, output_size: Shape
) -> None:
    (out,) = present(outs)
    tables = average_pool.adaptive_tables(out.shape, grads[0].shape[2:])
    _map(c, grads[0], out, [table.transposed for table in tables])


# -- interpolation ---------------------------------------------------------------------------------

_RESIZING = ("upsample_nearest2d", "upsample_nearest_exact2d", "upsample_bilinear2d")


@forward(*_RESIZING)
def _resized(
    c: Calls, outs: list[Layout | None], x: Layout, size: Shape, mode: str, align_corners: bool,
    scales: Any, antialias: bool,
) -> None:  # fmt: skip
    (out,) = present(outs)
    options = mode, align_corners, hashable(scales), antialias
    _map(c, x, out, interpolate.tables_of(x.dtype, x.shape[2:], hashable(size), *options))


@gradient(*_RESIZING)
def _resized_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Any], shape: Shape, mode: str,
    align_corners: bool, scales: Any, antialias: bool,
) -> None:  # fmt: skip
    (out,), (g,) = present(outs), grads
    options = mode, align_corners, hashable(scales), antialias
    tables = interpolate.tables_of(g.dtype, tuple(shape[2:]), g.shape[2:], *options)
    _map(c, g, out, [table.transposed for table in tables])
