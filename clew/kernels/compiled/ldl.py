"""LDL factors of stacks of matrices, with the pivots of Bunch and Kaufman. A task is some matrices.

A matrix is its lower triangle, row by row; what lies above is neither read nor written.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.reals import Real, load_real
from clew.kernels.compiled.lu import TYPES, Element, MatrixBuilder

Array = np.ndarray
_FIELDS = ("*matrices", "*work", "*pivots", "*info", "size")
_OPERATIONS_PER_TASK = 16384
# Bounds the growth of elements alike for blocks of one and of two rows.
ALPHA = (1 + math.sqrt(17)) / 8


def factor(matrices: Array, pivots: Array, info: Array, hermitian: bool) -> None:
    """Factor contiguous matrices (count, size, size) in place; pivots and info are int64.

    Pivots count from 1. They are positive where D has one row, and twice the same negative number
    where it has a block of two. `info` gets the number of the first zero pivot, and is 0 before.
    """
    count, size, _ = matrices.shape
    work = np.empty((count, 2, size), matrices.dtype)
    context = context_of((matrices, work, pivots, info), (size,))
    grain = max(_OPERATIONS_PER_TASK // max(size**3, 1), 1)
    _function(*TYPES[matrices.dtype], hermitian)(context.ctypes.data, count, grain)


@functools.cache
def _function(llvm: str, parts: int, hermitian: bool) -> Any:
    make = functools.partial(module, llvm, parts, hermitian)
    return compiled(f"ldl {llvm} {parts} {hermitian}", make, "ldl")


def module(llvm: str, parts: int, hermitian: bool) -> str:
    e = Emitter()
    _Factors(e, llvm, parts, hermitian and parts == 2).emit()
    end_module(e, "ldl")
    return e.text()


class _Factors(MatrixBuilder):
    """`body(context, begin, end)` for some matrices."""

    def __init__(self, e: Emitter, llvm: str, parts: int, conjugates: bool) -> None:
        super().__init__(e, llvm, parts)
        self.conjugates = conjugates

    def emit(self) -> None:
        with self.function(BODY):
            f = self.f = self.load_context(*_FIELDS)
            self.best_size = self.local(self.llvm, "0.0")
            self.best, self.next = self.local("i64", "0"), self.local("i64", "0")
            self.pivot, self.width = self.local("i64", "0"), self.local("i64", "0")
            with self.loop("%begin", "%end") as matrix:
                first = self.mul(matrix, f["size"], f["size"], str(self.parts))
                self.matrix = self.gep(f["matrices"], first)
                starts = [self.add(self.mul(matrix, "2"), column) for column in "01"]
                self.work = [
                    self.gep(f["work"], self.mul(each, f["size"], str(self.parts)))
                    for each in starts
                ]
                self.store_word(self.next, "0")
                with self.loop_forever() as leave:
                    k = self.load_word(self.next)
                    self.branch_unless(self.icmp("slt", k, f["size"]), leave)
                    self.step(matrix, k)

    # -- elements --------------------------------------------------------------------------------

    def place(self, row: str, column: str) -> str:
        index = self.add(self.mul(row, self.f["size"]), column)
        return self.gep(self.matrix, self.mul(index, str(self.parts)))

    def element(self, row: str, column: str) -> Element:
        return self.element_at(self.place(row, column))

    def mirrored(self, element: Element) -> Element:
        """The element on the other side of the diagonal."""
        return [element[0], -element[1]] if self.conjugates else element

    def product(self, a: Element, b: Element) -> Element:
        if self.parts == 1:
            return [a[0] * b[0]]
        return [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]

    def minus(self, a: Element, b: Element) -> Element:
        return [x - y for x, y in zip(a, b, strict=True)]

    def swap(self, one: str, other: str, mirror: bool = False) -> None:
        values = [self.element_at(place) for place in (one, other)]
        for place, value in zip((other, one), values, strict=True):
            self.store_element(self.mirrored(value) if mirror else value, place)

    def note_largest(self, row: str, element: Element) -> None:
        """Keep the first of the largest elements."""
        size, best = self.size(element), load_real(self, self.best_size)
        is_new = size > best
        size.where(is_new, best).store(self.best_size)
        self.store_word(self.best, self.select(is_new, row, self.load_word(self.best)))

    # -- steps -----------------------------------------------------------------------------------

    def step(self, matrix: str, k: str) -> None:
        is_empty = self.choose(k)
        pivot, width = self.load_word(self.pivot), self.load_word(self.width)
        last = self.add(k, width, "-1")
        is_pair = self.icmp("eq", width, "2")
        number = self.add(pivot, "1")
        place = self.add(self.mul(matrix, self.f["size"]), k)
        number = self.select(is_pair, self.sub("0", number), number)
        self.store_word(self.gep_i64(self.f["pivots"], place), number)
        with self.if_then(is_pair):
            self.store_word(self.gep_i64(self.f["pivots"], self.add(place, "1")), number)
        with self.if_then(self.icmp("ne", pivot, last)):
            self.exchange(k, last, pivot, is_pair)
        with self.if_then(is_empty):
            info = self.gep_i64(self.f["info"], matrix)
            known = self.load_word(info)
            is_first = self.icmp("eq", known, "0")
            self.store_word(info, self.select(is_first, self.add(k, "1"), known))
        with self.if_then(self.and_(is_pair, self.not_(is_empty))):
            self.eliminate_pair(k)
        with self.if_then(self.not_(self.or_(is_pair, is_empty))):
            self.eliminate(k)
        self.store_word(self.next, self.add(k, width))

    def choose(self, k: str) -> str:
        """Choose the row to exchange and the rows of the block; whether there is only zero."""
        f = self.f
        self.store_word(self.pivot, k)
        self.store_word(self.width, "1")
        own = self.size(self.element(k, k))
        self.store("0.0", self.best_size)
        self.store_word(self.best, k)
        with self.loop(self.add(k, "1"), f["size"]) as i:
            self.note_largest(i, self.element(i, k))
        largest, row = load_real(self, self.best_size), self.load_word(self.best)
        is_zero = self.and_(own.compare("oeq", 0.0), largest.compare("oeq", 0.0))
        is_empty = self.or_(own.compare("uno", own), is_zero)
        is_large = own >= ALPHA * largest
        with self.if_then(self.not_(self.or_(is_empty, is_large))):
            self.store("0.0", self.best_size)
            with self.loop(k, row) as j:
                self.note_largest(j, self.element(row, j))
            with self.loop(self.add(row, "1"), f["size"]) as i:
                self.note_largest(i, self.element(i, row))
            beside = load_real(self, self.best_size)
            stays = own >= ALPHA * largest * (largest / beside)
            is_single = self.size(self.element(row, row)) >= ALPHA * beside
            self.store_word(self.pivot, self.select(stays, k, row))
            self.store_word(self.width, self.select(self.or_(stays, is_single), "1", "2"))
        return is_empty

    def exchange(self, k: str, last: str, pivot: str, is_pair: str) -> None:
        """Exchange two rows, and the same columns, of what is not eliminated."""
        with self.loop(self.add(pivot, "1"), self.f["size"]) as i:
            self.swap(self.place(i, last), self.place(i, pivot))
        with self.loop(self.add(last, "1"), pivot) as j:
            self.swap(self.place(j, last), self.place(pivot, j), mirror=True)
        if self.conjugates:
            corner = self.place(pivot, last)
            self.store_element(self.mirrored(self.element_at(corner)), corner)
        self.swap(self.place(last, last), self.place(pivot, pivot))
        with self.if_then(is_pair):
            self.swap(self.place(last, k), self.place(pivot, k))

    def keep_columns(self, begin: str, *columns: str) -> None:
        """What stands across the diagonal from these columns, which are then overwritten."""
        for work, column in zip(self.work, columns, strict=False):
            with self.loop(begin, self.f["size"]) as i:
                to = self.gep(work, self.mul(i, str(self.parts)))
                self.store_element(self.mirrored(self.element(i, column)), to)

    def update(self, row: str, begin: str, factors: list[Element]) -> None:
        """Subtract multiples of the kept columns from a row, up to the diagonal."""
        for work, factor in zip(self.work, factors, strict=False):
            self.subtract(self.place(row, "0"), work, factor, begin, self.add(row, "1"))
        if self.conjugates:
            Real(self, "0.0").store(self.gep(self.place(row, row), "1"))

    def eliminate(self, k: str) -> None:
        after = self.add(k, "1")
        self.keep_columns(after, k)
        divisor = self.element(k, k)
        with self.loop(after, self.f["size"]) as row:
            factor = self.quotient(self.element(row, k), divisor)
            self.update(row, after, [factor])
            self.store_element(factor, self.place(row, k))

    def eliminate_pair(self, k: str) -> None:
        second, after = self.add(k, "1"), self.add(k, "2")
        self.keep_columns(after, k, second)
        below = self.element(second, k)
        # Divided by the largest element first, so that products do not overflow.
        scale = self.size(below)
        a, c, d = (
            [part / scale for part in element]
            for element in (self.element(k, k), below, self.element(second, second))
        )
        b = self.mirrored(c)
        determinant = self.minus(self.product(a, d), self.product(b, c))
        divisor = [part * scale for part in determinant]
        with self.loop(after, self.f["size"]) as row:
            u, v = self.element(row, k), self.element(row, second)
            first = self.minus(self.product(u, d), self.product(v, c))
            other = self.minus(self.product(v, a), self.product(u, b))
            factors = [self.quotient(first, divisor), self.quotient(other, divisor)]
            self.update(row, after, factors)
            for factor, column in zip(factors, (k, second), strict=True):
                self.store_element(factor, self.place(row, column))
