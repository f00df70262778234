"""Max pooling over images, and its gradient, compiled. A task is some channels of images."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder, Range
from clew.kernels.codegen.loops import end_module
from clew.kernels.pool import small_max_pool

Array = np.ndarray
FIELDS = (
    "*x", "*y", "*index", "height", "width", "rows", "columns", "kernel_h", "kernel_w",
    "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w",
)  # fmt: skip
# The windows of a task, about.
_WINDOWS_PER_TASK = 8192

Pair = tuple[int, ...]


def max_pool(
    x: Array, counts: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> tuple[Array, Array]:
    """The maximum of each window and its flat index: the first of equal values, the last NaN."""
    x = np.ascontiguousarray(x)
    shape = (*x.shape[:2], *counts)
    values, index = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    if small_max_pool.are_small(kernel, padding, dilation):
        geometry = (kernel, stride, padding, dilation)
        small_max_pool.max_pool(x, values, index, geometry, grain(shape))
    else:
        numbers = [*x.shape[2:], *counts, *kernel, *stride, *padding, *dilation]
        _run("max", x, values, index, numbers)
    return values, index


def scatter_add(g: Array, index: Array, spatial: Pair) -> Array:
    """Zeros with g added at the flat indices of each channel."""
    out = np.empty((*g.shape[:2], *spatial), g.dtype)
    geometry = [*spatial, *g.shape[2:], *[1] * 8]
    _run("scatter_add", out, np.ascontiguousarray(g), np.ascontiguousarray(index), geometry)
    return out


def _run(kind: str, x: Array, y: Array, index: Array, geometry: list[int]) -> None:
    calling(kind, x.dtype, y.shape, geometry)(x, y, index)


def calling(kind: str, dtype: np.dtype, shape: Pair, geometry: list[int]) -> ContextCall:
    """The call ("max" or "scatter_add") on images, results of a shape, and indices."""
    function = _function(kind, TYPES[dtype])
    return ContextCall(function, tuple(geometry), (shape[0] * shape[1], grain(shape)))


def grain(shape: Pair) -> int:
    """How many channels make a task."""
    return max(_WINDOWS_PER_TASK // max(shape[2] * shape[3], 1), 1)


@functools.cache
def _function(kind: str, llvm: str) -> Any:
    return compiled(f"pooling {kind} {llvm}", functools.partial(module, kind, llvm), "pool")


def module(kind: str, llvm: str) -> str:
    """The LLVM module of one of the two kernels."""
    e = Emitter()
    _Pooling(e, llvm).emit(kind)
    end_module(e, "pool")
    return e.text()


class _Pooling(ImageRowBuilder):
    """`body(context, begin, end)` for some channels."""

    def emit(self, kind: str) -> None:
        with self.function(BODY):
            self.f = f = self.load_context(*FIELDS)
            size, count = self.mul(f["height"], f["width"]), self.mul(f["rows"], f["columns"])
            with self.loop("%begin", "%end") as channel:
                x = self.gep(f["x"], self.mul(channel, size))
                first = self.mul(channel, count)
                y, index = self.gep(f["y"], first), self.gep_i64(f["index"], first)
                if kind == "max":
                    self.maxima(x, y, index)
                else:
                    # Each task clears its own part: it writes to it anyway.
                    self.fill_zeros(x, size)
                    self.scatter_add(x, y, index, count)

    def scatter_add(self, x: str, y: str, index: str, count: str) -> None:
        """x[index[i]] += y[i]."""
        with self.loop("0", count) as window:
            target = self.gep(x, self.load_i64(index, window))
            self.add_to(target, self.load(self.gep(y, window)))

    def maxima(self, x: str, y: str, index: str) -> None:
        f = self.f
        with self.loop("0", f["rows"]) as row, self.loop("0", f["columns"]) as column:
            window = self.inside("h", row), self.inside("w", column)
            best, best_index = self.window_max(x, f["width"], *window)
            output = self.add(self.mul(row, f["columns"]), column)
            self.store(best, self.gep(y, output))
            self.store_word(self.gep_i64(index, output), best_index)

    def inside(self, axis: str, number: str) -> Range:
        """The taps of a window that lie in the image, along one axis."""
        f, size = self.f, {"h": "height", "w": "width"}[axis]
        dilation = f[f"dilation_{axis}"]
        start = self.sub(self.mul(number, f[f"stride_{axis}"]), f[f"pad_{axis}"])
        end = self.add(start, self.mul(f[f"kernel_{axis}"], dilation))
        missing = self.ceil_div(self.max(self.sub("0", start), "0"), dilation)
        return self.add(start, self.mul(missing, dilation)), self.min(end, f[size]), dilation
