"""Max pooling with small windows, specialized for each window size.

With the window's size known, its elements are compared one after the other for many windows
together, without a branch. Where windows reach over the edge, they are taken from a copy with
-inf around it, which is never better than anything inside.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import Lines
from clew.kernels.codegen.loops import finish
from clew.kernels.runtime import jit

Array = np.ndarray
Pair = tuple[int, ...]

# Windows of more elements than this are looked through in a loop.
_LARGEST = 25
_FIELDS = (
    "*x", "*y", "*index", "height", "width", "rows", "columns", "stride_h", "dilation_h", "pad_h",
    "pad_w", "inner_width",
)  # fmt: skip


def are_small(kernel: Pair, padding: Pair, dilation: Pair) -> bool:
    """Whether windows are compiled for their size.

    With gaps, the first element inside is not the one at the edge, which is what is known here.
    """
    spread = any(padding) and max(dilation) > 1
    return kernel[0] * kernel[1] <= _LARGEST and not spread


def max_of_windows(
    x: Array, values: Array, index: Array, geometry: tuple[Pair, ...], grain: int, llvm: str
) -> None:
    """Fill `values` with each window's largest element and `index` with its place in the plane.

    `geometry` is kernel, stride, padding and dilation.
    """
    kernel, stride, padding, dilation = geometry
    counts, inner = values.shape[2:], x.shape[2:]
    x = _surrounded(x, counts, kernel, stride, padding, dilation)
    addresses = (each.ctypes.data for each in (x, values, index))
    numbers = (*x.shape[2:], *counts, stride[0], dilation[0], *padding, inner[1])
    context = np.array([*addresses, *numbers], np.int64)
    function = _function(llvm, kernel, stride[1], dilation[1])
    function(context.ctypes.data, x.shape[0] * x.shape[1], grain)


def _surrounded(
    x: Array, counts: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Array:
    """The planes with -inf around them, as far as windows reach."""
    reach = [
        (count - 1) * step + space * (size - 1) + 1
        for count, step, space, size in zip(counts, stride, dilation, kernel, strict=True)
    ]
    if not any(padding) and all(r <= n for r, n in zip(reach, x.shape[2:], strict=True)):
        return x
    shape = [max(r, n + p) for r, n, p in zip(reach, x.shape[2:], padding, strict=True)]
    wide = np.full((*x.shape[:2], *shape), -np.inf, x.dtype)
    wide[:, :, padding[0] : padding[0] + x.shape[2], padding[1] : padding[1] + x.shape[3]] = x
    return wide


@functools.cache
def _function(llvm: str, kernel: Pair, stride_w: int, dilation_w: int) -> Any:
    key = f"windows {llvm} {kernel} {stride_w} {dilation_w}"
    make = functools.partial(module, llvm, kernel, stride_w, dilation_w)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(jit.machine().function(key, make, "windows"))


def module(llvm: str, kernel: Pair, stride_w: int, dilation_w: int) -> str:
    """The LLVM module for windows of one size."""
    e = Emitter()
    _Windows(e, llvm, kernel, stride_w, dilation_w).emit()
    finish(e, "windows")
    return e.text()


class _Windows(Lines):
    """Windows of one size, as many of a row at once as there are lanes."""

    def __init__(self, e: Emitter, llvm: str, kernel: Pair, stride_w: int, dilation_w: int) -> None:
        super().__init__(e, llvm)
        self.kernel, self.stride_w, self.dilation_w = kernel, stride_w, dilation_w
        self.f: dict[str, str] = {}

    def emit(self) -> None:
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
            self.f = f = self.context(*_FIELDS)
            size, windows = self.mul(f["height"], f["width"]), self.mul(f["rows"], f["columns"])
            with self.loop("%begin", "%end") as plane, self.loop("0", f["rows"]) as row:
                x = self.at(f["x"], self.mul(plane, size))
                done = self.add(self.mul(plane, windows), self.mul(row, f["columns"]))
                self.row(x, self.mul(row, f["stride_h"]), done)

    def row(self, x: str, top: str, done: str) -> None:
        f = self.f

        def turn(column: str) -> None:
            best, where = self.best(x, top, self.mul(column, str(self.stride_w)))
            place = self.add(done, column)
            self.store(best, self.at(f["y"], place), self.kind())
            index = self.integer_at(f["index"], place)
            wide = self.e.value(f"sext {self.integers('i32')} {where} to {self.integers('i64')}")
            self.e.line(f"store {self.integers('i64')} {wide}, ptr {index}, align 8")

        # With windows of one column, the last number of a vector may lie beyond the row.
        reads_more = self.stride_w == 2 and self.kernel[1] == 1
        self.in_lanes("0", f["columns"], turn, spare=int(reads_more))

    def best(self, x: str, top: str, left: str) -> tuple[str, str]:
        """The largest of each window and its place; of equal ones the first, the last NaN."""
        f = self.f
        inner_y = self.sub(top, f["pad_h"])
        best = self.constant("0xFFF0000000000000", self.llvm)
        row = self.spread(self.mul(self.most(inner_y, "0"), f["inner_width"]))
        column = self.steps(self.sub(left, f["pad_w"]))
        where = self.sums(row, self.not_below(column, self.constant("0", "i32")))
        line = self.add(self.mul(top, f["width"]), left)
        place = self.sums(self.spread(self.mul(inner_y, f["inner_width"])), column)
        for down in range(self.kernel[0]):
            if down:
                line = self.add(line, self.mul(f["dilation_h"], f["width"]))
                step = self.mul(f["dilation_h"], f["inner_width"])
                place = self.sums(place, self.spread(step))
            for across, value in enumerate(self.neighbours(x, line)):
                here = self.sums(place, self.constant(str(across * self.dilation_w), "i32"))
                best, where = self.better(value, best, here, where, "i32")
        return best, where

    def neighbours(self, x: str, line: str) -> list[str]:
        """The elements of windows in one of their rows."""
        found: list[str] = []
        for across in range(self.kernel[1]):
            place = self.add(line, str(across * self.dilation_w))
            if self.stride_w == 1 or self.lanes == 1:
                found.append(self.load(self.at(x, place), self.kind()))
            elif self.stride_w > 2:
                apart = [self.add(place, str(n * self.stride_w)) for n in range(self.lanes)]
                found.append(self.gathered([self.at(x, each) for each in apart]))
            elif across == 0:
                found += self.pairs(x, place)[: 1 if self.dilation_w > 1 else self.kernel[1]]
            elif across == len(found):
                # The second of pairs, the first of which lie in the window, too.
                found.append(self.pairs(x, self.sub(place, "1"))[1])
        return found

    # -- a number for each lane: places in a plane, which 32 bits are enough for -----------------

    def integers(self, element: str) -> str:
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def constant(self, text: str, element: str) -> str:
        each = ", ".join([f"{element} {text}"] * self.lanes)
        return text if self.lanes == 1 else f"<{each}>"

    def spread(self, number: str) -> str:
        small = self.e.value(f"trunc i64 {number} to i32")
        if self.lanes == 1:
            return small
        kind = self.integers("i32")
        one = self.e.value(f"insertelement {kind} poison, i32 {small}, i32 0")
        return self.shuffle(kind, one, "poison", [0] * self.lanes)

    def steps(self, first: str) -> str:
        """Numbers that are a stride apart."""
        if self.lanes == 1:
            return self.spread(first)
        each = ", ".join(f"i32 {lane * self.stride_w}" for lane in range(self.lanes))
        return self.sums(self.spread(first), f"<{each}>")

    def sums(self, a: str, b: str) -> str:
        return self.e.value(f"add {self.integers('i32')} {a}, {b}")

    def not_below(self, a: str, b: str) -> str:
        kind = self.integers("i32")
        greater = self.e.value(f"icmp sgt {kind} {a}, {b}")
        return self.e.value(f"select {self.integers('i1')} {greater}, {kind} {a}, {kind} {b}")
