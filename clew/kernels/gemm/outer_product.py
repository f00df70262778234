"""Large batches of outer products, with non-temporal stores.

Such a result is written once and read later. Ordinary stores would first load the cache lines that
they overwrite, and evict what is still needed.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.contexts import TYPES
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.loops import GRAIN, end_module
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import CACHE_LINE
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray

# Results of at least so many bytes are not expected to stay in a cache.
LARGE = 4 << 20


def are_large(columns: Array, rows: Array) -> bool:
    """Whether the products of (batch, m, 1) and (batch, 1, n) are for this kernel."""
    count = columns.size * rows.shape[2]
    long_rows = rows.shape[2] * rows.itemsize >= 4 * CACHE_LINE
    return long_rows and columns.dtype in TYPES and count * columns.itemsize >= LARGE


def outer_products(columns: Array, rows: Array) -> Array:
    """The products of (batch, m, 1) and (batch, 1, n), of one dtype."""
    columns, rows = np.ascontiguousarray(columns), np.ascontiguousarray(rows)
    batch, count, _ = columns.shape
    length = rows.shape[2]
    out = np.empty((batch, count, length), columns.dtype)
    addresses = [address_of(each) for each in (columns, rows, out)]
    context = np.array([*addresses, count, length], np.int64)
    function = _function(TYPES[out.dtype])
    function(address_of(context), batch * count, max(GRAIN // length, 1))
    return out


@functools.cache
def _function(llvm: str) -> Any:
    address = jit.machine().function(f"outer {llvm}", lambda: module(llvm), "outer")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)


def module(llvm: str) -> str:
    """The LLVM module for one type of elements."""
    e = Emitter()
    _Outer(e, llvm).emit()
    end_module(e, "outer")
    e.lines.append("!1 = !{i32 1}")
    return e.text()


class _Outer(ImageRowBuilder):
    """`body(context, begin, end)` for some rows of results."""

    def emit(self) -> None:
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
            f = self.load_context("*columns", "*rows", "*out", "count", "length")
            with self.loop("%begin", "%end") as row:
                factor = self.load(self.gep(f["columns"], row))
                source = self.gep(f["rows"], self.mul(self.udiv(row, f["count"]), f["length"]))
                target = self.gep(f["out"], self.mul(row, f["length"]))
                self.scaled(source, factor, target, f["length"])
            # Non-temporal stores are weakly ordered: other threads may read the result after them.
            self.e.line("fence seq_cst")

    def scaled(self, source: str, factor: str, target: str, length: str) -> None:
        """target[:] = source * factor: up to the first cache line, whole lines, and the rest."""
        address = self.e.value(f"ptrtoint ptr {target} to i64")
        unaligned = self.urem(self.sub("0", address), str(CACHE_LINE))
        first = self.min(self.udiv(unaligned, str(self.itemsize)), length)
        lanes = CACHE_LINE // self.itemsize
        whole = self.mul(self.udiv(self.sub(length, first), str(lanes)), str(lanes))
        last = self.add(first, whole)
        for self.lanes, begin, end in ((1, "0", first), (lanes, first, last), (1, last, length)):
            factors = self.splat(factor)
            with self.loop(begin, end, by=self.lanes) as i:
                part = self.load(self.gep(source, i), self.value_type())
                product = self.e.value(f"fmul {self.value_type()} {part}, {factors}")
                place = self.gep(target, i)
                how = (
                    f"align {self.itemsize}"
                    if self.lanes == 1
                    else f"align {CACHE_LINE}, !nontemporal !1"
                )
                self.e.line(f"store {self.value_type()} {product}, ptr {place}, {how}")
