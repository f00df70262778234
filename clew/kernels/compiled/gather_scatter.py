"""Gather and scatter, compiled.

Arrays are (outer, length, inner), contiguous. A task is a block of inner positions of one outer
position: no two tasks write to the same elements, and values come in the order of the index.
`take_rows` has tasks of some rows of its result.

Values are placed, or combined with what is there: added, multiplied, or the greater or smaller of
both (a NaN, if there is one). Halves are rounded after each step.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import ContextCall, compiled
from clew.kernels.codegen.emitter import MEMORY_TYPE, Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.ir import BF16, F16, F32, F64, I64
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.ufunc import DTYPE

Array = np.ndarray
FIELDS = ("*target", "*index", "*values", "*rows", "length", "count", "inner", "width", "blocks")
# With fewer outer positions than this, inner positions are cut into blocks, to have enough tasks.
_FEW_OUTER = 8
_MIN_WIDTH, _MAX_WIDTH, _MANY_BLOCKS = 32, 512, 8
_ELEMENTS_PER_TASK = 16384
# The scalar loop over elements is unrolled.
_UNROLL = 4
# The dtypes that there are kernels for. Halves are combined as floats.
KINDS = {DTYPE[kind]: kind for kind in (F32, F64, F16, BF16, I64)}
# How values are combined: what it is called for floats and for integers.
_ARITHMETIC = {"add": ("fadd", "add"), "multiply": ("fmul", "mul")}
_INTRINSICS = {"maximum": ("maximum", "smax"), "minimum": ("minimum", "smin")}


def gather(source: Array, index: Array) -> Array:
    """out[o, m, i] = source[o, index[o, m, i], i]."""
    out = np.empty(index.shape, source.dtype)
    _run("gather", source, index, out)
    return out


def scatter(target: Array, index: Array, values: Array) -> None:
    """target[o, index[o, m, i], i] = values[o, m, i]; where an index repeats, the last stays."""
    _run("scatter", target, index, values)


def scatter_combined(target: Array, index: Array, values: Array, how: str = "add") -> None:
    """target[o, index[o, m, i], i] += values[o, m, i], or the like."""
    _run(f"scatter {how}", target, index, values)


def rows_combined(target: Array, index: Array, values: Array, how: str = "add") -> None:
    """target[o, index[m], i] += values[o, m, i], or the like."""
    _run(f"index {how}", target, index, values)


def take_rows(table: Array, index: Array) -> Array:
    """out[m] = table[index[m]], for a matrix."""
    out = np.empty((index.size, table.shape[1]), table.dtype)
    taking_rows(table.dtype, len(table), table.shape[1], index.size)(table, index, out, index)
    return out


def taking_rows(dtype: np.dtype, rows: int, width: int, count: int) -> ContextCall:
    """The call of `take_rows`: table, index, out, index."""
    grain = max(_ELEMENTS_PER_TASK // max(width, 1), 1)
    function = _function("take_rows", KINDS[dtype], False)
    return ContextCall(function, (rows, count, width, width, 1), (count, grain))


def add_rows(target: Array, index: Array, values: Array, rows: Array) -> None:
    """target[0, index[m]] += values[0, rows[m]], of float32 or float64."""
    _run("add_rows", target, index, values, rows)


def _run(kind: str, target: Array, index: Array, values: Array, rows: Array | None = None) -> None:
    count = values.shape[1] if rows is None else rows.size
    call = combining(kind, target.dtype, target.shape, count, rows is not None)
    call(target, index, values, index if rows is None else rows)


def combining(
    kind: str, dtype: np.dtype, shape: tuple[int, ...], count: int, of_rows: bool = False
) -> ContextCall:
    """The call of one of these kernels: target, index, values, and rows or once more the index."""
    outer, length, inner = shape
    width = inner
    if outer < _FEW_OUTER:
        # Whole vectors, many blocks, but none of less work than a task should have.
        least = max(_ELEMENTS_PER_TASK // max(count, 1), inner // _MANY_BLOCKS, _MIN_WIDTH)
        width = min(-(-least // _MIN_WIDTH) * _MIN_WIDTH, _MAX_WIDTH, inner)
    blocks = -(-inner // width) if inner else 0
    grain = max(_ELEMENTS_PER_TASK // max(count * width, 1), 1)
    function = _function(kind, KINDS[dtype], inner == 1 and not of_rows)
    return ContextCall(function, (length, count, inner, width, blocks), (outer * blocks, grain))


@functools.cache
def _function(kind: str, dtype: str, is_last: bool) -> Any:
    make = functools.partial(module, kind, dtype, is_last)
    return compiled(f"gather_scatter {kind} {dtype} {is_last}", make, "gather_scatter")


def module(kind: str, dtype: str, is_last: bool) -> str:
    """The LLVM module of one of the kernels; with `is_last` the inner size is 1."""
    e = Emitter()
    _GatherScatter(e, dtype).emit(kind, is_last)
    end_module(e, "gather_scatter")
    return e.text()


class _GatherScatter(ImageRowBuilder):
    """`body(context, begin, end)` for some blocks of inner positions."""

    def __init__(self, e: Emitter, dtype: str) -> None:
        super().__init__(e, MEMORY_TYPE[dtype])
        self.dtype = dtype

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
            if kind == "add_rows" or kind.startswith("index"):
                offset = self.mul(self.load_i64(f["index"], entry), f["inner"])
                self.combine_row(kind, self.gep(base, offset), values, first, last)
            else:
                with self.loop(first, last) as i:
                    offset = self.mul(self.load_i64(f["index"], self.add(row, i)), f["inner"])
                    self.element(kind, self.gep(base, self.add(offset, i)), self.gep(values, i))

    def combine_row(self, kind: str, target: str, values: str, first: str, last: str) -> None:
        how = "add" if kind == "add_rows" else kind.split()[1]

        def combine(i: str) -> None:
            self.combine(how, self.gep(target, i), self.gep(values, i))

        self.vectorized(first, last, combine)

    def element(self, kind: str, target: str, value: str) -> None:
        """One element, from the addresses of the indexed and of the other one."""
        if kind == "gather":
            self.store(self.load(target), value)
        elif kind == "scatter":
            self.store(self.load(value), target)
        else:
            self.combine(kind.split()[1], target, value)

    def combine(self, how: str, target: str, value: str) -> None:
        """What is in the target and a value, as many as there are lanes."""
        e = self.e
        e.lanes = self.lanes if self.lanes > 1 else 0
        both = [e.load(self.dtype, address) for address in (target, value)]
        dtype = F32 if self.dtype in (F16, BF16) else self.dtype
        if how in _ARITHMETIC:
            result = e.arithmetic(_ARITHMETIC[how][dtype == I64], dtype, *both)
        else:
            result = e.call(_INTRINSICS[how][dtype == I64], dtype, both)
        e.store(self.dtype, result, target)
        e.lanes = 0
