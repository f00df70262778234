"""Products of small matrices, whose sums have PyTorch's bits.

In batches of matrices with fewer than `LIMIT` multiplications each, an element is a sum of rounded
products in the order of k, without fused multiply-adds: so does PyTorch on all processors. One call
for the whole batch is also quicker than a call of BLAS for each matrix.

In products of two complex64 matrices the four sums of products of parts are each for themselves,
with fused multiply-adds, and are combined in the end: so does PyTorch's BLAS, where there are at
least `VECTOR` columns and products to add up. The sums of others are those of batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import context_word, end_module, entry
from clew.kernels.codegen.reals import Real, load_real
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.codegen.vectors import carrying_loop, lanes_for, vector_loop
from clew.kernels.runtime import jit

# Matrices with fewer multiplications than these are small.
LIMIT = 400
# Products of two complex matrices with more multiplications than these are quicker in BLAS.
COMPLEX_LIMIT = 2048
VECTOR = 4
# The same of a complex matrix and a vector, whose sums are those of batches.
VECTOR_LIMIT = 1 << 14
# The matrices of a task.
_GRAIN = "64"

_FIELDS = ("*a", "*b", "*c", "a_next", "b_next", "c_next", "a_row", "a_k", "b_k", "b_column",
           "c_row", "c_column", "m", "k", "n")  # fmt: skip
# Elements of a matrix: a real number, or the real and the imaginary part.
Element = list[Real]

_C64, _C128 = "c64", "c128"
# The LLVM type of a real number, and how many an element has.
_PARTS = {F32: ("float", 1), F64: ("double", 1), _C64: ("float", 2), _C128: ("double", 2)}


class _SmallProduct(Kernel):
    """A ufunc of matrix products; also of complex matrices."""

    dtypes: ClassVar[dict[str, np.dtype]] = {
        F32: np.dtype(np.float32), F64: np.dtype(np.float64),
        _C64: np.dtype(np.complex64), _C128: np.dtype(np.complex128),
    }  # fmt: skip

    def __init__(self, name: str, types: Iterable[str], fused: bool) -> None:
        each_type = [([each] * 2, [each]) for each in types]
        super().__init__(name, module, each_type, "(m,k),(k,n)->(m,n)")
        self.fused = fused

    def compile(self, index: int) -> int:
        dtype = self.signatures[index][0][0]
        make = partial(module, self.name, dtype, self.fused)
        return jit.machine().function(f"{self.name} {dtype}", make, self.name)

    def _is_registered(self, signature: tuple[list[str], list[str]]) -> bool:
        return False


def module(name: str, dtype: str, fused: bool) -> str:
    """The LLVM module of a kernel."""
    c = (_FusedComplex if fused else _SmallMatrices)(Emitter(), *_PARTS[dtype])
    c.emit()
    entry(c.e, name, 3, 9, 3, lambda e: e.value(f"add i64 0, {_GRAIN}"))
    end_module(c.e)
    return c.e.text()


class _SmallMatrices(IRBuilder):
    """`body(context, begin, end)` for some matrices of the batch."""

    def __init__(self, e: Emitter, llvm: str, parts: int) -> None:
        super().__init__(e, llvm)
        self.parts = parts

    def emit(self) -> None:
        with self.function(BODY):
            self.f = f = {
                name.lstrip("*"): context_word(self.e, index, "ptr" if name[0] == "*" else "i64")
                for index, name in enumerate(_FIELDS)
            }
            with self.loop("%begin", "%end") as number:
                a, b, c = (
                    self.ptr_add(f[each], self.mul(number, f[f"{each}_next"])) for each in "abc"
                )
                with self.loop("0", f["m"]) as i:
                    row = self.ptr_add(a, self.mul(i, f["a_row"]))
                    self.row(row, b, self.ptr_add(c, self.mul(i, f["c_row"])))

    def row(self, row: str, b: str, target: str) -> None:
        """One row of the result: by vectors where `b` and the result have rows in memory."""
        f, name = self.f, self.e.fresh("row")
        if self.parts == 1:
            item = str(self.itemsize)
            is_in_rows = [self.icmp("eq", f[each], item) for each in ("b_column", "c_column")]
            self.branch_unless(self.and_(*is_in_rows), f"strided{name}")
            self.vectors(row, b, target)
            self.e.line(f"br label %end{name}")
            self.e.label(f"strided{name}")
        with self.loop("0", f["n"]) as j:
            column = self.ptr_add(b, self.mul(j, f["b_column"]))
            self.dot(row, column, self.ptr_add(target, self.mul(j, f["c_column"])))
        if self.parts == 1:
            self.e.line(f"br label %end{name}")
            self.e.label(f"end{name}")

    def vectors(self, row: str, b: str, target: str) -> None:
        e, dtype = self.e, F32 if self.llvm == "float" else F64

        def elements(j: str, _: list[str]) -> list[str]:
            kind, first = e.type_of(dtype), self.gep(b, j)

            def add(k: str, total: list[str]) -> list[str]:
                factor = self.load(self.ptr_add(row, self.mul(k, self.f["a_k"])))
                others = e.load(dtype, self.ptr_add(first, self.mul(k, self.f["b_k"])))
                product = e.value(f"fmul {kind} {e.splat(dtype, factor)}, {others}")
                return [e.value(f"fadd {kind} {total[0]}, {product}")]

            start = [(kind, "zeroinitializer")]
            (total,) = carrying_loop(e, ("0", self.f["k"]), 1, add, start)
            e.store(dtype, total, self.gep(target, j))
            return []

        vector_loop(e, ("0", self.f["n"]), lanes_for([dtype]), 1, elements)

    def dot(self, row: str, column: str, target: str) -> None:
        """One element of the result."""

        def add(k: str, totals: list[str]) -> list[str]:
            x = self.element(self.ptr_add(row, self.mul(k, self.f["a_k"])))
            y = self.element(self.ptr_add(column, self.mul(k, self.f["b_k"])))
            return [str(each) for each in self.sums([Real(self, t) for t in totals], x, y)]

        start = [(self.llvm, "0.0")] * self.count
        found = carrying_loop(self.e, ("0", self.f["k"]), 1, add, start)
        for part, total in enumerate(self.combined([Real(self, each) for each in found])):
            total.store(self.gep(target, str(part)))

    def element(self, place: str) -> Element:
        return [load_real(self, self.gep(place, str(part))) for part in range(self.parts)]

    @property
    def count(self) -> int:
        """How many sums an element of the result has."""
        return self.parts

    def sums(self, totals: list[Real], x: Element, y: Element) -> list[Real]:
        """The sums with another product."""
        if self.parts == 1:
            return [totals[0] + x[0] * y[0]]
        real, imaginary = x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]
        return [totals[0] + real, totals[1] + imaginary]

    def combined(self, totals: list[Real]) -> Element:
        return totals


class _FusedComplex(_SmallMatrices):
    """The sums of products of parts, each for itself."""

    @property
    def count(self) -> int:
        return 4

    def sums(self, totals: list[Real], x: Element, y: Element) -> list[Real]:
        pairs = ((first, second) for first in x for second in y)
        return [a.fma(b, total) for total, (a, b) in zip(totals, pairs, strict=True)]

    def combined(self, totals: list[Real]) -> Element:
        return [totals[0] - totals[3], totals[1] + totals[2]]


SMALL_PRODUCT = _SmallProduct("small_product", _PARTS, fused=False)
SMALL_COMPLEX_PRODUCT = _SmallProduct("small_complex_product", [_C64], fused=True)
