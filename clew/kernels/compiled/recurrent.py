"""All time steps of an LSTM or GRU layer, compiled: a GEMM with the state, then the gates.

The columns of the hidden state are cut into blocks. A block needs the state of the step before and
no other block of its own step: so each step is one parallel loop over blocks, and a thread finds
its block of the weights in its cache at every step. Where there are few blocks, the sequences of
the batch are cut, too.

The formulas of the gates are those of elementwise kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import TYPES, ContextCall, compiled
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import Program
from clew.kernels.codegen.loops import ElementwiseLoop, end_module, run_tasks
from clew.kernels.codegen.ufunc import Elementwise
from clew.kernels.gemm.inline_gemm import Matrix, call_multiply, provide_multiply

# Columns of a block: those of a packed panel of the weights. The last block may have fewer.
BLOCK = 64
# The tasks that a step should have, and the sequences that a task has at least.
_TASKS, _MIN_ROWS = 8, 16
# Columns that are added at a time.
_LANES = 16

# What is known before a call: the distance between gates in bytes, then sequences, features, time
# steps, the first row, and the rows from one step to the next.
_SIZES = ("gate_next", "batch", "size", "steps", "first", "by")


def calling(kind: str, step: Elementwise, dtype: np.dtype, sizes: tuple[int, ...]) -> ContextCall:
    """The call that makes all time steps; its arrays are `LAYERS[kind].arrays`, contiguous."""
    changing = (0,) * len(LAYERS[kind].changing)
    return ContextCall(_function(kind, step, TYPES[dtype]), (*sizes, *changing), ())


@functools.cache
def _function(kind: str, step: Elementwise, llvm: str) -> Any:
    provide_multiply(llvm)
    program = step.program(tuple(TYPES.values()).index(llvm))
    key = f"recurrence {kind}\n{program}"
    return compiled(key, lambda: module(kind, program, llvm), "steps", integers=0)


def module(kind: str, step: Program, llvm: str) -> str:
    """The LLVM module of a kind of LAYERS; `step` is the gates' formulas."""
    e = Emitter()
    layer = LAYERS[kind](e, llvm, step)
    with layer.function("internal void @block(ptr %context, i64 %block, i64 %top, i64 %bottom)"):
        layer.load_fields()
        layer.block()
    with (
        layer.function(BODY),
        layer.loop("%begin", "%end") as task,
    ):
        layer.load_fields()
        layer.call_block(task)
    with layer.function("void @steps(ptr %context)"):
        layer.load_fields()
        layer.walk()
    end_module(e)
    return e.text()


