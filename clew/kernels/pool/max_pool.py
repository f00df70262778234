"""Max pooling over images, and its adjoint, compiled. A piece of work is some planes."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import TYPES
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import Lines, Span
from clew.kernels.codegen.loops import finish
from clew.kernels.pool import small_max_pool
from clew.kernels.runtime import jit

Array = np.ndarray
FIELDS = (
    "*x", "*y", "*index", "height", "width", "rows", "columns", "kernel_h", "kernel_w",
    "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w",
)  # fmt: skip
# Planes are shared out in pieces of about so many windows.
_WINDOWS_PER_PIECE = 8192

Pair = tuple[int, ...]


def max_pool(
    x: Array, counts: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> tuple[Array, Array]:
    """The largest value of each window and where it is in its plane; the first, or the last NaN."""
    x = np.ascontiguousarray(x)
    shape = (*x.shape[:2], *counts)
    values, index = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    if small_max_pool.are_small(kernel, padding, dilation):
        geometry = (kernel, stride, padding, dilation)
        small_max_pool.max_of_windows(x, values, index, geometry, _grain(values), TYPES[x.dtype])
    else:
        numbers = [*x.shape[2:], *counts, *kernel, *stride, *padding, *dilation]
        _run("max", x, values, index, numbers)
    return values, index


def add_at(g: Array, index: Array, spatial: Pair) -> Array:
    """Planes of zeros with g added at the places that `index` says."""
    out = np.zeros((*g.shape[:2], *spatial), g.dtype)
    geometry = [*spatial, *g.shape[2:], *[1] * 8]
    _run("add", out, np.ascontiguousarray(g), np.ascontiguousarray(index), geometry)
    return out


def _run(kind: str, x: Array, y: Array, index: Array, geometry: list[int]) -> None:
    context = np.array([*(each.ctypes.data for each in (x, y, index)), *geometry], np.int64)
    _function(kind, TYPES[x.dtype])(context.ctypes.data, x.shape[0] * x.shape[1], _grain(y))


def _grain(y: Array) -> int:
    """How many planes of windows are a piece of work."""
    return max(_WINDOWS_PER_PIECE // max(y.shape[2] * y.shape[3], 1), 1)


@functools.cache
def _function(kind: str, llvm: str) -> Any:
    make = functools.partial(module, kind, llvm)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(jit.machine().function(f"pooling {kind} {llvm}", make, "pool"))


def module(kind: str, llvm: str) -> str:
    """The LLVM module of one of the two kernels."""
    e = Emitter()
    _Pooling(e, llvm).emit(kind)
    finish(e, "pool")
    return e.text()


class _Pooling(Lines):
    """`body(context, begin, end)` for some planes."""

    def emit(self, kind: str) -> None:
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
            self.f = f = self.context(*FIELDS)
            size, count = self.mul(f["height"], f["width"]), self.mul(f["rows"], f["columns"])
            with self.loop("%begin", "%end") as plane:
                x = self.at(f["x"], self.mul(plane, size))
                first = self.mul(plane, count)
                y, index = self.at(f["y"], first), self.integer_at(f["index"], first)
                if kind == "max":
                    self.windows(x, y, index)
                else:
                    self.add_up(x, y, index, count)

    def add_up(self, x: str, y: str, index: str, count: str) -> None:
        """x[index[i]] += y[i]."""
        with self.loop("0", count) as window:
            target = self.at(x, self.integer(index, window))
            more = self.load(self.at(y, window))
            self.store(self.e.value(f"fadd {self.llvm} {self.load(target)}, {more}"), target)

    def windows(self, x: str, y: str, index: str) -> None:
        f = self.f
        with self.loop("0", f["rows"]) as row, self.loop("0", f["columns"]) as column:
            window = self.inside("h", row), self.inside("w", column)
            best, where = self.largest(x, f["width"], *window)
            place = self.add(self.mul(row, f["columns"]), column)
            self.store(best, self.at(y, place))
            self.put(self.integer_at(index, place), where)

    def inside(self, axis: str, number: str) -> Span:
        """The elements of a window that lie in the image, along one of its axes."""
        f, size = self.f, {"h": "height", "w": "width"}[axis]
        dilation = f[f"dilation_{axis}"]
        start = self.sub(self.mul(number, f[f"stride_{axis}"]), f[f"pad_{axis}"])
        end = self.add(start, self.mul(f[f"kernel_{axis}"], dilation))
        missing = self.pieces(self.most(self.sub("0", start), "0"), dilation)
        return self.add(start, self.mul(missing, dilation)), self.least(end, f[size]), dilation
