"""The transforms of Winograd's convolution: functions for tiles side by side, in vectors.

There is one for each transform and each number of lanes. Most programs need few of them, so they
are called through a table, and compiled when they are first called.
"""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import Lines, widths
from clew.kernels.codegen.lazy_call import call_lazily
from clew.kernels.codegen.loops import finish
from clew.kernels.runtime import jit
from clew.kernels.runtime.lazy_compilation import LazyFunction, LazyTable

# From images to matrices, from matrices to images, and the adjoint of the latter.
INPUT, OUTPUT, BACK = KINDS = ("input", "output", "back")
# Lines of an image, the distance between them, where the first of 16 matrices has the numbers of a
# row of tiles, the distance to the next matrix, and the number of tiles.
_PARAMETERS = "ptr %lines, i64 %size, ptr %to, i64 %next, i64 %tiles"


def name_of_table() -> str:
    return f"clew_winograd_{widths(4)[0]}"


@functools.cache
def table(name: str) -> LazyTable:
    """The functions of all kinds, for vectors of all widths from the widest on."""
    functions = [
        LazyFunction(f"{kind}{lanes}", partial(_module, kind, lanes))
        for kind in KINDS
        for lanes in widths(4)
    ]
    return LazyTable(jit.machine(), f"of {name}", functions)


def call_tiles(c: Lines, kind: str, lines: str, size: str, to: str, following: str) -> None:
    """A transform of a row of so many `%tiles`, in the widest vectors that are filled."""
    place = str((KINDS.index(kind) + 1) * len(widths(4)) - 1)
    for number, lanes in reversed(list(enumerate(widths(4)[:-1]))):
        widest = str(KINDS.index(kind) * len(widths(4)) + number)
        place = c.choose(c.compare("sge", "%tiles", str(lanes)), widest, place)
    given = f"ptr {lines}, i64 {size}, ptr {to}, i64 {following}, i64 %tiles"
    call_lazily(c.e, name_of_table(), place, given)


def _module(kind: str, lanes: int) -> str:
    c = _Tiles(Emitter(), "float")
    c.lanes = lanes
    with c.function(f"void @{kind}{lanes}({_PARAMETERS})"):
        c.emit(kind)
    finish(c.e)
    return c.e.text()


class _Tiles(Lines):
    """The code of a function: what it does with some tiles side by side."""

    def emit(self, kind: str) -> None:
        count = 4 if kind == INPUT else 2
        self.rows = [self.at("%lines", self.mul(str(number), "%size")) for number in range(count)]
        self.places = [self.at("%to", self.mul(str(number), "%next")) for number in range(16)]
        last = self.sub("%tiles", str(self.lanes))
        with self.loop("0", "%tiles", by=self.lanes) as tile:
            # The last vector ends with the row: some of its tiles are made twice.
            first = self.least(tile, last)
            {INPUT: self.input, OUTPUT: self.output, BACK: self.back}[kind](first)

    def input(self, tile: str) -> None:
        left = self.mul(tile, "2")
        right = self.add(left, "2")
        square = [self.pairs(row, left) + self.pairs(row, right) for row in self.rows]
        self.scatter(self.twice(self.of_input, square), tile)

    def output(self, tile: str) -> None:
        values = [self.load(self.at(place, tile), self.kind()) for place in self.places]
        square = [values[4 * r : 4 * r + 4] for r in range(4)]
        for row, pair in zip(self.rows, self.twice(self.of_output, square), strict=True):
            self.put_pairs(pair, row, self.mul(tile, "2"))

    def back(self, tile: str) -> None:
        square = [self.pairs(row, self.mul(tile, "2")) for row in self.rows]
        self.scatter(self.twice(self.to_output, square), tile)

    def put_pairs(self, pair: list[str], line: str, index: str) -> None:
        if self.lanes > 1:
            self.store(self.joined(pair), self.at(line, index), self.kind(2))
            return
        for n in range(2):
            self.store(pair[n], self.at(line, self.add(index, str(n))))

    def plus(self, *terms: str) -> str:
        """A sum of terms, of which all but the first may begin with a minus sign."""
        first, *others = terms
        for term in others:
            how = "fsub" if term[0] == "-" else "fadd"
            first = self.e.value(f"{how} {self.kind()} {first}, {term.lstrip('-')}")
        return first

    def twice(self, transform: Any, square: list[list[str]]) -> list[list[str]]:
        """A transform of one dimension, applied to the columns and then to the rows."""
        down = [list(row) for row in zip(*(transform(column) for column in zip(*square)))]
        return [transform(row) for row in down]

    def of_input(self, d: Any) -> list[str]:
        return [
            self.plus(d[0], f"-{d[2]}"), self.plus(d[1], d[2]),
            self.plus(d[2], f"-{d[1]}"), self.plus(d[1], f"-{d[3]}"),
        ]  # fmt: skip

    def of_output(self, m: Any) -> list[str]:
        return [self.plus(m[0], m[1], m[2]), self.plus(m[1], f"-{m[2]}", f"-{m[3]}")]

    def to_output(self, d: Any) -> list[str]:
        """The transposed transform of `of_output`."""
        minus = self.e.value(f"fneg {self.kind()} {d[1]}")
        return [d[0], self.plus(d[0], d[1]), self.plus(d[0], f"-{d[1]}"), minus]

    def scatter(self, square: list[list[str]], tile: str) -> None:
        """Transformed numbers, each to the matrix that it belongs to."""
        values = [value for row in square for value in row]
        for value, place in zip(values, self.places, strict=True):
            self.store(value, self.at(place, tile), self.kind())
