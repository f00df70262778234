"""Sums along rows or columns in the order in which PyTorch adds on one thread: the same last bits.

Numbers are added up in vectors of 32 bytes, 16 to a sum, then 16 of those sums, and so on: rounding
errors grow with the number of levels and not with that of elements. Four such cascades run side by
side, because an addition takes as long as four can be started.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.emitter import ITEMSIZE, LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import Program
from clew.kernels.codegen.loops import (
    GRAIN,
    context_word,
    end_module,
    entry,
    loop_argument,
    rows_per_task,
)
from clew.kernels.codegen.strided_rows import strided_entry
from clew.kernels.codegen.vectors import carrying_loop, loop

BYTES = 32
FOUR = range(4)
# The terms of a sum of each level.
LEVELS = (1, 16, 256, 4096)

# The term with a number; and the one at a step of one of the four cascades.
Term = Callable[[str], str]
FourTerms = Callable[[str, int], str]


class Cascades:
    """Emits sums of terms, which are scalars or vectors of `lanes`."""

    def __init__(self, e: Emitter, dtype: str, lanes: int) -> None:
        self.e, self.dtype, self.lanes = e, dtype, lanes
        vector = LLVM_TYPE[dtype]
        self.kind = f"<{lanes} x {vector}>" if lanes else vector

    def add(self, a: str, b: str) -> str:
        return self.e.value(f"fadd {self.kind} {a}, {b}")

    def add_all(self, terms: list[str]) -> str:
        total, *others = terms
        for each in others:
            total = self.add(total, each)
        return total

    def four_sums(self, count: str, term: FourTerms) -> list[str]:
        """The sums of four cascades with `count` steps each."""
        e = self.e
        ends = ["0", *(e.value(f"and i64 {count}, {-size}") for size in LEVELS[:0:-1]), count]
        # The complete sums of the highest level come first, the terms that are left last.
        found = [self._level(level, ends[3 - level], ends[4 - level], term) for level in FOUR]
        return [self.add_all([each[k] for each in found]) for k in FOUR]

    def _level(self, level: int, begin: str, end: str, term: FourTerms) -> list[str]:
        size = LEVELS[level]

        def body(i: str, totals: list[str]) -> list[str]:
            if level:
                stop = self.e.value(f"add nuw nsw i64 {i}, {size}")
                parts = self._level(level - 1, i, stop, term)
            else:
                parts = [term(i, k) for k in FOUR]
            return [self.add(total, part) for total, part in zip(totals, parts, strict=True)]

        start = self.kind, "zeroinitializer" if self.lanes else "0.0"
        return carrying_loop(self.e, (begin, end), size, body, [start] * 4)

    def sum_of(self, count: str, term: Term) -> str:
        """One sum: every fourth term is in the same cascade."""
        e = self.e
        steps = e.value(f"lshr i64 {count}, 2")

        def of_four(step: str, k: int) -> str:
            return term(e.value(f"or disjoint i64 {e.value(f'shl i64 {step}, 2')}, {k}"))

        first, *others = self.four_sums(steps, of_four)
        begin = e.value(f"shl i64 {steps}, 2")
        first = self.rest(begin, count, first, term)
        return self.add_all([first, *others])

    def rest(self, begin: str, end: str, start: str, term: Term) -> str:
        """Terms added one after the other."""

        def body(i: str, totals: list[str]) -> list[str]:
            return [self.add(totals[0], term(i))]

        return carrying_loop(self.e, (begin, end), 1, body, [(self.kind, start)])[0]


class _Terms:
    """The terms of a formula: loads its inputs and computes it, as scalars or vectors."""

    def __init__(self, e: Emitter, program: Program) -> None:
        self.e, self.program = e, program
        self.dtype = program.roots[0].dtype
        self.lanes = BYTES // ITEMSIZE[self.dtype]
        # PyTorch adds the halves of a vector of 16-bit numbers first.
        self.is_paired = any(ITEMSIZE[each] < 4 for each in program.inputs)

    def at(self, bases: list[str], index: str, lanes: int) -> str:
        e = self.e
        e.lanes = lanes
        addresses = [
            e.element_address(dtype, base, index)
            for dtype, base in zip(self.program.inputs, bases, strict=True)
        ]
        (value,) = e.evaluate(
            self.program.roots,
            lambda expr: e.load(self.program.inputs[expr.value], addresses[expr.value]),
        )
        e.lanes = 0
        return value


def row_module(name: str, program: Program, cost: int) -> str:
    """The module of a sum along rows: all inputs have the dimension of the row."""
    e = Emitter()
    terms = _Terms(e, program)
    inputs = len(program.inputs)
    with e.function(BODY, "#0"):
        pointers = [context_word(e, index, "ptr") for index in range(inputs + 1)]
        outer = [context_word(e, inputs + 1 + index, "i64") for index in range(inputs + 1)]
        size = context_word(e, 3 * inputs + 2, "i64")
        with loop(e, "%begin", "%end") as row:
            *bases, out = (
                e.strided_address(pointer, row, step)
                for pointer, step in zip(pointers, outer, strict=True)
            )
            _sum_row(e, terms, bases, out, size)
    entry(
        e, "contiguous", inputs + 1, 2 * inputs + 1, 1,
        lambda e: rows_per_task(e, max(GRAIN // cost, 1), loop_argument(e, "dims", 1)),
    )  # fmt: skip
    strided_entry(e, name, "contiguous", inputs, program.dtypes, ["n"] * inputs + [""])
    end_module(e)
    return e.text()


def _sum_row(e: Emitter, terms: _Terms, bases: list[str], out: str, size: str) -> None:
    """One row by vectors, or by scalars if it does not fill one."""
    lanes, n = terms.lanes, e.fresh("row")
    width = 2 * lanes if terms.is_paired else lanes
    scalars = Cascades(e, terms.dtype, 0)
    vectors = Cascades(e, terms.dtype, lanes)

    def vector(i: str) -> str:
        index = e.value(f"mul i64 {i}, {width}")
        first = terms.at(bases, index, lanes)
        if not terms.is_paired:
            return first
        following = e.value(f"add i64 {index}, {lanes}")
        return vectors.add(first, terms.at(bases, following, lanes))

    def scalar(i: str) -> str:
        return terms.at(bases, i, 0)

    e.line(f"%fills{n} = icmp sge i64 {size}, {width}")
    e.line(f"br i1 %fills{n}, label %vectors{n}, label %scalars{n}")
    e.label(f"vectors{n}")
    count = e.value(f"udiv i64 {size}, {width}")
    by_lane = vectors.sum_of(count, vector)
    total = scalars.rest(e.value(f"mul i64 {count}, {width}"), size, "0.0", scalar)
    for lane in range(lanes):
        part = e.value(f"extractelement {vectors.kind} {by_lane}, i32 {lane}")
        total = scalars.add(total, part)
    e.store(terms.dtype, total, out)
    e.line(f"br label %summed{n}")
    e.label(f"scalars{n}")
    e.store(terms.dtype, scalars.sum_of(size, scalar), out)
    e.line(f"br label %summed{n}")
    e.label(f"summed{n}")


def column_module(name: str, program: Program, cost: int) -> str:
    """The module of a sum of each column of matrices that is over one input."""
    e = Emitter()
    terms = _Terms(e, program)
    with e.function(BODY, "#0"):
        x, out = (context_word(e, index, "ptr") for index in range(2))
        x_step, out_step, row_step = (context_word(e, index, "i64") for index in (2, 3, 4))
        m, n = (context_word(e, index, "i64") for index in (7, 8))
        with loop(e, "%begin", "%end") as matrix:
            base = e.strided_address(x, matrix, x_step)
            target = e.strided_address(out, matrix, out_step)
            _sum_columns(e, terms, base, target, row_step, m, n)
    entry(
        e, "contiguous", 2, 5, 2,
        lambda e: rows_per_task(
            e, max(GRAIN // cost, 1),
            e.value(f"mul i64 {loop_argument(e, 'dims', 1)}, {loop_argument(e, 'dims', 2)}"),
        ),
    )  # fmt: skip
    strided_entry(e, name, "contiguous", 1, program.dtypes, ["mn", "n"])
    end_module(e)
    return e.text()


def _sum_columns(
    e: Emitter, terms: _Terms, base: str, out: str, row_step: str, m: str, n: str
) -> None:
    """Four vectors of columns at a time, then one, then single columns.

    Four at a time have a cascade each; the others have four each. Where no vector is filled, the
    same with four columns at a time.
    """
    dtype, lanes = terms.dtype, terms.lanes

    def sum_some(begin: str, end: str, lanes: int, at_once: int) -> None:
        cascades, width = Cascades(e, dtype, lanes), max(lanes, 1)

        def term(row: str, column: str) -> str:
            return terms.at([e.strided_address(base, row, row_step)], column, lanes)

        with loop(e, begin, end, by=at_once * width) as j:
            columns = [j, *(e.value(f"add i64 {j}, {k * width}") for k in range(1, at_once))]
            if at_once == 1:
                sums = [cascades.sum_of(m, lambda row: term(row, j))]
            else:
                sums = cascades.four_sums(m, lambda row, k: term(row, columns[k]))
            e.lanes = lanes
            for column, each in zip(columns, sums, strict=True):
                e.store(dtype, each, e.element_address(dtype, out, column))
            e.lanes = 0

    few = e.value(f"icmp slt i64 {n}, {lanes}")
    fours, vectors = (e.value(f"and i64 {n}, {-size}") for size in (4 * lanes, lanes))
    sum_some("0", fours, lanes, 4)
    sum_some(fours, vectors, lanes, 1)
    quarter = e.value(f"and i64 {n}, -4")
    begin = e.value(f"select i1 {few}, i64 {quarter}, i64 {vectors}")
    sum_some("0", e.value(f"select i1 {few}, i64 {quarter}, i64 0"), 0, 4)
    sum_some(begin, n, 0, 1)
