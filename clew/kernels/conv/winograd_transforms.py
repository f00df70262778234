"""The transforms of Winograd's convolution, vectorized over tiles.

There is a function for each transform and each number of lanes. Most programs need few of them, so
they are in a table and compiled on first call.
"""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder, lane_counts
from clew.kernels.codegen.lazy_call import call_lazily
from clew.kernels.codegen.loops import end_module
from clew.kernels.runtime import jit
from clew.kernels.runtime.lazy_compilation import LazyFunction, LazyTable

# From input tiles to 16 matrices, from 16 matrices to output tiles, and the latter transposed.
INPUT, OUTPUT, OUTPUT_TRANSPOSED = KINDS = ("input", "output", "output_transposed")
# Rows of an image and their stride, a row of tiles in the first of 16 matrices, the distance to the
# next matrix, and the number of tiles.
_PARAMETERS = "ptr %rows, i64 %stride, ptr %transformed, i64 %next, i64 %tiles"


def name_of_table() -> str:
    return f"clew_winograd_{lane_counts(4)[0]}"


@functools.cache
def table(name: str) -> LazyTable:
    """The functions of all kinds, for vectors of all widths, the widest first."""
    functions = [
        LazyFunction(f"{kind}{lanes}", partial(_module, kind, lanes))
        for kind in KINDS
        for lanes in lane_counts(4)
    ]
    return LazyTable(jit.machine(), f"of {name}", functions)


def call_transform(
    c: ImageRowBuilder, kind: str, rows: str, stride: str, transformed: str, next_matrix: str
) -> None:
    """Transform a row of `%tiles` tiles, in the widest vectors that they fill."""
    counts = lane_counts(4)
    index = str((KINDS.index(kind) + 1) * len(counts) - 1)
    for number, lanes in reversed(list(enumerate(counts[:-1]))):
        wider = str(KINDS.index(kind) * len(counts) + number)
        index = c.select(c.icmp("sge", "%tiles", str(lanes)), wider, index)
    given = f"ptr {rows}, i64 {stride}, ptr {transformed}, i64 {next_matrix}, i64 %tiles"
    call_lazily(c.e, name_of_table(), index, given)


def _module(kind: str, lanes: int) -> str:
    c = _Transform(Emitter(), "float")
    c.lanes = lanes
    with c.function(f"void @{kind}{lanes}({_PARAMETERS})"):
        c.emit(kind)
    end_module(c.e)
    return c.e.text()


class _Transform(ImageRowBuilder):
    """The body of a function: each lane has a tile."""

    def emit(self, kind: str) -> None:
        count = 4 if kind == INPUT else 2
        self.rows = [self.gep("%rows", self.mul(str(n), "%stride")) for n in range(count)]
        self.matrices = [self.gep("%transformed", self.mul(str(n), "%next")) for n in range(16)]
        last = self.sub("%tiles", str(self.lanes))
        transforms = {
            INPUT: self.input, OUTPUT: self.output, OUTPUT_TRANSPOSED: self.output_transposed
        }  # fmt: skip
        with self.loop("0", "%tiles", by=self.lanes) as tile:
            # The last vector ends with the row: it may overlap with the one before.
            first = self.min(tile, last)
            transforms[kind](first)

    def input(self, tile: str) -> None:
        left = self.mul(tile, "2")
        right = self.add(left, "2")
        square = [self.deinterleave(row, left) + self.deinterleave(row, right) for row in self.rows]
        self.store_matrices(self.two_dimensional(self.input_1d, square), tile)

    def output(self, tile: str) -> None:
        values = [self.load(self.gep(each, tile), self.value_type()) for each in self.matrices]
        square = [values[4 * r : 4 * r + 4] for r in range(4)]
        result = self.two_dimensional(self.output_1d, square)
        for row, pair in zip(self.rows, result, strict=True):
            self.store_interleaved(pair, row, self.mul(tile, "2"))

    def output_transposed(self, tile: str) -> None:
        square = [self.deinterleave(row, self.mul(tile, "2")) for row in self.rows]
        self.store_matrices(self.two_dimensional(self.output_transposed_1d, square), tile)

    def store_interleaved(self, pair: list[str], row: str, index: str) -> None:
        if self.lanes > 1:
            self.store(self.interleave(pair), self.gep(row, index), self.value_type(2))
            return
        for n in range(2):
            self.store(pair[n], self.gep(row, self.add(index, str(n))))

    def sum(self, *terms: str) -> str:
        """The sum of terms, of which all but the first may begin with a minus sign."""
        first, *others = terms
        for term in others:
            how = "fsub" if term[0] == "-" else "fadd"
            first = self.e.value(f"{how} {self.value_type()} {first}, {term.lstrip('-')}")
        return first

    def two_dimensional(self, transform: Any, square: list[list[str]]) -> list[list[str]]:
        """A one-dimensional transform of the columns and then of the rows."""
        columns = [list(row) for row in zip(*(transform(column) for column in zip(*square)))]
        return [transform(row) for row in columns]

    def input_1d(self, d: Any) -> list[str]:
        return [
            self.sum(d[0], f"-{d[2]}"), self.sum(d[1], d[2]),
            self.sum(d[2], f"-{d[1]}"), self.sum(d[1], f"-{d[3]}"),
        ]  # fmt: skip

    def output_1d(self, m: Any) -> list[str]:
        return [self.sum(m[0], m[1], m[2]), self.sum(m[1], f"-{m[2]}", f"-{m[3]}")]

    def output_transposed_1d(self, d: Any) -> list[str]:
        minus = self.e.value(f"fneg {self.value_type()} {d[1]}")
        return [d[0], self.sum(d[0], d[1]), self.sum(d[0], f"-{d[1]}"), minus]

    def store_matrices(self, square: list[list[str]], tile: str) -> None:
        """The transformed elements of a tile, each to its matrix."""
        values = [value for row in square for value in row]
        for value, matrix in zip(values, self.matrices, strict=True):
            self.store(value, self.gep(matrix, tile), self.value_type())
