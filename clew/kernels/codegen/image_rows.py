"""Rows of images as vectors, contiguous or strided: what convolution and pooling share.

Lines are short, and often no multiple of a vector: what is left goes in shorter vectors, and the
last elements one by one. Masks would do for all of it, but processors from AMD take ten times as
long for a masked store as for any other.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.kernels.codegen.builder import Code
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.runtime.cpu import vector_bytes

# The first number of some, where they end, and how far they are apart.
Span = tuple[str, str, str]
# The least vector that is worth its code.
_SHORTEST = 4
# Neighbours, and every other element: code for these is made of vectors. It has the number, and
# code for any stride the name of a value.
KNOWN_STRIDES = ("1", "2")


def widths(item: int) -> list[int]:
    """The lanes of vectors of elements of so many bytes that have code of their own."""
    widest = vector_bytes() // item
    return [*(widest >> n for n in range(8) if widest >> n >= _SHORTEST), 1]


class Lines(Code):
    """Code for lines; `lanes` says how many elements the body of a loop is for."""

    lanes = 1

    @property
    def widest(self) -> int:
        """The lanes of the machine's vectors."""
        return widths(self.item)[0]

    def kind(self, times: int = 1) -> str:
        """The type of what a body works on, or of so many times as many elements."""
        lanes = self.lanes * times
        return self.llvm if lanes == 1 else f"<{lanes} x {self.llvm}>"

    def in_lanes(self, begin: str, end: str, body: Callable[[str], None], spare: int = 0) -> None:
        """A body, given the first of some elements, for vectors and then for single ones.

        So many elements are left to single ones at least.
        """
        done = begin
        for lanes in widths(self.item):
            self.lanes, stop = lanes, end
            if lanes > 1:
                left = self.sub(end, done, str(spare))
                count = self.quotient(self.most(left, "0"), str(lanes))
                stop = self.add(done, self.mul(count, str(lanes)))
            with self.loop(done, stop, by=lanes) as element:
                body(element)
            done = stop

    def pairs(self, line: str, index: str) -> list[str]:
        """Two neighbours for each lane: the first ones, and the second ones."""
        if self.lanes == 1:
            return [self.load(self.at(line, self.add(index, str(n)))) for n in range(2)]
        both = self.load(self.at(line, index), self.kind(2))
        return [
            self.shuffle(self.kind(2), both, "poison", range(n, 2 * self.lanes, 2))
            for n in range(2)
        ]

    def joined(self, pair: list[str]) -> str:
        """The opposite of `pairs`, for vectors."""
        order = [lane for i in range(self.lanes) for lane in (i, i + self.lanes)]
        return self.shuffle(self.kind(), pair[0], pair[1], order)

    def repeated(self, number: str) -> str:
        """A number in all lanes."""
        if self.lanes == 1:
            return number
        one = self.e.value(f"insertelement {self.kind()} poison, {self.llvm} {number}, i32 0")
        return self.shuffle(self.kind(), one, "poison", [0] * self.lanes)

    def gathered(self, places: list[str]) -> str:
        """Elements from anywhere, one for each lane."""
        if self.lanes == 1:
            return self.load(places[0])
        found = "poison"
        for lane, place in enumerate(places):
            inserted = f"{self.llvm} {self.load(place)}, i32 {lane}"
            found = self.e.value(f"insertelement {self.kind()} {found}, {inserted}")
        return found

    def copy_line(self, source: str, target: str, begin: str, end: str) -> None:
        """target[i] = source[i] for i from begin to end."""
        self.in_lanes(begin, end, lambda i: self._copy(self.at(source, i), self.at(target, i)))

    def read_line(self, source: str, target: str, begin: str, end: str, stride: str) -> None:
        """target[i] = source[i * stride]."""

        def every_other(i: str) -> None:
            place = self.mul(i, "2")
            if self.lanes == 1:
                self._copy(self.at(source, place), self.at(target, i))
            else:
                self.store(self.pairs(source, place)[0], self.at(target, i), self.kind())

        if stride == "1":
            self.copy_line(source, target, begin, end)
        elif stride == "2":
            # The last number of a vector may lie beyond the line.
            self.in_lanes(begin, end, every_other, spare=1)
        else:
            self.lanes = 1
            with self.loop(begin, end) as i:
                self._copy(self.at(source, self.mul(i, stride)), self.at(target, i))

    def add_line(self, line: str, target: str, begin: str, end: str, stride: str) -> None:
        """target[i * stride] += line[i]."""

        def add(i: str) -> None:
            value, kind = self.load(self.at(line, i), self.kind()), self.kind()
            place = i if stride == "1" else self.mul(i, stride)
            if stride == "2" and self.lanes > 1:
                value, kind = self.joined([value, "zeroinitializer"]), self.kind(2)
            self._add_to(self.at(target, place), value, kind)

        if stride in KNOWN_STRIDES:
            # The last number of a vector may lie beyond the line, where others may write.
            self.in_lanes(begin, end, add, spare=int(stride) - 1)
        else:
            self.lanes = 1
            with self.loop(begin, end) as i:
                add(i)

    def better(
        self, value: str, best: str, here: str, where: str, places: str = "i64"
    ) -> list[str]:
        """The larger of two numbers and its place; of equal ones the first, and the last NaN."""
        e, kind = self.e, self.kind()
        truth, numbers = (
            each if self.lanes == 1 else f"<{self.lanes} x {each}>" for each in ("i1", places)
        )
        greater = e.value(f"fcmp ogt {kind} {value}, {best}")
        nan = e.value(f"fcmp uno {kind} {value}, {value}")
        is_better = e.value(f"or {truth} {greater}, {nan}")
        return [
            e.value(f"select {truth} {is_better}, {kind} {value}, {kind} {best}"),
            e.value(f"select {truth} {is_better}, {numbers} {here}, {numbers} {where}"),
        ]

    def largest(self, plane: str, width: str, rows: Span, columns: Span) -> list[str]:
        """The largest element of a window, and its place in a plane of such rows."""
        e = self.e
        start = self.add(self.mul(rows[0], width), columns[0])
        first = [(self.llvm, self.load(self.at(plane, start))), ("i64", start)]

        def down(row: str, so_far: list[str]) -> list[str]:
            before = self.mul(row, width)

            def across(column: str, so_far: list[str]) -> list[str]:
                place = self.add(before, column)
                return self.better(self.load(self.at(plane, place)), so_far[0], place, so_far[1])

            found = list(zip((self.llvm, "i64"), so_far, strict=True))
            return carrying_loop(e, columns[:2], columns[2], across, found)

        return carrying_loop(e, rows[:2], rows[2], down, first)

    def _add_to(self, place: str, value: str, kind: str) -> None:
        self.store(self.e.value(f"fadd {kind} {self.load(place, kind)}, {value}"), place, kind)

    def _copy(self, source: str, target: str) -> None:
        self.store(self.load(source, self.kind()), target, self.kind())
