"""Max pooling over images, and its adjoint, compiled. A piece of work is some planes."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from clew.kernels.native import jit, windows
from clew.kernels.native.emitter import Emitter
from clew.kernels.native.loops import Loop, context_word, finish

Array = np.ndarray
TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
FIELDS = (
    "x", "y", "index", "height", "width", "rows", "columns", "kernel_h", "kernel_w",
    "stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w",
)  # fmt: skip
_POINTERS = ("x", "y", "index")
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
    if windows.are_small(kernel, padding, dilation):
        geometry = (kernel, stride, padding, dilation)
        windows.max_of_windows(x, values, index, geometry, _grain(values), TYPES[x.dtype])
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
    machine = jit.machine()
    text = module(kind, llvm)
    code = machine.compiled(text, lambda: text)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(machine.load(code, "pool")[0])


def module(kind: str, llvm: str) -> str:
    """The LLVM module of one of the two kernels."""
    e = Emitter()
    e.declare("void @clew_run(ptr, ptr, i64, i64)")
    e.declare("i64 @llvm.smax.i64(i64, i64)")
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
    f = {
        name: context_word(e, place, "ptr" if name in _POINTERS else "i64")
        for place, name in enumerate(FIELDS)
    }
    # In the first block, where they become registers.
    e.line("%where = alloca i64")
    e.line(f"%best = alloca {llvm}")
    size = e.value(f"mul i64 {f['height']}, {f['width']}")
    count = e.value(f"mul i64 {f['rows']}, {f['columns']}")
    plane = Loop(e, "%begin", "%end")
    x = _at(e, llvm, f["x"], e.value(f"mul i64 {plane.i}, {size}"))
    first = e.value(f"mul i64 {plane.i}, {count}")
    y, index = _at(e, llvm, f["y"], first), _at(e, "i64", f["index"], first)
    if kind == "max":
        _max_of_plane(e, llvm, f, x, y, index)
    else:
        window = Loop(e, "0", count)
        place = e.value(f"load i64, ptr {_at(e, 'i64', index, window.i)}")
        target = _at(e, llvm, x, place)
        have = e.value(f"load {llvm}, ptr {target}")
        more = e.value(f"load {llvm}, ptr {_at(e, llvm, y, window.i)}")
        e.line(f"store {llvm} {e.value(f'fadd {llvm} {have}, {more}')}, ptr {target}")
        window.close()
    plane.close()
    e.line("ret void")
    e.lines.append("}")
    finish(e, "pool")
    return e.text()


def _at(e: Emitter, llvm: str, base: str, index: str) -> str:
    return e.value(f"getelementptr inbounds {llvm}, ptr {base}, i64 {index}")


def _first_inside(e: Emitter, start: str, dilation: str) -> str:
    """The first element of a window that lies in the image: ceil(-start / dilation), or 0."""
    missing = e.value(f"sub i64 {dilation}, 1")
    missing = e.value(f"sub i64 {missing}, {start}")
    first = e.value(f"sdiv i64 {missing}, {dilation}")
    return e.value(f"call i64 @llvm.smax.i64(i64 {first}, i64 0)")


def _max_of_plane(e: Emitter, llvm: str, f: dict[str, str], x: str, y: str, index: str) -> None:
    row = Loop(e, "0", f["rows"])
    top = e.value(f"sub i64 {e.value(f'mul i64 {row.i}, ' + f['stride_h'])}, {f['pad_h']}")
    first_h = _first_inside(e, top, f["dilation_h"])
    column = Loop(e, "0", f["columns"])
    left = e.value(f"sub i64 {e.value(f'mul i64 {column.i}, ' + f['stride_w'])}, {f['pad_w']}")
    first_w = _first_inside(e, left, f["dilation_w"])
    best = _max_of_window(e, llvm, f, x, (top, left), (first_h, first_w))
    place = e.value(f"mul i64 {row.i}, {f['columns']}")
    place = e.value(f"add i64 {place}, {column.i}")
    value = e.value(f"load {llvm}, ptr {_at(e, llvm, x, best)}")
    e.line(f"store {llvm} {value}, ptr {_at(e, llvm, y, place)}")
    e.line(f"store i64 {best}, ptr {_at(e, 'i64', index, place)}")
    column.close()
    row.close()


def _max_of_window(
    e: Emitter,
    llvm: str,
    f: dict[str, str],
    x: str,
    corner: tuple[str, str],
    first: tuple[str, str],
) -> str:
    """Where the largest value of one window is, in the plane."""
    start_y = e.value(f"add i64 {corner[0]}, {e.value(f'mul i64 {first[0]}, ' + f['dilation_h'])}")
    start_x = e.value(f"add i64 {corner[1]}, {e.value(f'mul i64 {first[1]}, ' + f['dilation_w'])}")
    start = e.value(f"add i64 {e.value(f'mul i64 {start_y}, ' + f['width'])}, {start_x}")
    e.line(f"store i64 {start}, ptr %where")
    initial = e.value(f"load {llvm}, ptr {_at(e, llvm, x, start)}")
    e.line(f"store {llvm} {initial}, ptr %best")
    down = Loop(e, first[0], f["kernel_h"])
    at_y = e.value(f"add i64 {corner[0]}, {e.value(f'mul i64 {down.i}, ' + f['dilation_h'])}")
    in_y = e.value(f"icmp slt i64 {at_y}, {f['height']}")
    across = Loop(e, first[1], f["kernel_w"])
    at_x = e.value(f"add i64 {corner[1]}, {e.value(f'mul i64 {across.i}, ' + f['dilation_w'])}")
    in_x = e.value(f"icmp slt i64 {at_x}, {f['width']}")
    inside = e.value(f"and i1 {in_y}, {in_x}")
    place = e.value(f"add i64 {e.value(f'mul i64 {at_y}, ' + f['width'])}, {at_x}")
    # Outside, look at the start again: it is never better than itself.
    place = e.value(f"select i1 {inside}, i64 {place}, i64 {start}")
    value = e.value(f"load {llvm}, ptr {_at(e, llvm, x, place)}")
    best = e.value(f"load {llvm}, ptr %best")
    greater = e.value(f"fcmp ogt {llvm} {value}, {best}")
    nan = e.value(f"fcmp uno {llvm} {value}, {value}")
    better = e.value(f"and i1 {e.value(f'or i1 {greater}, {nan}')}, {inside}")
    chosen = e.value(f"select i1 {better}, {llvm} {value}, {llvm} {best}")
    e.line(f"store {llvm} {chosen}, ptr %best")
    have = e.value("load i64, ptr %where")
    e.line(f"store i64 {e.value(f'select i1 {better}, i64 {place}, i64 {have}')}, ptr %where")
    across.close()
    down.close()
    return e.value("load i64, ptr %where")
