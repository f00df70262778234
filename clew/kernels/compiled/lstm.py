"""All time steps of an LSTM layer, compiled: a GEMM with the state, then the gates.

The columns of the hidden state are cut into blocks. A block needs the state of the step before and
no other block of its own step: so each step is one parallel loop over blocks, and a thread finds
its block of the weights in its cache at every step. Where there are few blocks, the sequences of
the batch are cut, too.

The formulas of the gates are those of elementwise kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import TYPES, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import Program
from clew.kernels.codegen.loops import ElementwiseLoop, end_module, run_tasks
from clew.kernels.codegen.ufunc import Elementwise
from clew.kernels.gemm.inline_gemm import Matrix, call_multiply, provide_multiply
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
# Columns of a block: those of a packed panel of the weights.
BLOCK = 64
GATES = 4
# The tasks that a step should have, and the sequences that a task has at least.
_TASKS, _MIN_ROWS = 8, 16

# The contexts. Arrays are contiguous; the last three words change from step to step.
FORWARD = (
    "*gates", "gate_next", "*panels", "*h0", "*c0", "*out", "*cells",
    "batch", "size", "steps", "first", "by", "row", "*h", "*c",
)  # fmt: skip
BACKWARD = (
    "*gates", "gate_next", "*panels", "*c0", "*cells", "*grad_out", "*grad_h", "*grad_c",
    "*grad_gates", "batch", "size", "steps", "first", "by", "row", "*before", "*later",
)  # fmt: skip


def run(kind: str, step: Elementwise, words: Sequence[Array | int | None]) -> None:
    """All time steps; `words` are those of FORWARD or BACKWARD but for the last three."""
    llvm = TYPES[next(each.dtype for each in words if isinstance(each, np.ndarray))]
    numbers = [address_of(each) if isinstance(each, np.ndarray) else each or 0 for each in words]
    context = np.array([*numbers, 0, 0, 0], np.int64)
    _function(kind, step, llvm)(address_of(context))


@functools.cache
def _function(kind: str, step: Elementwise, llvm: str) -> Any:
    provide_multiply(llvm)
    program = step.program(tuple(TYPES.values()).index(llvm))
    key = f"recurrence {kind}\n{program}"
    return compiled(key, lambda: module(kind, program, llvm), "steps", integers=0)


def module(kind: str, step: Program, llvm: str) -> str:
    """The LLVM module of forward or backward; `step` is the gates' formulas."""
    e = Emitter()
    layer = (_Forward if kind == "forward" else _Backward)(e, llvm, step)
    with layer.function("internal void @block(ptr %context, i64 %block, i64 %top, i64 %bottom)"):
        layer.f = layer.load_context(*layer.fields)
        layer.block()
    with (
        layer.function(BODY),
        layer.loop("%begin", "%end") as task,
    ):
        layer.f = layer.load_context(*layer.fields)
        layer.call_block(task)
    with layer.function("void @steps(ptr %context)"):
        layer.f = layer.load_context(*layer.fields)
        layer.steps()
    end_module(e)
    return e.text()


class _Layer(IRBuilder):
    """What forward and backward have in common."""

    fields: tuple[str, ...]

    def __init__(self, e: Emitter, llvm: str, step: Program) -> None:
        super().__init__(e, llvm)
        self.step = step
        self.f: dict[str, str] = {}

    def block(self) -> None:
        raise NotImplementedError

    def steps(self) -> None:
        raise NotImplementedError

    def set_word(self, name: str, value: str) -> None:
        """Set a word of the context that changes from step to step."""
        self.update_context("%context", self.fields, {name.lstrip("*"): value})

    def row_of(self, array: str, row: str, width: str) -> str:
        return self.gep(array, self.mul(row, width))

    def block_row(self, array: str, row: str) -> str:
        """The address of this block's columns in a row of a state."""
        start = self.row_of(array, row, self.f["size"])
        return self.gep(start, self.mul("%block", str(BLOCK)))

    def gate(self, number: int, row: str) -> str:
        start = self.ptr_add(self.f["gates"], self.mul(str(number), self.f["gate_next"]))
        return self.block_row(start, self.add(self.f["row"], row))

    def panel(self, number: str, rows: str) -> Matrix:
        """A packed panel of weights of so many rows, with its row and column strides."""
        start = self.gep(self.f["panels"], self.mul(number, rows, str(BLOCK)))
        return start, str(BLOCK * self.itemsize), str(self.itemsize)

    def multiply(self, a: Matrix, b: Matrix, c: Matrix, depth: str) -> None:
        """c = a b, with the rows of the task and the columns of a block."""
        rows = self.sub("%bottom", "%top")
        call_multiply(self.e, self.llvm, (a, b, c), (rows, str(BLOCK), depth))

    def row_stride(self, width: str) -> str:
        """The stride of contiguous rows, in bytes."""
        return self.mul(width, str(self.itemsize))

    def apply(self, addresses: Sequence[str]) -> None:
        """The formulas of the gates, for one row of the block."""
        ElementwiseLoop(self.e, self.step, list(addresses), frozenset()).emit("0", str(BLOCK))

    def parts(self) -> str:
        """Into how many parts the rows of the batch are cut."""
        wanted = self.udiv(str(_TASKS), self.udiv(self.f["size"], str(BLOCK)))
        return self.max(self.min(wanted, self.udiv(self.f["batch"], str(_MIN_ROWS))), "1")

    def call_block(self, task: str) -> None:
        """The rows and the block of a task; those of one block follow each other."""
        parts = self.parts()
        rows = self.ceil_div(self.f["batch"], parts)
        top = self.min(self.mul(self.urem(task, parts), rows), self.f["batch"])
        bottom = self.min(self.add(top, rows), self.f["batch"])
        place = f"i64 {self.udiv(task, parts)}, i64 {top}, i64 {bottom}"
        self.e.line(f"call void @block(ptr %context, {place})")

    def run_blocks(self) -> None:
        blocks = self.udiv(self.f["size"], str(BLOCK))
        run_tasks(self.e, "%context", self.mul(blocks, self.parts()), "1")


