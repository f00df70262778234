"""Max pooling with small windows, compiled for each size of window: neighbours at once.

With the window's size known, its elements are compared one after the other for many windows
together, without a branch. Where windows reach over the edge, they are taken from a copy with
-inf around it, which is never better than anything inside.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from clew.kernels.native import jit
from clew.kernels.native.emitter import Emitter
from clew.kernels.native.loops import Loop, context_word, finish

Array = np.ndarray
Pair = tuple[int, ...]

# Windows of more elements than this are looked through in a loop.
_LARGEST = 25
_FIELDS = (
    "x", "y", "index", "height", "width", "rows", "columns", "stride_h", "dilation_h", "pad_h",
    "pad_w", "inner_width",
)  # fmt: skip
_POINTERS = ("x", "y", "index")
_GROUP = ", !llvm.access.group !0"


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
    machine = jit.machine()
    text = module(llvm, kernel, stride_w, dilation_w)
    code = machine.compiled(text, lambda: text)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(machine.load(code, "windows")[0])


def module(llvm: str, kernel: Pair, stride_w: int, dilation_w: int) -> str:
    """The LLVM module for windows of one size."""
    e = Emitter()
    e.declare("void @clew_run(ptr, ptr, i64, i64)")
    e.declare("i64 @llvm.smax.i64(i64, i64)")
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
    f = {
        name: context_word(e, place, "ptr" if name in _POINTERS else "i64")
        for place, name in enumerate(_FIELDS)
    }
    plane = Loop(e, "%begin", "%end")
    size = _product(e, f["height"], f["width"])
    x = _at(e, llvm, f["x"], _product(e, plane.i, size))
    windows = _product(e, plane.i, _product(e, f["rows"], f["columns"]))
    row = Loop(e, "0", f["rows"])
    top = _product(e, row.i, f["stride_h"])
    done = _sum(e, windows, _product(e, row.i, f["columns"]))
    column = Loop(e, "0", f["columns"], parallel=True)
    left = _product(e, column.i, str(stride_w))
    best, where = _best(e, llvm, f, x, (top, left), (kernel, dilation_w))
    place = _sum(e, done, column.i)
    e.line(f"store {llvm} {best}, ptr {_at(e, llvm, f['y'], place)}{_GROUP}")
    e.line(f"store i64 {where}, ptr {_at(e, 'i64', f['index'], place)}{_GROUP}")
    for loop in (column, row, plane):
        loop.close()
    e.line("ret void")
    e.lines.append("}")
    finish(e, "windows")
    return e.text()


def _best(
    e: Emitter, llvm: str, f: dict[str, str], x: str, corner: tuple[str, str],
    window: tuple[Pair, int],
) -> tuple[str, str]:  # fmt: skip
    """The largest element of a window and its place; of equal ones the first, the last NaN."""
    (kernel_h, kernel_w), dilation_w = window
    inner_y = e.value(f"sub i64 {corner[0]}, {f['pad_h']}")
    inner_x = e.value(f"sub i64 {corner[1]}, {f['pad_w']}")
    first_y = e.value(f"call i64 @llvm.smax.i64(i64 {inner_y}, i64 0)")
    first_x = e.value(f"call i64 @llvm.smax.i64(i64 {inner_x}, i64 0)")
    best = "0xFFF0000000000000"
    where = _sum(e, _product(e, first_y, f["inner_width"]), first_x)
    line = _sum(e, _product(e, corner[0], f["width"]), corner[1])
    place = _sum(e, _product(e, inner_y, f["inner_width"]), inner_x)
    for down in range(kernel_h):
        if down:
            line = _sum(e, line, _product(e, f["dilation_h"], f["width"]))
            place = _sum(e, place, _product(e, f["dilation_h"], f["inner_width"]))
        for across in range(kernel_w):
            offset = str(across * dilation_w)
            element = _at(e, llvm, x, _sum(e, line, offset))
            value = e.value(f"load {llvm}, ptr {element}{_GROUP}")
            greater = e.value(f"fcmp ogt {llvm} {value}, {best}")
            nan = e.value(f"fcmp uno {llvm} {value}, {value}")
            better = e.value(f"or i1 {greater}, {nan}")
            here = _sum(e, place, offset)
            best = e.value(f"select i1 {better}, {llvm} {value}, {llvm} {best}")
            where = e.value(f"select i1 {better}, i64 {here}, i64 {where}")
    return best, where


def _at(e: Emitter, llvm: str, base: str, index: str) -> str:
    return e.value(f"getelementptr inbounds {llvm}, ptr {base}, i64 {index}")


def _product(e: Emitter, a: str, b: str) -> str:
    return e.value(f"mul i64 {a}, {b}")


def _sum(e: Emitter, a: str, b: str) -> str:
    return e.value(f"add i64 {a}, {b}")
