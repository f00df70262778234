"""The steps of an LSTM layer, compiled: a product with the state, then the gates' formulas.

Columns of the hidden state are cut into blocks. A block needs the whole state of the step before,
and nothing of the other blocks of its own step: so each step is one job for the thread pool, and a
thread has the same block of weights in its cache step after step.

The formulas are those of elementwise kernels.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import TYPES, Code
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import Program
from clew.kernels.codegen.loops import Elements, finish
from clew.kernels.codegen.ufunc import Elementwise
from clew.kernels.gemm.inline_gemm import Matrix, call_multiply, provide_multiply
from clew.kernels.runtime import jit

Array = np.ndarray
# Columns of a block: those of the weights' panels.
BLOCK = 64
GATES = 4

# What a job is told. Arrays are row by row; the last words change from step to step.
FORWARD = (
    "*gates", "gate_next", "*panels", "*h0", "*c0", "*out", "*cells",
    "batch", "size", "steps", "first", "by", "row", "*h", "*c",
)  # fmt: skip
BACKWARD = (
    "*gates", "gate_next", "*panels", "*c0", "*cells", "*of_out", "*of_h", "*of_c", "*of_gates",
    "batch", "size", "steps", "first", "by", "row", "*before", "*later",
)  # fmt: skip


def run(kind: str, step: Elementwise, words: Sequence[Array | int | None]) -> None:
    """All steps of a layer; `words` are what FORWARD or BACKWARD say, but for the last three."""
    llvm = TYPES[next(each.dtype for each in words if isinstance(each, np.ndarray))]
    numbers = [each.ctypes.data if isinstance(each, np.ndarray) else each or 0 for each in words]
    context = np.array([*numbers, 0, 0, 0], np.int64)
    _function(kind, step, llvm)(context.ctypes.data)


@functools.cache
def _function(kind: str, step: Elementwise, llvm: str) -> Any:
    provide_multiply(llvm)
    program = step.program(tuple(TYPES.values()).index(llvm))
    key = f"recurrence {kind}\n{program}"
    address = jit.machine().function(key, lambda: module(kind, program, llvm), "walk")
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)


def module(kind: str, step: Program, llvm: str) -> str:
    """The LLVM module of forward or backward; `step` is the gates' formulas."""
    e = Emitter()
    e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
    layer = (_Forward if kind == "forward" else _Backward)(e, llvm, step)
    with layer.function("internal void @block(ptr %context, i64 %block)"):
        layer.f = layer.context(*layer.fields)
        layer.block()
    with (
        layer.function("internal void @body(ptr %context, i64 %begin, i64 %end)"),
        layer.loop("%begin", "%end") as block,
    ):
        e.line(f"call void @block(ptr %context, i64 {block})")
    with layer.function("void @walk(ptr %context)"):
        layer.f = layer.context(*layer.fields)
        layer.walk()
    finish(e)
    return e.text()


class _Layer(Code):
    """What forward and backward have in common."""

    fields: tuple[str, ...]

    def __init__(self, e: Emitter, llvm: str, step: Program) -> None:
        super().__init__(e, llvm)
        self.step = step
        self.f: dict[str, str] = {}

    def block(self) -> None:
        raise NotImplementedError

    def walk(self) -> None:
        raise NotImplementedError

    def word(self, array: str, index: int) -> str:
        return self.e.value(f"getelementptr i64, ptr {array}, i64 {index}")

    def set_word(self, name: str, value: str) -> None:
        """A word that changes from step to step."""
        kind = "ptr" if name[0] == "*" else "i64"
        self.put(self.word("%context", self.fields.index(name)), value, kind)

    def row_of(self, array: str, row: str, width: str) -> str:
        return self.at(array, self.mul(row, width))

    def place(self, array: str, row: str) -> str:
        """Where a row of a state has this block's columns."""
        start = self.row_of(array, row, self.f["size"])
        return self.at(start, self.mul("%block", str(BLOCK)))

    def gate(self, number: int, row: str) -> str:
        start = self.past(self.f["gates"], self.mul(str(number), self.f["gate_next"]))
        return self.place(start, self.add(self.f["row"], row))

    def panel(self, number: str, rows: str) -> Matrix:
        """A panel of weights of so many rows, with the distances of its rows and columns."""
        start = self.at(self.f["panels"], self.mul(number, rows, str(BLOCK)))
        return start, str(BLOCK * self.item), str(self.item)

    def multiply(self, a: Matrix, b: Matrix, c: Matrix, depth: str) -> None:
        """c = a b, for the rows of a batch and the columns of a block."""
        call_multiply(self.e, self.llvm, (a, b, c), (self.f["batch"], str(BLOCK), depth))

    def rows_of(self, width: str) -> str:
        """The distance of rows, in bytes."""
        return self.mul(width, str(self.item))

    def apply(self, places: Sequence[str]) -> None:
        """The formulas, for one row of the block."""
        Elements(self.e, self.step, list(places), frozenset()).emit("0", str(BLOCK))

    def run_blocks(self) -> None:
        blocks = self.quotient(self.f["size"], str(BLOCK))
        self.e.line(f"call void @clew_parallel_for(ptr @body, ptr %context, i64 {blocks}, i64 1)")


