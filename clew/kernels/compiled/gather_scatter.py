"""Gather and scatter, compiled.

Arrays are (outer, length, inner), contiguous. A task is a block of inner positions of one outer
position: no two tasks write to the same elements, and additions are in the order of the index.
`take_rows` has tasks of some rows of its result.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import TYPES, compiled, context_of
from clew.kernels.codegen.emitter import MEMORY_TYPE, Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.ir import BF16, F16
from clew.kernels.codegen.loops import end_module
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
FIELDS = ("*target", "*index", "*values", "*rows", "length", "count", "inner", "width", "blocks")
# With fewer outer positions than this, inner positions are cut into blocks, to have enough tasks.
_FEW_OUTER = 8
_MIN_WIDTH, _MAX_WIDTH, _MANY_BLOCKS = 32, 512, 8
_ELEMENTS_PER_TASK = 16384
# The scalar loop over elements is unrolled.
_UNROLL = 4
# Halves by their LLVM type in memory; they are added as floats.
_HALVES = {MEMORY_TYPE[half]: half for half in (F16, BF16)}
KINDS = ("gather", "scatter", "scatter_add", "index_add", "add_rows", "take_rows")


def gather(source: Array, index: Array) -> Array:
    """out[o, m, i] = source[o, index[o, m, i], i]."""
    out = np.empty(index.shape, source.dtype)
    _run("gather", source, index, out)
    return out


def scatter(target: Array, index: Array, values: Array) -> None:
    """target[o, index[o, m, i], i] = values[o, m, i]; where an index repeats, the last stays."""
    _run("scatter", target, index, values)


def scatter_add(target: Array, index: Array, values: Array) -> None:
    """target[o, index[o, m, i], i] += values[o, m, i]."""
    _run("scatter_add", target, index, values)


def add_halves(target: Array, index: Array, values: Array, how: str = "fadd") -> None:
    """target[o, index[m]] += values[o, m], rounded to float16 or bfloat16 after each addition.

    With `how` "fmul", they are multiplied.
    """
    outer, length = target.shape
    context = context_of((target, index, values, index), (length, index.size, 1, 1, 1))
    half = MEMORY_TYPE[F16 if target.dtype == np.float16 else BF16]
    grain = max(_ELEMENTS_PER_TASK // max(index.size, 1), 1)
    kind = "index_add" if how == "fadd" else "index_multiply"
    _function(kind, half, True)(address_of(context), outer, grain)


def index_add(target: Array, index: Array, values: Array) -> None:
    """target[o, index[m], i] += values[o, m, i]."""
    _run("index_add", target, index, values)


def take_rows(table: Array, index: Array) -> Array:
    """out[m] = table[index[m]], for a matrix."""
    out = np.empty((index.size, table.shape[1]), table.dtype)
    sizes = len(table), index.size, table.shape[1], table.shape[1], 1
    context = context_of((table, index, out, index), sizes)
    grain = max(_ELEMENTS_PER_TASK // max(table.shape[1], 1), 1)
    _function("take_rows", TYPES[table.dtype], False)(address_of(context), index.size, grain)
    return out


def add_rows(target: Array, index: Array, values: Array, rows: Array) -> None:
    """target[0, index[m]] += values[0, rows[m]]."""
    _run("add_rows", target, index, values, rows)


def _run(kind: str, target: Array, index: Array, values: Array, rows: Array | None = None) -> None:
    outer, length, inner = target.shape
    count = values.shape[1] if rows is None else rows.size
    width = inner
    if outer < _FEW_OUTER:
        # Whole vectors, many blocks, but none of less work than a task should have.
        least = max(_ELEMENTS_PER_TASK // max(count, 1), inner // _MANY_BLOCKS, _MIN_WIDTH)
        width = min(-(-least // _MIN_WIDTH) * _MIN_WIDTH, _MAX_WIDTH, inner)
    blocks = -(-inner // width) if inner else 0
    arrays = target, index, values, index if rows is None else rows
    context = context_of(arrays, (length, count, inner, width, blocks))
    grain = max(_ELEMENTS_PER_TASK // max(count * width, 1), 1)
    function = _function(kind, TYPES[target.dtype], inner == 1 and rows is None)
    function(address_of(context), outer * blocks, grain)


@functools.cache
def _function(kind: str, llvm: str, is_last: bool) -> Any:
    make = functools.partial(module, kind, llvm, is_last)
    return compiled(f"gather_scatter {kind} {llvm} {is_last}", make, "gather_scatter")


def module(kind: str, llvm: str, is_last: bool) -> str:
    """The LLVM module of one of the kernels; with `is_last` the inner size is 1."""
    e = Emitter()
    _GatherScatter(e, llvm).emit(kind, is_last)
    end_module(e, "gather_scatter")
    return e.text()


class _GatherScatter(ImageRowBuilder):
    """`body(context, begin, end)` for some blocks of inner positions."""

    def emit(self, kind: str, is_last: bool) -> None:
        with self.function(BODY):
            self.f = self.load_context(*FIELDS)
            with self.loop("%begin", "%end") as task:
                if kind == "take_rows":
                    self.take(task)
                elif is_last:
                    self.row(kind, task)
                else:
                    self.block(kind, task)

    def row(self, kind: str, outer: str) -> None:
        """All elements of one outer position, where the inner size is 1."""
        f = self.f
        base = self.gep(f["target"], self.mul(outer, f["length"]))
        first = "0" if kind.startswith("index") else self.mul(outer, f["count"])
        values = self.gep(f["values"], self.mul(outer, f["count"]))
        middle = self.round_down(f["count"], str(_UNROLL))
        for begin, end, unroll in (("0", middle, _UNROLL), (middle, f["count"], 1)):
            with self.loop(begin, end, by=unroll) as i:
                for number in [self.add(i, str(n)) for n in range(unroll)]:
                    index = self.load_i64(f["index"], self.add(first, number))
                    self.element(kind, self.gep(base, index), self.gep(values, number))

    def take(self, entry: str) -> None:
        """One row of the result."""
        f = self.f
        row = self.gep(f["target"], self.mul(self.load_i64(f["index"], entry), f["inner"]))
        place = self.gep(f["values"], self.mul(entry, f["inner"]))
        size = self.mul(f["inner"], str(self.itemsize))
        self.e.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        self.e.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr {row}, i64 {size}, i1 false)"
        )

    def block(self, kind: str, task: str) -> None:
        """A block of inner positions of all rows of values."""
        f = self.f
        outer = self.udiv(task, f["blocks"])
        first = self.mul(self.urem(task, f["blocks"]), f["width"])
        last = self.min(self.add(first, f["width"]), f["inner"])
        base = self.gep(f["target"], self.mul(outer, f["length"], f["inner"]))
        with self.loop("0", f["count"]) as entry:
            number = self.add(self.mul(outer, f["count"]), entry)
            if kind == "add_rows":
                number = self.load_i64(f["rows"], entry)
            row = self.mul(number, f["inner"])
            values = self.gep(f["values"], row)
            if kind in ("index_add", "add_rows"):
                offset = self.mul(self.load_i64(f["index"], entry), f["inner"])
                self.add_strided_row(values, self.gep(base, offset), first, last, "1")
            else:
                with self.loop(first, last) as i:
                    offset = self.mul(self.load_i64(f["index"], self.add(row, i)), f["inner"])
                    self.element(kind, self.gep(base, self.add(offset, i)), self.gep(values, i))

    def element(self, kind: str, target: str, value: str) -> None:
        """One element, from the addresses of the indexed and of the other one."""
        if kind == "gather":
            self.store(self.load(target), value)
        elif kind == "scatter":
            self.store(self.load(value), target)
        elif self.llvm in _HALVES:
            half = _HALVES[self.llvm]
            first, second = self.e.load(half, target), self.e.load(half, value)
            how = "fmul" if kind == "index_multiply" else "fadd"
            self.e.store(half, self.e.value(f"{how} float {first}, {second}"), target)
        else:
            total = self.e.value(f"fadd {self.llvm} {self.load(target)}, {self.load(value)}")
            self.store(total, target)