class _Layer(IRBuilder):
    """What forward and backward of all layers have in common."""

    gates: ClassVar[int]
    arrays: ClassVar[tuple[str, ...]]
    # The words of the context that are other ones in each step.
    changing: ClassVar[tuple[str, ...]]

    def __init__(self, e: Emitter, llvm: str, step: Program) -> None:
        super().__init__(e, llvm)
        self.step = step
        self.f: dict[str, str] = {}

    @property
    def fields(self) -> tuple[str, ...]:
        """The words of the context."""
        return (*self.arrays, *_SIZES, *self.changing)

    def load_fields(self) -> None:
        self.f = self.load_context(*self.fields)

    def block(self) -> None:
        """One time step of some columns of some sequences."""
        raise NotImplementedError

    def walk(self) -> None:
        """All time steps."""
        raise NotImplementedError

    def set_word(self, name: str, value: str) -> None:
        """Set a word of the context that changes from step to step."""
        self.update_context("%context", self.fields, {name.lstrip("*"): value})

    def columns(self) -> str:
        """The columns of this block."""
        return self.min(str(BLOCK), self.sub(self.f["size"], self.mul("%block", str(BLOCK))))

    def row_of(self, array: str, row: str, width: str) -> str:
        return self.gep(array, self.mul(row, width))

    def block_row(self, array: str, row: str) -> str:
        """The address of this block's columns in a row of a state."""
        start = self.row_of(array, row, self.f["size"])
        return self.gep(start, self.mul("%block", str(BLOCK)))

    def gate_rows(self, row: str) -> list[str]:
        """The addresses of this block's columns of all gates."""
        starts = [
            self.ptr_add(self.f["gates"], self.mul(str(gate), self.f["gate_next"]))
            for gate in range(self.gates)
        ]
        return [self.block_row(start, self.add(self.f["row"], row)) for start in starts]

    def side_by_side(self, array: str, row: str) -> list[str]:
        """The same where the gates of a row follow each other."""
        start = self.row_of(self.f[array], row, self.width())
        start = self.gep(start, self.mul("%block", str(BLOCK)))
        return [self.gep(start, self.mul(self.f["size"], str(gate))) for gate in range(self.gates)]

    def width(self) -> str:
        """The columns of all gates."""
        return self.mul(self.f["size"], str(self.gates))

    def blocks(self) -> str:
        return self.ceil_div(self.f["size"], str(BLOCK))

    def panel(self, number: str, rows: str) -> Matrix:
        """A packed panel of weights of so many rows, with its row and column strides."""
        start = self.gep(self.f["panels"], self.mul(number, rows, str(BLOCK)))
        return start, str(BLOCK * self.itemsize), str(self.itemsize)

    def multiply(self, a: Matrix, b: Matrix, c: Matrix, depth: str, accumulate: str = "0") -> None:
        """c = a b, or c = c + a b, with the rows of the task and the columns of the block."""
        sizes = self.sub("%bottom", "%top"), self.columns(), depth
        call_multiply(self.e, self.llvm, (a, b, c), sizes, accumulate)

    def products_with_state(self) -> list[str]:
        """The block's columns of the products of the state and each gate's weights: buffers, which
        are parts of the first."""
        size, area = self.f["size"], self.mul(self.sub("%bottom", "%top"), str(BLOCK))
        first = self.malloc(self.mul(area, str(self.gates)))
        others = [self.gep(first, self.mul(area, str(gate))) for gate in range(1, self.gates)]
        products = [first, *others]
        state = self.row_of(self.f["h"], "%top", size), self.row_stride(size), str(self.itemsize)
        for gate, product in enumerate(products):
            number = self.add(self.mul(str(gate), self.blocks()), "%block")
            to = product, str(BLOCK * self.itemsize), str(self.itemsize)
            self.multiply(state, self.panel(number, size), to, size)
        return products

    def row_stride(self, width: str) -> str:
        """The stride of contiguous rows, in bytes."""
        return self.mul(width, str(self.itemsize))

    def apply(self, addresses: Sequence[str]) -> None:
        """The formulas of the gates, for one row of the block."""
        loop = ElementwiseLoop(self.e, self.step, list(addresses), frozenset())
        loop.emit("0", self.columns())

    def gradient_of_state(self, later: str, accumulate: str) -> None:
        """The block's columns of the gradient that comes from the step after."""
        f, width = self.f, self.width()
        with self.if_then(self.e.value(f"icmp ne ptr {f['later']}, null")):
            gradients = self.row_of(later, "%top", width)
            of_gates = gradients, self.row_stride(width), str(self.itemsize)
            to = self.block_row(f["grad_h"], "%top"), self.row_stride(f["size"]), str(self.itemsize)
            self.multiply(of_gates, self.panel("%block", width), to, width, accumulate)

    def arriving(self, row: str) -> str:
        """The gradient of a row of the state, to which that of the output is added."""
        f, dh = self.f, self.block_row(self.f["grad_h"], row)
        with self.if_then(self.e.value(f"icmp ne ptr {f['grad_out']}, null")):
            source = self.block_row(f["grad_out"], self.add(f["row"], row))
            columns = self.columns()
            whole = self.round_down(columns, str(_LANES))
            for span, lanes in (("0", whole), _LANES), ((whole, columns), 1):
                kind = f"<{lanes} x {self.llvm}>"
                with self.loop(*span, by=lanes) as column:
                    self.add_to(
                        self.gep(dh, column), self.load(self.gep(source, column), kind), kind
                    )
        return dh

    def parts(self) -> str:
        """Into how many parts the rows of the batch are cut."""
        wanted = self.udiv(str(_TASKS), self.blocks())
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
        run_tasks(self.e, "%context", self.mul(self.blocks(), self.parts()), "1")


class _LstmForward(_Layer):
    """With formulas for the states only, the cells are overwritten in place."""

    gates = 4
    arrays = ("*gates", "*panels", "*h0", "*c0", "*out", "*cells")
    changing = ("row", "*h", "*c")

    @property
    def saves(self) -> bool:
        return len(self.step.roots) > 2

    def block(self) -> None:
        f, products = self.f, self.products_with_state()
        with self.loop("%top", "%bottom") as row:
            gates = self.gate_rows(row)
            place = self.mul(self.sub(row, "%top"), str(BLOCK))
            recurrent = [self.gep(product, place) for product in products]
            step_row = self.add(f["row"], row)
            before, out = self.block_row(f["c"], row), self.block_row(f["out"], step_row)
            saved = [*gates, self.block_row(f["cells"], step_row)] if self.saves else [before]
            self.apply([*gates, *recurrent, before, *saved, out])
        self.free(products[0])

    def walk(self) -> None:
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


