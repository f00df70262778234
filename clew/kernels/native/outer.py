"""Large batches of outer products, stored past the cache.

Such a result is written once and read later by someone else. Ordinary stores would first read the
memory that they overwrite, and push out of the cache what is still needed.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from clew.kernels.native import jit
from clew.kernels.native.emitter import Emitter
from clew.kernels.native.loops import GRAIN, Loop, context_word, finish

Array = np.ndarray

TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
# Results of at least so many bytes are not expected to stay in a cache.
LARGE = 4 << 20
# Bytes that are stored at once: a line of the cache, at an address that is a multiple of it.
_LINE = 64


def are_large(columns: Array, rows: Array) -> bool:
    """Whether the products of (batch, m, 1) and (batch, 1, n) are for this kernel."""
    count = columns.size * rows.shape[2]
    long_rows = rows.shape[2] * rows.itemsize >= 4 * _LINE
    return long_rows and columns.dtype in TYPES and count * columns.itemsize >= LARGE


def outer_products(columns: Array, rows: Array) -> Array:
    """The products of (batch, m, 1) and (batch, 1, n), of one dtype."""
    columns, rows = np.ascontiguousarray(columns), np.ascontiguousarray(rows)
    batch, count, _ = columns.shape
    length = rows.shape[2]
    out = np.empty((batch, count, length), columns.dtype)
    addresses = [each.ctypes.data for each in (columns, rows, out)]
    context = np.array([*addresses, count, length], np.int64)
    function = _function(TYPES[out.dtype], out.itemsize)
    function(context.ctypes.data, batch * count, max(GRAIN // length, 1))
    return out


@functools.cache
def _function(llvm: str, itemsize: int) -> Any:
    machine = jit.machine()
    text = module(llvm, itemsize)
    code = machine.compiled(text, lambda: text)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(machine.load(code, "outer")[0])


def module(llvm: str, itemsize: int) -> str:
    """The LLVM module for one type of elements."""
    e = Emitter()
    e.declare("void @clew_run(ptr, ptr, i64, i64)")
    e.declare("i64 @llvm.umin.i64(i64, i64)")
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
    columns, rows, out = (context_word(e, place, "ptr") for place in range(3))
    count, length = (context_word(e, place, "i64") for place in (3, 4))
    row = Loop(e, "%begin", "%end")
    factor = e.value(f"load {llvm}, ptr {_at(e, llvm, columns, row.i)}")
    example = e.value(f"udiv i64 {row.i}, {count}")
    source = _at(e, llvm, rows, e.value(f"mul i64 {example}, {length}"))
    target = _at(e, llvm, out, e.value(f"mul i64 {row.i}, {length}"))
    _scaled_row(e, llvm, itemsize, source, factor, target, length)
    row.close()
    # Others may read the result only after these stores.
    e.line("fence seq_cst")
    e.line("ret void")
    e.lines.append("}")
    finish(e, "outer")
    e.lines.append("!1 = !{i32 1}")
    return e.text()


def _scaled_row(
    e: Emitter, llvm: str, itemsize: int, source: str, factor: str, target: str, length: str
) -> None:
    """target[:] = source * factor: up to the first line, whole lines, and what is left."""
    lanes = _LINE // itemsize
    address = e.value(f"ptrtoint ptr {target} to i64")
    ahead = e.value(f"and i64 {e.value(f'sub i64 0, {address}')}, {_LINE - 1}")
    first = e.value(f"udiv i64 {ahead}, {itemsize}")
    first = e.value(f"call i64 @llvm.umin.i64(i64 {first}, i64 {length})")
    rest = e.value(f"sub i64 {length}, {first}")
    whole = e.value(f"and i64 {rest}, {-lanes}")
    last = e.value(f"add i64 {first}, {whole}")
    vector = f"<{lanes} x {llvm}>"
    single = e.value(f"insertelement {vector} poison, {llvm} {factor}, i32 0")
    factors = e.value(
        f"shufflevector {vector} {single}, {vector} poison, <{lanes} x i32> zeroinitializer"
    )
    _one_by_one(e, llvm, source, factor, target, ("0", first))
    lines = Loop(e, first, last, lanes)
    part = e.value(f"load {vector}, ptr {_at(e, llvm, source, lines.i)}, align {itemsize}")
    product = e.value(f"fmul {vector} {part}, {factors}")
    place = _at(e, llvm, target, lines.i)
    e.line(f"store {vector} {product}, ptr {place}, align {_LINE}, !nontemporal !1")
    lines.close()
    _one_by_one(e, llvm, source, factor, target, (last, length))


def _one_by_one(
    e: Emitter, llvm: str, source: str, factor: str, target: str, span: tuple[str, str]
) -> None:
    element = Loop(e, *span)
    value = e.value(f"load {llvm}, ptr {_at(e, llvm, source, element.i)}")
    product = e.value(f"fmul {llvm} {value}, {factor}")
    e.line(f"store {llvm} {product}, ptr {_at(e, llvm, target, element.i)}")
    element.close()


def _at(e: Emitter, llvm: str, base: str, index: str) -> str:
    return e.value(f"getelementptr inbounds {llvm}, ptr {base}, i64 {index}")
