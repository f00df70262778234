"""Vectorized loops over rows of images, contiguous or strided, for convolution and pooling.

Rows are short, and often no multiple of a vector: the remainder goes through narrower vectors and a
scalar loop. It is not masked, because masked stores take AMD's processors ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.runtime.cpu import vector_bytes

# Begin, end and step of a range of rows or columns.
Range = tuple[str, str, str]
# The fewest lanes that are worth a loop of their own.
_MIN_LANES = 4
# Strides with vector code, which has them as constants; code for any stride has scalar loops.
SPECIALIZED_STRIDES = ("1", "2")


def lane_counts(itemsize: int) -> list[int]:
    """The lanes of the vector loops that a row goes through, the widest first; 1 is the last."""
    widest = vector_bytes() // itemsize
    return [*(widest >> n for n in range(8) if widest >> n >= _MIN_LANES), 1]


class ImageRowBuilder(IRBuilder):
    """A builder of loops over rows; the body of a loop is for `lanes` elements."""

    lanes = 1

    @property
    def max_lanes(self) -> int:
        """The lanes of the widest vector."""
        return lane_counts(self.itemsize)[0]

    def value_type(self, times: int = 1, element: str = "") -> str:
        """The type of as many elements as there are lanes, or so many times as many."""
        lanes, element = self.lanes * times, element or self.llvm
        return element if lanes == 1 else f"<{lanes} x {element}>"

    def vectorized(
        self, begin: str, end: str, body: Callable[[str], None], min_scalars: int = 0
    ) -> None:
        """body(i) over a range: in vectors of decreasing widths, the remainder in scalars.

        At least `min_scalars` elements are left to the scalar loop.
        """
        done = begin
        for lanes in lane_counts(self.itemsize):
            self.lanes, stop = lanes, end
            if lanes > 1:
                left = self.sub(end, done, str(min_scalars))
                stop = self.add(done, self.round_down(self.max(left, "0"), str(lanes)))
            with self.loop(done, stop, by=lanes) as element:
                body(element)
            done = stop

    def deinterleave(self, row: str, index: str) -> list[str]:
        """Elements index, index + 2, ... of a row, one for each lane; and those after each."""
        if self.lanes == 1:
            return [self.load(self.gep(row, self.add(index, str(n)))) for n in range(2)]
        both = self.load(self.gep(row, index), self.value_type(2))
        return [
            self.shuffle_vector(self.value_type(2), both, "poison", range(n, 2 * self.lanes, 2))
            for n in range(2)
        ]

    def interleave(self, pair: list[str]) -> str:
        """The inverse of `deinterleave`, for vectors."""
        order = [lane for i in range(self.lanes) for lane in (i, i + self.lanes)]
        return self.shuffle_vector(self.value_type(), pair[0], pair[1], order)

    def splat(self, value: str, element: str = "") -> str:
        """A scalar in all lanes."""
        if self.lanes == 1:
            return value
        vector, element = self.value_type(element=element), element or self.llvm
        one = self.e.value(f"insertelement {vector} poison, {element} {value}, i32 0")
        return self.shuffle_vector(vector, one, "poison", [0] * self.lanes)

    def gather(self, addresses: list[str]) -> str:
        """Elements from an address for each lane."""
        if self.lanes == 1:
            return self.load(addresses[0])
        found = "poison"
        for lane, address in enumerate(addresses):
            inserted = f"{self.llvm} {self.load(address)}, i32 {lane}"
            found = self.e.value(f"insertelement {self.value_type()} {found}, {inserted}")
        return found

    def ceil(self, a: str, b: str) -> str:
        """a / b rounded up, for positive b and any a."""
        e = self.e
        quotient = e.value(f"sdiv i64 {a}, {b}")
        rest = e.value(f"srem i64 {a}, {b}")
        more = self.icmp("sgt", rest, "0")
        return self.add(quotient, e.value(f"zext i1 {more} to i64"))

    def zero(self, target: str, begin: str, end: str) -> None:
        """target[i] = 0 for i from begin to end."""
        with self.loop(begin, end) as element:
            self.store("0.0", self.gep(target, element))

    def copy_row(self, source: str, target: str, begin: str, end: str) -> None:
        """target[i] = source[i] for i from begin to end."""
        self.vectorized(begin, end, lambda i: self._copy(self.gep(source, i), self.gep(target, i)))

    def load_strided_row(self, source: str, target: str, begin: str, end: str, stride: str) -> None:
        """target[i] = source[i * stride]."""

        def even_elements(i: str) -> None:
            index = self.mul(i, "2")
            if self.lanes == 1:
                self._copy(self.gep(source, index), self.gep(target, i))
            else:
                even = self.deinterleave(source, index)[0]
                self.store(even, self.gep(target, i), self.value_type())

        if stride == "1":
            self.copy_row(source, target, begin, end)
        elif stride == "2":
            # The last odd element of a vector may lie beyond the row.
            self.vectorized(begin, end, even_elements, min_scalars=1)
        else:
            self.lanes = 1
            with self.loop(begin, end) as i:
                self._copy(self.gep(source, self.mul(i, stride)), self.gep(target, i))

    def add_strided_row(self, row: str, target: str, begin: str, end: str, stride: str) -> None:
        """target[i * stride] += row[i]."""

        def add(i: str) -> None:
            value, kind = self.load(self.gep(row, i), self.value_type()), self.value_type()
            index = i if stride == "1" else self.mul(i, stride)
            if stride == "2" and self.lanes > 1:
                value, kind = self.interleave([value, "zeroinitializer"]), self.value_type(2)
            self.add_to(self.gep(target, index), value, kind)

        if stride in SPECIALIZED_STRIDES:
            # The last odd element of a vector may lie beyond the row, where other tasks write.
            self.vectorized(begin, end, add, min_scalars=int(stride) - 1)
        else:
            self.lanes = 1
            with self.loop(begin, end) as i:
                add(i)

    def max_with_index(
        self, value: str, best: str, index: str, best_index: str, integer: str = "i64"
    ) -> list[str]:
        """The maximum and its index: the first of equal values, the last NaN."""
        e, kind = self.e, self.value_type()
        truth, integers = (self.value_type(element=each) for each in ("i1", integer))
        greater = e.value(f"fcmp ogt {kind} {value}, {best}")
        nan = e.value(f"fcmp uno {kind} {value}, {value}")
        is_better = e.value(f"or {truth} {greater}, {nan}")
        return [
            e.value(f"select {truth} {is_better}, {kind} {value}, {kind} {best}"),
            e.value(f"select {truth} {is_better}, {integers} {index}, {integers} {best_index}"),
        ]

    def window_max(self, image: str, width: str, rows: Range, columns: Range) -> list[str]:
        """The maximum of a window of an image with rows of such a width, and its flat index."""
        e = self.e
        start = self.add(self.mul(rows[0], width), columns[0])
        first = [(self.llvm, self.load(self.gep(image, start))), ("i64", start)]

        def over_rows(row: str, so_far: list[str]) -> list[str]:
            before = self.mul(row, width)

            def over_columns(column: str, so_far: list[str]) -> list[str]:
                index = self.add(before, column)
                value = self.load(self.gep(image, index))
                return self.max_with_index(value, so_far[0], index, so_far[1])

            found = list(zip((self.llvm, "i64"), so_far, strict=True))
            return carrying_loop(e, columns[:2], columns[2], over_columns, found)

        return carrying_loop(e, rows[:2], rows[2], over_rows, first)

    def _copy(self, source: str, target: str) -> None:
        self.store(self.load(source, self.value_type()), target, self.value_type())
