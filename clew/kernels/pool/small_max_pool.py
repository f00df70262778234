"""Max pooling with small windows, specialized for each window size.

The loop over the taps is unrolled, and vectorized over windows, without a branch. Where windows
reach beyond the image, they are taken from a copy that is padded with -inf.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.loops import end_module

Array = np.ndarray
Pair = tuple[int, ...]

# The most elements of a small window.
_MAX_TAPS = 25
_FIELDS = (
    "*x", "*y", "*index", "height", "width", "rows", "columns", "stride_h", "dilation_h", "pad_h",
    "pad_w", "inner_width",
)  # fmt: skip


def are_small(kernel: Pair, padding: Pair, dilation: Pair) -> bool:
    """Whether there is specialized code for such windows.

    Not for dilated windows with padding: the kernel takes a window's first tap inside the image to
    be at its edge.
    """
    is_dilated = any(padding) and max(dilation) > 1
    return kernel[0] * kernel[1] <= _MAX_TAPS and not is_dilated


def max_pool(x: Array, values: Array, index: Array, geometry: tuple[Pair, ...], grain: int) -> None:
    """Fill `values` with the maximum of each window and `index` with its flat index.

    `geometry` is kernel, stride, padding and dilation.
    """
    inner, counts = x.shape[2:], values.shape[2:]
    shape = padded(inner, counts, geometry)
    if shape is not None:
        top, left = geometry[2]
        wide = np.full((*x.shape[:2], *shape), -np.inf, x.dtype)
        wide[:, :, top : top + inner[0], left : left + inner[1]] = x
        x = wide
    channels = x.shape[0] * x.shape[1]
    calling(x.dtype, channels, x.shape[2:], inner, counts, geometry, grain)(x, values, index)


def padded(inner: Pair, counts: Pair, geometry: tuple[Pair, ...]) -> Pair | None:
    """The size of images that are padded with -inf as far as windows reach; None: they are not."""
    kernel, stride, padding, dilation = geometry
    reach = [
        (count - 1) * step + space * (size - 1) + 1
        for count, step, space, size in zip(counts, stride, dilation, kernel, strict=True)
    ]
    if not any(padding) and all(r <= n for r, n in zip(reach, inner, strict=True)):
        return None
    return tuple(max(r, n + p) for r, n, p in zip(reach, inner, padding, strict=True))


def calling(
    dtype: np.dtype, channels: int, wide: Pair, inner: Pair, counts: Pair,
    geometry: tuple[Pair, ...], grain: int,
) -> ContextCall:  # fmt: skip
    """The call on images (padded to `wide`), maxima and indices."""
    kernel, stride, padding, dilation = geometry
    sizes = (*wide, *counts, stride[0], dilation[0], *padding, inner[1])
    function = _function(TYPES[dtype], kernel, stride[1], dilation[1])
    return ContextCall(function, sizes, (channels, grain))


@functools.cache
def _function(llvm: str, kernel: Pair, stride_w: int, dilation_w: int) -> Any:
    key = f"small max pool {llvm} {kernel} {stride_w} {dilation_w}"
    make = functools.partial(module, llvm, kernel, stride_w, dilation_w)
    return compiled(key, make, "max_pool")


def module(llvm: str, kernel: Pair, stride_w: int, dilation_w: int) -> str:
    """The LLVM module for windows of one size."""
    e = Emitter()
    _SmallWindows(e, llvm, kernel, stride_w, dilation_w).emit()
    end_module(e, "max_pool")
    return e.text()


class _SmallWindows(ImageRowBuilder):
    """`body(context, begin, end)`; each lane has a window."""

    def __init__(self, e: Emitter, llvm: str, kernel: Pair, stride_w: int, dilation_w: int) -> None:
        super().__init__(e, llvm)
        self.kernel, self.stride_w, self.dilation_w = kernel, stride_w, dilation_w
        self.f: dict[str, str] = {}

    def emit(self) -> None:
        with self.function(BODY):
            self.f = f = self.load_context(*_FIELDS)
            size, windows = self.mul(f["height"], f["width"]), self.mul(f["rows"], f["columns"])
            with self.loop("%begin", "%end") as channel, self.loop("0", f["rows"]) as row:
                x = self.gep(f["x"], self.mul(channel, size))
                first = self.add(self.mul(channel, windows), self.mul(row, f["columns"]))
                self.output_row(x, self.mul(row, f["stride_h"]), first)

    def output_row(self, x: str, top: str, first: str) -> None:
        f = self.f

        def body(column: str) -> None:
            best, best_index = self.maxima(x, top, self.mul(column, str(self.stride_w)))
            output = self.add(first, column)
            self.store(best, self.gep(f["y"], output), self.value_type())
            address = self.gep_i64(f["index"], output)
            i32, i64 = (self.value_type(element=each) for each in ("i32", "i64"))
            wide = self.e.value(f"sext {i32} {best_index} to {i64}")
            self.e.line(f"store {i64} {wide}, ptr {address}, align 8")

        # With windows of one column, the last odd element of a vector may lie beyond the row.
        reads_more = self.stride_w == 2 and self.kernel[1] == 1
        self.vectorized("0", f["columns"], body, min_scalars=int(reads_more))

    def maxima(self, x: str, top: str, left: str) -> tuple[str, str]:
        """The maximum of each window and its index: the first of equal values, the last NaN."""
        f = self.f
        inner_y = self.sub(top, f["pad_h"])
        best = self.constant("0xFFF0000000000000", self.llvm)
        row = self.splat_i32(self.mul(self.max(inner_y, "0"), f["inner_width"]))
        column = self.window_columns(self.sub(left, f["pad_w"]))
        best_index = self.add_i32(row, self.max_i32(column, self.constant("0", "i32")))
        start = self.add(self.mul(top, f["width"]), left)
        row_index = self.add_i32(self.splat_i32(self.mul(inner_y, f["inner_width"])), column)
        for tap_h in range(self.kernel[0]):
            if tap_h:
                start = self.add(start, self.mul(f["dilation_h"], f["width"]))
                step = self.mul(f["dilation_h"], f["inner_width"])
                row_index = self.add_i32(row_index, self.splat_i32(step))
            for tap_w, value in enumerate(self.row_taps(x, start)):
                offset = self.constant(str(tap_w * self.dilation_w), "i32")
                index = self.add_i32(row_index, offset)
                best, best_index = self.max_with_index(value, best, index, best_index, "i32")
        return best, best_index

    def row_taps(self, x: str, start: str) -> list[str]:
        """The elements of windows in one of their rows."""
        found: list[str] = []
        for tap in range(self.kernel[1]):
            index = self.add(start, str(tap * self.dilation_w))
            if self.stride_w == 1 or self.lanes == 1:
                found.append(self.load(self.gep(x, index), self.value_type()))
            elif self.stride_w > 2:
                strided = [self.add(index, str(n * self.stride_w)) for n in range(self.lanes)]
                found.append(self.gather([self.gep(x, each) for each in strided]))
            elif tap == 0:
                found += self.deinterleave(x, index)[: 1 if self.dilation_w > 1 else self.kernel[1]]
            elif tap == len(found):
                # The odd elements from one element before, which is in the window, too.
                found.append(self.deinterleave(x, self.sub(index, "1"))[1])
        return found

    # -- flat indices, for which 32 bits are enough ----------------------------------------------

    def constant(self, text: str, element: str) -> str:
        each = ", ".join([f"{element} {text}"] * self.lanes)
        return text if self.lanes == 1 else f"<{each}>"

    def splat_i32(self, number: str) -> str:
        return self.splat(self.e.value(f"trunc i64 {number} to i32"), "i32")

    def window_columns(self, first: str) -> str:
        """The first column of the window of each lane: a stride apart."""
        if self.lanes == 1:
            return self.splat_i32(first)
        each = ", ".join(f"i32 {lane * self.stride_w}" for lane in range(self.lanes))
        return self.add_i32(self.splat_i32(first), f"<{each}>")

    def add_i32(self, a: str, b: str) -> str:
        return self.e.value(f"add {self.value_type(element='i32')} {a}, {b}")

    def max_i32(self, a: str, b: str) -> str:
        i32, truth = (self.value_type(element=each) for each in ("i32", "i1"))
        greater = self.e.value(f"icmp sgt {i32} {a}, {b}")
        return self.e.value(f"select {truth} {greater}, {i32} {a}, {i32} {b}")