class _Forward(_Layer):
    """With formulas for nothing but the states, the cells' are written where they were."""

    fields = FORWARD

    @property
    def keeps(self) -> bool:
        return len(self.step.roots) > 2

    def block(self) -> None:
        f, width = self.f, str(BLOCK * self.item)
        size, area = f["size"], self.mul(f["batch"], str(BLOCK))
        products = self.buffer(self.mul(area, str(GATES)))
        state = f["h"], self.rows_of(size), str(self.item)
        for gate in range(GATES):
            column = self.add(self.mul(str(gate), self.quotient(size, str(BLOCK))), "%block")
            to = self.at(products, self.mul(area, str(gate))), width, str(self.item)
            self.multiply(state, self.panel(column, size), to, size)
        with self.loop("0", f["batch"]) as row:
            gates = [self.gate(gate, row) for gate in range(GATES)]
            recurrent = [
                self.at(products, self.add(self.mul(area, str(gate)), self.mul(row, str(BLOCK))))
                for gate in range(GATES)
            ]
            there = self.add(f["row"], row)
            before, out = self.place(f["c"], row), self.place(f["out"], there)
            kept = [*gates, self.place(f["cells"], there)] if self.keeps else [before]
            self.apply([*gates, *recurrent, before, *kept, out])
        self.release(products)

    def walk(self) -> None:
        f = self.f
        self.set_word("*h", f["h0"])
        self.set_word("*c", f["c0"])
        with self.loop("0", f["steps"]) as step:
            row = self.add(f["first"], self.mul(step, f["by"]))
            self.set_word("row", row)
            self.run_blocks()
            self.set_word("*h", self.row_of(f["out"], row, f["size"]))
            if self.keeps:
                self.set_word("*c", self.row_of(f["cells"], row, f["size"]))


class _Backward(_Layer):
    """A block's gradient of the state, from the step after; then the gates' gradients."""

    fields = BACKWARD

    def block(self) -> None:
        f = self.f
        whole = self.mul(f["size"], str(GATES))
        columns = self.at(f["of_h"], self.mul("%block", str(BLOCK)))
        with self.when(self.e.value(f"icmp ne ptr {f['later']}, null")):
            of_gates = f["later"], self.rows_of(whole), str(self.item)
            to = columns, self.rows_of(f["size"]), str(self.item)
            self.multiply(of_gates, self.panel("%block", whole), to, whole)
        is_step = self.compare("sge", f["row"], "0")
        with self.when(is_step), self.loop("0", f["batch"]) as row:
            self.one_row(row, whole)

    def one_row(self, row: str, whole: str) -> None:
        f, there = self.f, self.add(self.f["row"], row)
        dh, dc = self.place(f["of_h"], row), self.place(f["of_c"], row)
        with self.when(self.e.value(f"icmp ne ptr {f['of_out']}, null")):
            self.add_row(self.place(f["of_out"], there), dh)
        gates = [self.gate(gate, row) for gate in range(GATES)]
        start = self.row_of(f["of_gates"], there, whole)
        start = self.at(start, self.mul("%block", str(BLOCK)))
        results = [self.at(start, self.mul(f["size"], str(gate))) for gate in range(GATES)]
        cells = [self.place(f["cells"], there), self.place(f["before"], row)]
        self.apply([*gates, *cells, dh, dc, *results, dc])

    def add_row(self, source: str, target: str) -> None:
        vector = f"<{BLOCK} x {self.llvm}>"
        values = [self.load(array, vector) for array in (source, target)]
        total = self.e.value(f"fadd {vector} {values[0]}, {values[1]}")
        self.store(total, target, vector)

    def walk(self) -> None:
        f = self.f
        whole, last = self.mul(f["size"], str(GATES)), self.sub(f["steps"], "1")
        self.set_word("*later", "null")
        with self.loop("0", f["steps"]) as step:
            row = self.add(f["first"], self.mul(step, f["by"]))
            self.set_word("row", row)
            is_last = self.compare("eq", step, last)
            earlier = self.row_of(f["cells"], self.add(row, f["by"]), f["size"])
            self.set_word("*before", self.choose(is_last, f["c0"], earlier, "ptr"))
            self.run_blocks()
            self.set_word("*later", self.row_of(f["of_gates"], row, whole))
        self.set_word("row", "-1")
        self.run_blocks()
