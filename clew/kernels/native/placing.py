"""Elements read from and written to places that an index names, compiled.

Arrays are (outer, length, inner), row by row. A piece of work is a block of inner positions of one
outer position: what it writes is its own, and the order of additions is that of the index.
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
TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
FIELDS = ("target", "index", "values", "length", "count", "inner", "width", "blocks")
_POINTERS = ("target", "index", "values")
# With fewer outer positions than this there are several blocks of inner ones, to share the work.
_FEW = 8
_NARROWEST, _WIDEST = 16, 512
_ELEMENTS_PER_PIECE = 16384

_GROUP = ", !llvm.access.group !0"


def take(source: Array, index: Array) -> Array:
    """out[o, m, i] = source[o, index[o, m, i], i]."""
    out = np.empty(index.shape, source.dtype)
    _run("take", source, index, out)
    return out


def put(target: Array, index: Array, values: Array) -> None:
    """target[o, index[o, m, i], i] = values[o, m, i]; of several for one place, the last stays."""
    _run("put", target, index, values)


def add(target: Array, index: Array, values: Array) -> None:
    """target[o, index[o, m, i], i] += values[o, m, i]."""
    _run("add", target, index, values)


def add_rows(target: Array, index: Array, values: Array) -> None:
    """target[o, index[m], i] += values[o, m, i]."""
    _run("add_rows", target, index, values)


def _run(kind: str, target: Array, index: Array, values: Array) -> None:
    outer, length, inner = target.shape
    count = values.shape[1]
    width = inner
    if outer < _FEW:
        width = min(max(inner // 2, _NARROWEST), _WIDEST, inner)
    blocks = -(-inner // width) if inner else 0
    addresses = [each.ctypes.data for each in (target, index, values)]
    context = np.array([*addresses, length, count, inner, width, blocks], np.int64)
    grain = max(_ELEMENTS_PER_PIECE // max(count * width, 1), 1)
    _function(kind, TYPES[target.dtype], inner == 1)(context.ctypes.data, outer * blocks, grain)


@functools.cache
def _function(kind: str, llvm: str, is_last: bool) -> Any:
    machine = jit.machine()
    text = module(kind, llvm, is_last)
    code = machine.compiled(text, lambda: text)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(machine.load(code, "place")[0])


def module(kind: str, llvm: str, is_last: bool) -> str:
    """The LLVM module of one of the kernels; `is_last` says that there are no inner positions."""
    e = Emitter()
    e.declare("void @clew_run(ptr, ptr, i64, i64)")
    e.declare("i64 @llvm.smin.i64(i64, i64)")
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
    f = {
        name: context_word(e, place, "ptr" if name in _POINTERS else "i64")
        for place, name in enumerate(FIELDS)
    }
    if is_last:
        f |= {"inner": "1", "width": "1", "blocks": "1"}
    piece = Loop(e, "%begin", "%end")
    outer = e.value(f"sdiv i64 {piece.i}, {f['blocks']}")
    block = e.value(f"srem i64 {piece.i}, {f['blocks']}")
    first = e.value(f"mul i64 {block}, {f['width']}")
    stop = e.value(f"add i64 {first}, {f['width']}")
    last = e.value(f"call i64 @llvm.smin.i64(i64 {stop}, i64 {f['inner']})")
    base = e.value(f"mul i64 {e.value(f'mul i64 {outer}, ' + f['length'])}, {f['inner']}")
    entry = Loop(e, "0", f["count"])
    number = e.value(f"add i64 {e.value(f'mul i64 {outer}, ' + f['count'])}, {entry.i}")
    row = e.value(f"mul i64 {number}, {f['inner']}")
    if kind == "add_rows":
        place = e.value(f"load i64, ptr {_at(e, 'i64', f['index'], entry.i)}")
        offset = e.value(f"add i64 {base}, {e.value(f'mul i64 {place}, ' + f['inner'])}")
        inside = Loop(e, first, last, parallel=True)
        _move(e, kind, llvm, f, e.value(f"add i64 {offset}, {inside.i}"), row, inside.i)
    else:
        inside = Loop(e, first, last)
        here = _at(e, "i64", f["index"], e.value(f"add i64 {row}, {inside.i}"))
        place = e.value(f"mul i64 {e.value(f'load i64, ptr {here}')}, {f['inner']}")
        offset = e.value(f"add i64 {base}, {place}")
        _move(e, kind, llvm, f, e.value(f"add i64 {offset}, {inside.i}"), row, inside.i)
    inside.close()
    entry.close()
    piece.close()
    e.line("ret void")
    e.lines.append("}")
    finish(e, "place")
    return e.text()


def _at(e: Emitter, llvm: str, base: str, index: str) -> str:
    return e.value(f"getelementptr inbounds {llvm}, ptr {base}, i64 {index}")


def _move(
    e: Emitter, kind: str, llvm: str, f: dict[str, str], place: str, row: str, i: str
) -> None:
    """One element, between its place in the target and its own in the values."""
    group = _GROUP if kind == "add_rows" else ""
    target = _at(e, llvm, f["target"], place)
    own = _at(e, llvm, f["values"], e.value(f"add i64 {row}, {i}"))
    if kind == "take":
        e.line(f"store {llvm} {e.value(f'load {llvm}, ptr {target}')}, ptr {own}")
        return
    value = e.value(f"load {llvm}, ptr {own}{group}")
    if kind != "put":
        have = e.value(f"load {llvm}, ptr {target}{group}")
        value = e.value(f"fadd {llvm} {have}, {value}")
    e.line(f"store {llvm} {value}, ptr {target}{group}")
