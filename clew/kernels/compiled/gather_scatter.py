"""Gather and scatter, compiled.

Arrays are (outer, length, inner), row by row. A piece of work is a block of inner positions of one
outer position: what it writes is its own, and the order of additions is that of the index.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import TYPES
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import Lines
from clew.kernels.codegen.loops import finish
from clew.kernels.runtime import jit

Array = np.ndarray
FIELDS = ("*target", "*index", "*values", "length", "count", "inner", "width", "blocks")
# With fewer outer positions than this there are several blocks of inner ones, to share the work.
_FEW = 8
_NARROWEST, _WIDEST = 16, 512
_ELEMENTS_PER_PIECE = 16384


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
    key = f"placing {kind} {llvm} {is_last}"
    make = functools.partial(module, kind, llvm, is_last)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return signature(jit.machine().function(key, make, "place"))


def module(kind: str, llvm: str, is_last: bool) -> str:
    """The LLVM module of one of the kernels; `is_last` says that there are no inner positions."""
    e = Emitter()
    _Placing(e, llvm).emit(kind, is_last)
    finish(e, "place")
    return e.text()


class _Placing(Lines):
    """`body(context, begin, end)` for some blocks of inner positions."""

    def emit(self, kind: str, is_last: bool) -> None:
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
            self.f = self.context(*FIELDS)
            with self.loop("%begin", "%end") as piece:
                if is_last:
                    self.row(kind, piece)
                else:
                    self.block(kind, piece)

    def row(self, kind: str, outer: str) -> None:
        """Elements side by side, each with a place in a row of the target."""
        f = self.f
        base = self.at(f["target"], self.mul(outer, f["length"]))
        first = self.mul(outer, f["count"]) if kind != "add_rows" else "0"
        values = self.at(f["values"], self.mul(outer, f["count"]))
        whole = self.mul(self.quotient(f["count"], "4"), "4")
        for begin, end, together in (("0", whole, 4), (whole, f["count"], 1)):
            with self.loop(begin, end, by=together) as i:
                for number in [self.add(i, str(n)) for n in range(together)]:
                    place = self.integer(f["index"], self.add(first, number))
                    self.element(kind, self.at(base, place), self.at(values, number))

    def block(self, kind: str, piece: str) -> None:
        """Some inner positions of all rows of values."""
        f = self.f
        outer = self.quotient(piece, f["blocks"])
        first = self.mul(self.remainder(piece, f["blocks"]), f["width"])
        last = self.least(self.add(first, f["width"]), f["inner"])
        base = self.at(f["target"], self.mul(outer, f["length"], f["inner"]))
        with self.loop("0", f["count"]) as entry:
            row = self.mul(self.add(self.mul(outer, f["count"]), entry), f["inner"])
            values = self.at(f["values"], row)
            if kind == "add_rows":
                place = self.mul(self.integer(f["index"], entry), f["inner"])
                self.add_line(values, self.at(base, place), first, last, "1")
            else:
                with self.loop(first, last) as i:
                    place = self.mul(self.integer(f["index"], self.add(row, i)), f["inner"])
                    self.element(kind, self.at(base, self.add(place, i)), self.at(values, i))

    def element(self, kind: str, target: str, own: str) -> None:
        """One element, between its place in the target and its own in the values."""
        if kind == "take":
            self.store(self.load(target), own)
        elif kind == "put":
            self.store(self.load(own), target)
        else:
            total = self.e.value(f"fadd {self.llvm} {self.load(target)}, {self.load(own)}")
            self.store(total, target)