class _LstmBackward(_Layer):
    """The gradient of a block of the state, from the step after; then those of the gates."""

    gates = 4
    arrays = (
        "*gates", "*panels", "*c0", "*cells", "*grad_out", "*grad_h", "*grad_c", "*grad_gates",
    )  # fmt: skip
    changing = ("row", "*before", "*later")

    def block(self) -> None:
        self.gradient_of_state(self.f["later"], "0")
        is_step = self.icmp("sge", self.f["row"], "0")
        with self.if_then(is_step), self.loop("%top", "%bottom") as row:
            self.one_row(row)

    def one_row(self, row: str) -> None:
        f, step_row = self.f, self.add(self.f["row"], row)
        dh, dc = self.arriving(row), self.block_row(f["grad_c"], row)
        cells = [self.block_row(f["cells"], step_row), self.block_row(f["before"], row)]
        results = self.side_by_side("grad_gates", step_row)
        self.apply([*self.gate_rows(row), *cells, dh, dc, *results, dc])

    def walk(self) -> None:
        f = self.f
        last = self.sub(f["steps"], "1")
        self.set_word("*later", "null")
        with self.loop("0", f["steps"]) as step:
            row = self.add(f["first"], self.mul(step, f["by"]))
            self.set_word("row", row)
            is_last = self.icmp("eq", step, last)
            earlier = self.row_of(f["cells"], self.add(row, f["by"]), f["size"])
            self.set_word("*before", self.select(is_last, f["c0"], earlier, "ptr"))
            self.run_blocks()
            self.set_word("*later", self.row_of(f["grad_gates"], row, self.width()))
        self.set_word("row", "-1")
        self.run_blocks()


class _GruForward(_Layer):
    """`bias` is that of the part of the new state that comes from the state."""

    gates = 3
    arrays = ("*gates", "*panels", "*h0", "*bias", "*news", "*out")
    changing = ("row", "*h")

    def block(self) -> None:
        f, products = self.f, self.products_with_state()
        with self.loop("%top", "%bottom") as row:
            gates = self.gate_rows(row)
            place = self.mul(self.sub(row, "%top"), str(BLOCK))
            recurrent = [self.gep(product, place) for product in products]
            given = [self.block_row(f["bias"], "0"), self.block_row(f["h"], row)]
            step_row = self.add(f["row"], row)
            results = [self.block_row(f[name], step_row) for name in ("news", "out")]
            self.apply([*gates, *recurrent, *given, *gates, *results])
        self.free(products[0])

    def walk(self) -> None:
        f = self.f
        self.set_word("*h", f["h0"])
        with self.loop("0", f["steps"]) as step:
            row = self.add(f["first"], self.mul(step, f["by"]))
            self.set_word("row", row)
            self.run_blocks()
            self.set_word("*h", self.row_of(f["out"], row, f["size"]))


class _GruBackward(_Layer):
    """As of an LSTM; but the gradient of the state before goes past the gates, too."""

    gates = 3
    arrays = (
        "*gates", "*panels", "*news", "*before", "*grad_out", "*grad_h", "*grad_input",
        "*grad_hidden",
    )  # fmt: skip
    changing = ("row", "*later")

    def block(self) -> None:
        self.gradient_of_state(self.f["later"], "1")
        is_step = self.icmp("sge", self.f["row"], "0")
        with self.if_then(is_step), self.loop("%top", "%bottom") as row:
            self.one_row(row)

    def one_row(self, row: str) -> None:
        f, step_row = self.f, self.add(self.f["row"], row)
        dh = self.arriving(row)
        given = [self.block_row(f[name], step_row) for name in ("news", "before")]
        results = [
            each for name in ("grad_input", "grad_hidden")
            for each in self.side_by_side(name, step_row)
        ]  # fmt: skip
        self.apply([*self.gate_rows(row), *given, dh, *results, dh])

    def walk(self) -> None:
        f = self.f
        self.set_word("*later", "null")
        with self.loop("0", f["steps"]) as step:
            row = self.add(f["first"], self.mul(step, f["by"]))
            self.set_word("row", row)
            self.run_blocks()
            self.set_word("*later", self.row_of(f["grad_hidden"], row, self.width()))
        self.set_word("row", "-1")
        self.run_blocks()


LAYERS: dict[str, type[_Layer]] = {
    "lstm forward": _LstmForward, "lstm backward": _LstmBackward,
    "gru forward": _GruForward, "gru backward": _GruBackward,
}  # fmt: skip
