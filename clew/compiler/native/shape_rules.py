"""Rules for joining, padding and other ways to copy elements to other places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import forward, present, require
from clew.kernels.codegen.ir import BOOL, F32, F64, where
from clew.kernels.codegen.ufunc import elementwise

Shape = tuple[int, ...]
Outs = list[Layout | None]


def copy_part(c: Calls, out: Layout, source: Layout) -> None:
    """Copy elements between layouts of one shape; nothing, if there are none."""
    require(out.dtype is source.dtype, "other types")
    require(out.dtype.kind in "fi" and out.dtype.itemsize >= 4, "no numbers")
    if source.size:
        c.call(np.positive, source, out)


def fill(c: Calls, out: Layout, number: float = 0.0) -> None:
    """Store one number everywhere."""
    require(out.dtype.kind in "fi" and out.dtype.itemsize >= 4, "no numbers")
    c.call(np.positive, c.constant(number, out.dtype), out)


# -- joining ---------------------------------------------------------------------------------------


@forward("cat")
def _cat(c: Calls, outs: Outs, *parts: Layout, dim: int, dtype: Any) -> None:
    (out,) = present(outs)
    require(all(len(each.shape) == len(out.shape) for each in parts), "nothing to join")
    dim, start = dim % len(out.shape), 0
    for each in parts:
        length = each.shape[dim]
        copy_part(c, out.part(dim, start, length), each)
        start += length


@forward("stack")
def _stack(c: Calls, outs: Outs, *parts: Layout, dim: int, dtype: Any) -> None:
    (out,) = present(outs)
    dim %= len(out.shape)
    _cat(c, outs, *[each.unsqueezed(dim) for each in parts], dim=dim, dtype=dtype)


@forward("repeat")
def _repeat(c: Calls, outs: Outs, x: Layout, repeats: Shape) -> None:
    (out,) = present(outs)
    require(out.is_contiguous, "another order in memory")
    # Each dimension becomes two: which copy, and which of its elements.
    sizes = (1,) * (len(repeats) - len(x.shape)) + x.shape
    strides = (0,) * (len(repeats) - len(x.shape)) + x.strides
    copies = [each for pair in zip(repeats, sizes, strict=True) for each in pair]
    steps = [each for stride in strides for each in (0, stride)]
    spread = x._replace(shape=tuple(copies), strides=tuple(steps))
    copy_part(c, out.reshaped(*copies), spread)


# -- parts in zeros --------------------------------------------------------------------------------


@forward("zeros_for_gradient")
def _zeros(c: Calls, outs: Outs, like: Layout, shape: Shape) -> None:
    (out,) = present(outs)
    fill(c, out)


@forward("select_backward")
def _select_backward(
    c: Calls, outs: Outs, g: Layout, input_sizes: Shape, dim: int, index: int
) -> None:
    (out,) = present(outs)
    dim %= len(out.shape)
    fill(c, out)
    copy_part(c, out.part(dim, index % out.shape[dim], 1).without(dim), g)


@forward("slice_backward")
def _slice_backward(
    c: Calls, outs: Outs, g: Layout, input_sizes: Shape, dim: int, start: int, end: int, step: int
) -> None:
    (out,) = present(outs)
    fill(c, out)
    place = range(out.shape[dim])[start:end:step]
    if place:
        copy_part(c, out.every(dim, place.start, len(place), step), g)


@forward("diagonal_backward")
def _diagonal_backward(
    c: Calls, outs: Outs, g: Layout, input_sizes: Shape, offset: int, dim1: int, dim2: int
) -> None:
    (out,) = present(outs)
    fill(c, out)
    corner = max(-offset, 0) * out.strides[dim1] + max(offset, 0) * out.strides[dim2]
    kept = [dim for dim in range(len(out.shape)) if dim not in (dim1, dim2)]
    strides = (*[out.strides[dim] for dim in kept], out.strides[dim1] + out.strides[dim2])
    copy_part(c, out._replace(shape=g.shape, strides=strides, offset=out.offset + corner), g)


@forward("constant_pad_nd")
def _constant_pad(c: Calls, outs: Outs, x: Layout, pad: Shape, value: Any) -> None:
    (out,) = present(outs)
    require(type(value) in (int, float), "no number")
    source, target = x, out
    for axis in range(len(pad) // 2):
        dim, (low, high) = len(x.shape) - 1 - axis, pad[2 * axis : 2 * axis + 2]
        # Negative sizes cut away.
        kept = x.shape[dim] + min(low, 0) + min(high, 0)
        source = source.part(dim, max(-low, 0), kept)
        target = target.part(dim, max(low, 0), kept)
    if target.size < out.size:
        fill(c, out, value)
    copy_part(c, target, source)


# -- other orders ----------------------------------------------------------------------------------


@forward("flip")
def _flip(c: Calls, outs: Outs, x: Layout, dims: Shape) -> None:
    (out,) = present(outs)
    for dim in dims:
        x = x.every(dim, x.shape[dim] - 1, x.shape[dim], -1)
    copy_part(c, out, x)


@forward("roll")
def _roll(c: Calls, outs: Outs, x: Layout, shifts: Shape, dims: Shape) -> None:
    (out,) = present(outs)
    if not dims:
        x, out, dims = x.reshaped(x.size), out.reshaped(x.size), (0,)
    require(len(dims) == 1, "several dimensions")
    (dim,), length = dims, x.shape[dims[0]]
    shift = shifts[0] % length
    for start, to, count in ((0, shift, length - shift), (length - shift, 0, shift)):
        copy_part(c, out.part(dim, to, count), x.part(dim, start, count))


@forward("pixel_shuffle")
def _pixel_shuffle(c: Calls, outs: Outs, x: Layout, upscale_factor: int) -> None:
    (out,) = present(outs)
    _shuffle(c, x, out, upscale_factor, is_spread=True)


@forward("pixel_unshuffle")
def _pixel_unshuffle(c: Calls, outs: Outs, x: Layout, downscale_factor: int) -> None:
    (out,) = present(outs)
    _shuffle(c, out, x, downscale_factor, is_spread=False)


def _shuffle(c: Calls, deep: Layout, wide: Layout, r: int, is_spread: bool) -> None:
    """Copy between channels of `deep` and blocks of r by r places of `wide`."""
    dim = len(deep.shape) - 3
    # (channel, row in block, column in block, row, column).
    channels = deep.divided(dim, r * r).divided(dim + 1, r)
    places = wide.divided(dim + 2, r).divided(dim + 1, r)
    order = (*range(dim + 1), dim + 2, dim + 4, dim + 1, dim + 3)
    places = places.permuted(order)
    copy_part(c, *((places, channels) if is_spread else (channels, places)))


# -- triangles -------------------------------------------------------------------------------------

_KEPT_KERNEL = elementwise(
    "kept_part", 2, types=[([each, BOOL], [each]) for each in (F32, F64)]
)(lambda x, is_kept: where(is_kept, x, 0.0))  # fmt: skip


def _triangle(name: str, keep: Callable[[np.ndarray, int], np.ndarray]) -> None:
    @forward(name)
    def rule(c: Calls, outs: Outs, x: Layout, diagonal: int) -> None:
        (out,) = present(outs)
        rows, columns = x.shape[-2:]
        clipped = max(-rows, min(diagonal, columns))
        is_kept = keep(np.ones((rows, columns), np.bool_), clipped)
        c.call(_KEPT_KERNEL, x, c.array(is_kept), out)


_triangle("tril", np.tril)
_triangle("triu", np.triu)
