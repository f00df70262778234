"""The steps of an LU factorization that go column by column, and orders of rows from pivots.

Matrices are stacks of (rows, columns), contiguous. A task is a number of matrices.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.reals import Real, load_real
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
# The LLVM type of a real number of each dtype, and how many an element has.
TYPES = {
    np.dtype(np.float32): ("float", 1), np.dtype(np.float64): ("double", 1),
    np.dtype(np.complex64): ("float", 2), np.dtype(np.complex128): ("double", 2),
}  # fmt: skip
PANEL_FIELDS = ("*lu", "*pivots", "rows", "columns", "start", "end", "count")
ORDER_FIELDS = ("*order", "*pivots", "rows", "count")
_OPERATIONS_PER_TASK = 16384
# Elements of a matrix: a real number, or the real and the imaginary part.
Element = list[Real]


def factor_panel(lu: Array, pivots: Array, start: int, end: int) -> None:
    """Eliminate below the diagonal in the columns from `start` to `end`, with partial pivoting.

    The rows of the panel are then complete; below them, the columns after the panel are not yet.
    Pivots are counted from 0.
    """
    number, rows, columns = lu.shape
    context = context_of((lu, pivots), (rows, columns, start, end, pivots.shape[1]))
    grain = max(_OPERATIONS_PER_TASK // max(rows * (end - start) ** 2, 1), 1)
    _panel_function(*TYPES[lu.dtype])(address_of(context), number, grain)


def swap_rows(order: Array, pivots: Array) -> None:
    """Swap element k of each row of `order` (int64) with the one at its pivot, for each k."""
    context = context_of((order, pivots), (order.shape[1], pivots.shape[1]))
    grain = max(_OPERATIONS_PER_TASK // max(pivots.shape[1], 1), 1)
    _order_function()(address_of(context), len(order), grain)


@functools.cache
def _panel_function(llvm: str, parts: int) -> Any:
    make = functools.partial(panel_module, llvm, parts)
    return compiled(f"lu_panel {llvm} {parts}", make, "lu_panel")


@functools.cache
def _order_function() -> Any:
    return compiled("lu_order", order_module, "lu_order")


def panel_module(llvm: str, parts: int) -> str:
    e = Emitter()
    _Panel(e, llvm, parts).emit()
    end_module(e, "lu_panel")
    return e.text()


def order_module() -> str:
    e = Emitter()
    c = ImageRowBuilder(e, "double")
    with c.function(BODY):
        f = c.load_context(*ORDER_FIELDS)
        with c.loop("%begin", "%end") as matrix, c.loop("0", f["count"]) as k:
            pivot = c.load_i64(f["pivots"], c.add(c.mul(matrix, f["count"]), k))
            first = c.mul(matrix, f["rows"])
            places = [c.gep_i64(f["order"], c.add(first, each)) for each in (k, pivot)]
            values = [c.load_word(place) for place in places]
            for place, value in zip(places, reversed(values), strict=True):
                c.store_word(place, value)
    end_module(e, "lu_order")
    return e.text()


class MatrixBuilder(ImageRowBuilder):
    """A builder of arithmetic on elements of matrices and on their rows."""

    def __init__(self, e: Emitter, llvm: str, parts: int) -> None:
        super().__init__(e, llvm)
        self.parts = parts

    def element_at(self, place: str) -> Element:
        return [load_real(self, self.gep(place, str(part))) for part in range(self.parts)]

    def store_element(self, element: Element, place: str) -> None:
        for part, value in enumerate(element):
            value.store(self.gep(place, str(part)))

    def size(self, element: Element) -> Real:
        """What LAPACK compares to choose a pivot: for complex numbers not the absolute value."""
        first, *others = (part.intrinsic("fabs") for part in element)
        return first + others[0] if others else first

    def quotient(self, a: Element, b: Element) -> Element:
        if self.parts == 1:
            return [a[0] / b[0]]
        scale = self.size(b)
        real, imaginary = b[0] / scale, b[1] / scale
        divisor = (real * real + imaginary * imaginary) * scale
        return [
            (a[0] * real + a[1] * imaginary) / divisor,
            (a[1] * real - a[0] * imaginary) / divisor,
        ]

    def subtract(self, row: str, source: str, factor: Element, begin: str, end: str) -> None:
        """row -= factor * source."""
        if self.parts == 1:
            self.vectorized(begin, end, lambda i: self.subtract_reals(row, source, factor[0], i))
            return
        with self.loop(begin, end) as i:
            index = self.mul(i, "2")
            to, at = self.gep(row, index), self.gep(source, index)
            real, imaginary = (load_real(self, self.gep(at, part)) for part in "01")
            first, second = (load_real(self, self.gep(to, part)) for part in "01")
            (first - (factor[0] * real - factor[1] * imaginary)).store(to)
            imaginary_part = factor[0] * imaginary + factor[1] * real
            (second - imaginary_part).store(self.gep(to, "1"))

    def subtract_reals(self, row: str, source: str, factor: Real, i: str) -> None:
        kind = self.value_type()
        spread = factor.name
        if self.lanes > 1:
            one = self.e.value(f"insertelement {kind} poison, {self.llvm} {factor}, i32 0")
            spread = self.shuffle_vector(kind, one, "poison", [0] * self.lanes)
        product = self.e.value(f"fmul {kind} {spread}, {self.load(self.gep(source, i), kind)}")
        self.add_to(self.gep(row, i), product, kind, how="fsub")


class _Panel(MatrixBuilder):
    """`body(context, begin, end)` for some matrices."""

    def emit(self) -> None:
        with self.function(BODY):
            f = self.f = self.load_context(*PANEL_FIELDS)
            self.best_size = self.local(self.llvm, "0.0")
            self.best = self.local("i64", "0")
            with self.loop("%begin", "%end") as matrix:
                size = self.mul(matrix, f["rows"], f["columns"])
                self.matrix = self.gep(f["lu"], self.mul(size, str(self.parts)))
                with self.loop(f["start"], f["end"]) as k:
                    pivot = self.find_pivot(k)
                    place = self.add(self.mul(matrix, f["count"]), k)
                    self.store_word(self.gep_i64(f["pivots"], place), pivot)
                    with self.if_then(self.icmp("ne", pivot, k)):
                        self.swap(k, pivot)
                    self.eliminate(k)
                self.complete_rows()

    def place(self, row: str, column: str) -> str:
        index = self.add(self.mul(row, self.f["columns"]), column)
        return self.gep(self.matrix, self.mul(index, str(self.parts)))

    def element(self, row: str, column: str) -> Element:
        return self.element_at(self.place(row, column))

    def find_pivot(self, k: str) -> str:
        """The row of the largest element, the first of equal ones; of a NaN, if there is one."""
        self.size(self.element(k, k)).store(self.best_size)
        self.store_word(self.best, k)
        with self.loop(self.add(k, "1"), self.f["rows"]) as row:
            size, best = self.size(self.element(row, k)), load_real(self, self.best_size)
            is_new = self.and_(size.compare("ugt", best), best.compare("ord", best))
            size.where(is_new, best).store(self.best_size)
            self.store_word(self.best, self.select(is_new, row, self.load_word(self.best)))
        return self.load_word(self.best)

    def swap(self, first: str, second: str) -> None:
        rows = [self.place(row, "0") for row in (first, second)]

        def exchange(i: str) -> None:
            places = [self.gep(row, i) for row in rows]
            kind = self.value_type()
            values = [self.load(place, kind) for place in places]
            for place, value in zip(places, reversed(values), strict=True):
                self.store(value, place, kind)

        self.vectorized("0", self.mul(self.f["columns"], str(self.parts)), exchange)

    def eliminate(self, k: str) -> None:
        """Divide the column by the pivot, and subtract multiples of the pivot's row."""
        after = self.add(k, "1")
        pivot = self.element(k, k)
        # A column of zeros has no multipliers: it stays as it is.
        is_zero = self.size(pivot).compare("oeq", 0.0)
        one = [Real(self, "1.0"), Real(self, "0.0")]
        divisor = [one[n].where(is_zero, part) for n, part in enumerate(pivot)]
        with self.loop(after, self.f["rows"]) as row:
            factor = self.quotient(self.element(row, k), divisor)
            self.store_element(factor, self.place(row, k))
            self.subtract(self.place(row, "0"), self.place(k, "0"), factor, after, self.f["end"])

    def complete_rows(self) -> None:
        """Subtract the same multiples beside the panel, where its rows are in their order."""
        f = self.f
        with self.loop(f["start"], f["end"]) as k, self.loop(self.add(k, "1"), f["end"]) as row:
            rows = self.place(row, "0"), self.place(k, "0")
            self.subtract(*rows, self.element(row, k), f["end"], f["columns"])
