"""Maxima of windows of volumes, compiled: any windows that are products of ranges along the axes.

The windows of a plane (a volume of one channel) are shared by all planes, or each has its own. A
task is a number of planes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder, Range
from clew.kernels.codegen.ir import BF16, F16, F32, F64
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.ufunc import DTYPE
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
# The dtypes that there are kernels for. Halves are compared as floats.
KINDS = {DTYPE[kind]: kind for kind in (F32, F64, F16, BF16)}
_AXES = 3
_PER_AXIS = ("count", "size", "step", "by_plane")
_FIELDS = (
    "*x", "*values", "*index", *(f"*{word}{axis}" for axis in range(_AXES) for word in
                                 ("first", "stop")),
    *(f"{word}{axis}" for axis in range(_AXES) for word in _PER_AXIS),
)  # fmt: skip
_TAPS_PER_TASK = 16384
# Along an axis that x does not have.
_ONE_WINDOW = np.zeros(1, np.int64), np.ones(1, np.int64)


def window_max(
    x: Array, first: Sequence[Array], stop: Sequence[Array], dilation: Sequence[int]
) -> tuple[Array, Array]:
    """The largest value of each window and its flat index, from x (N, C, *S) with S up to 3.

    Along an axis window o has the elements first[o], first[o] + dilation, ... before stop[o], at
    least one. `first` and `stop` are (count,) for all planes or (N, C, count), as int64 and without
    gaps. The first of equal values is chosen; the last NaN, where a window has any.
    """
    x = np.ascontiguousarray(x)
    missing = _AXES - (x.ndim - 2)
    spatial = (1,) * missing + x.shape[2:]
    steps = (1,) * missing + tuple(dilation)
    ranges = [_ONE_WINDOW] * missing + list(zip(first, stop, strict=True))
    counts = [low.shape[-1] for low, _ in ranges]
    values = np.empty((*x.shape[:2], *counts[missing:]), x.dtype)
    index = np.empty(values.shape, np.int64)
    words: list[int] = []
    for (low, _), count, size, step in zip(ranges, counts, spatial, steps, strict=True):
        words += count, size, step, count if low.ndim > 1 else 0
    arrays = (x, values, index, *(each for pair in ranges for each in pair))
    context = context_of(arrays, words)
    planes = x.shape[0] * x.shape[1]
    grain = max(_TAPS_PER_TASK // max(prod(spatial), 1), 1)
    if values.size:
        _function(KINDS[x.dtype])(address_of(context), planes, grain)
    return values, index


@functools.cache
def _function(dtype: str) -> Any:
    make = functools.partial(module, dtype)
    return compiled(f"window_max {dtype}", make, "window_max")


def module(dtype: str) -> str:
    e = Emitter()
    _WindowMax(e, dtype).emit()
    end_module(e, "window_max")
    return e.text()


class _WindowMax(ImageRowBuilder):
    """`body(context, begin, end)` for some planes."""

    def __init__(self, e: Emitter, dtype: str) -> None:
        super().__init__(e, LLVM_TYPE.get(dtype, LLVM_TYPE[F32]))
        self.dtype = dtype

    def address(self, base: str, index: str) -> str:
        return self.e.element_address(self.dtype, base, index)

    def emit(self) -> None:
        with self.function(BODY):
            f = self.f = self.load_context(*_FIELDS)
            volume = self.mul(*(f[f"size{axis}"] for axis in range(_AXES)))
            windows = self.mul(*(f[f"count{axis}"] for axis in range(_AXES)))
            with self.loop("%begin", "%end") as plane:
                image = self.address(f["x"], self.mul(plane, volume))
                before = self.mul(plane, windows)
                with self.loop("0", f["count0"]) as deep:
                    depths, deep_row = self.range(0, plane, deep), self.mul(deep, f["count1"])
                    with self.loop("0", f["count1"]) as high:
                        rows = self.range(1, plane, high)
                        line = self.mul(self.add(deep_row, high), f["count2"])
                        out = self.add(before, line)
                        with self.loop("0", f["count2"]) as wide:
                            spans = (depths, rows, self.range(2, plane, wide))
                            value, place = self.largest(image, spans)
                            target = self.address(f["values"], self.add(out, wide))
                            self.e.store(self.dtype, value, target)
                            address = self.gep_i64(f["index"], self.add(out, wide))
                            self.store_word(address, place)

    def range(self, axis: int, plane: str, window: str) -> Range:
        f = self.f
        at = self.add(self.mul(plane, f[f"by_plane{axis}"]), window)
        ends = (self.load_i64(f[f"{word}{axis}"], at) for word in ("first", "stop"))
        return next(ends), next(ends), f[f"step{axis}"]

    def largest(self, image: str, spans: tuple[Range, Range, Range]) -> list[str]:
        """The maximum of a window and its flat index."""
        sizes = self.f["size1"], self.f["size2"]
        start = "0"
        for span, size in zip(spans, ("0", *sizes), strict=True):
            start = self.add(self.mul(start, size), span[0])
        kinds = self.llvm, "i64"

        def over(axis: int, before: str, so_far: list[str]) -> list[str]:
            def body(i: str, so_far: list[str]) -> list[str]:
                if axis < _AXES - 1:
                    return over(axis + 1, self.mul(self.add(before, i), sizes[axis]), so_far)
                at = self.add(before, i)
                value = self.e.load(self.dtype, self.address(image, at))
                return self.max_with_index(value, so_far[0], at, so_far[1])

            carried = list(zip(kinds, so_far, strict=True))
            return carrying_loop(self.e, spans[axis][:2], spans[axis][2], body, carried)

        first = self.e.load(self.dtype, self.address(image, start))
        return over(0, "0", [first, start])