class _Forward(_Layer):
    """With formulas for the states only, the cells are overwritten in place."""

    fields = FORWARD

    @property
    def saves(self) -> bool:
        return len(self.step.roots) > 2

    def block(self) -> None:
        f, width = self.f, str(BLOCK * self.itemsize)
        size, area = f["size"], self.mul(self.sub("%bottom", "%top"), str(BLOCK))
        products = self.malloc(self.mul(area, str(GATES)))
        state = self.row_of(f["h"], "%top", size), self.row_stride(size), str(self.itemsize)
        for gate in range(GATES):
            column = self.add(self.mul(str(gate), self.udiv(size, str(BLOCK))), "%block")
            to = self.gep(products, self.mul(area, str(gate))), width, str(self.itemsize)
            self.multiply(state, self.panel(column, size), to, size)
        with self.loop("%top", "%bottom") as row:
            gates = [self.gate(gate, row) for gate in range(GATES)]
            place = self.mul(self.sub(row, "%top"), str(BLOCK))
            recurrent = [
                self.gep(products, self.add(self.mul(area, str(gate)), place))
                for gate in range(GATES)
            ]
            step_row = self.add(f["row"], row)
            before, out = self.block_row(f["c"], row), self.block_row(f["out"], step_row)
            saved = [*gates, self.block_row(f["cells"], step_row)] if self.saves else [before]
            self.apply([*gates, *recurrent, before, *saved, out])
        self.free(products)

    def steps(self) -> None:
        f = self.f
        self.set_word("*h", f["h0"])
        self.set_word("*c", f["c0"])
        with self.loop("0", f["steps"]) as step:
            row = self.add(f["first"], self.mul(step, f["by"]))
            self.set_word("row", row)
            self.run_blocks()
            self.set_word("*h", self.row_of(f["out"], row, f["size"]))
            if self.saves:
                self.set_word("*c", self.row_of(f["cells"], row, f["size"]))


class _Backward(_Layer):
    """The gradient of a block of the state, from the step after; then those of the gates."""

    fields = BACKWARD

    def block(self) -> None:
        f = self.f
        width = self.mul(f["size"], str(GATES))
        with self.if_then(self.e.value(f"icmp ne ptr {f['later']}, null")):
            later = self.row_of(f["later"], "%top", width)
            grad_gates = later, self.row_stride(width), str(self.itemsize)
            to = self.block_row(f["grad_h"], "%top"), self.row_stride(f["size"]), str(self.itemsize)
            self.multiply(grad_gates, self.panel("%block", width), to, width)
        is_step = self.icmp("sge", f["row"], "0")
        with self.if_then(is_step), self.loop("%top", "%bottom") as row:
            self.one_row(row, width)

    def one_row(self, row: str, width: str) -> None:
        f, step_row = self.f, self.add(self.f["row"], row)
        dh, dc = self.block_row(f["grad_h"], row), self.block_row(f["grad_c"], row)
        with self.if_then(self.e.value(f"icmp ne ptr {f['grad_out']}, null")):
            self.add_row(self.block_row(f["grad_out"], step_row), dh)
        gates = [self.gate(gate, row) for gate in range(GATES)]
        start = self.row_of(f["grad_gates"], step_row, width)
        start = self.gep(start, self.mul("%block", str(BLOCK)))
        results = [self.gep(start, self.mul(f["size"], str(gate))) for gate in range(GATES)]
        cells = [self.block_row(f["cells"], step_row), self.block_row(f["before"], row)]
        self.apply([*gates, *cells, dh, dc, *results, dc])

    def add_row(self, source: str, target: str) -> None:
        vector = f"<{BLOCK} x {self.llvm}>"
        values = [self.load(array, vector) for array in (source, target)]
        total = self.e.value(f"fadd {vector} {values[0]}, {values[1]}")
        self.store(total, target, vector)

    def steps(self) -> None:
        f = self.f
        width, last = self.mul(f["size"], str(GATES)), self.sub(f["steps"], "1")
        self.set_word("*later", "null")
        with self.loop("0", f["steps"]) as step:
            row = self.add(f["first"], self.mul(step, f["by"]))
            self.set_word("row", row)
            is_last = self.icmp("eq", step, last)
            earlier = self.row_of(f["cells"], self.add(row, f["by"]), f["size"])
            self.set_word("*before", self.select(is_last, f["c0"], earlier, "ptr"))
            self.run_blocks()
            self.set_word("*later", self.row_of(f["grad_gates"], row, width))
        self.set_word("row", "-1")
        self.run_blocks()
