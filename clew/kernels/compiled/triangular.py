"""Back substitution in stacks of upper triangles, compiled.

A task is a number of systems. Triangles may have any strides, also negative ones: a lower triangle,
reversed in both directions, is an upper one.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.compiled.lu import TYPES, MatrixBuilder
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
_FIELDS = (
    "*a", "*x", "a_batch", "a_row", "a_column", "x_batch", "x_row", "size", "columns", "is_unit",
)  # fmt: skip
_OPERATIONS_PER_TASK = 16384


def substitute(a: Array, x: Array, unitriangular: bool) -> None:
    """Replace x (batch, size, columns) by the solutions; the rows of x are contiguous.

    What lies below the diagonal of a (batch, size, size) is not read, with `unitriangular` nor is
    the diagonal.
    """
    batch, size, columns = x.shape
    strides = (*a.strides, *x.strides[:2])
    steps = (stride // a.itemsize for stride in strides)
    context = context_of((a, x), (*steps, size, columns, int(unitriangular)))
    grain = max(_OPERATIONS_PER_TASK // max(size * size * columns, 1), 1)
    _function(*TYPES[x.dtype])(address_of(context), batch, grain)


@functools.cache
def _function(llvm: str, parts: int) -> Any:
    make = functools.partial(module, llvm, parts)
    return compiled(f"substitution {llvm} {parts}", make, "substitution")


def module(llvm: str, parts: int) -> str:
    e = Emitter()
    _Substitution(e, llvm, parts).emit()
    end_module(e, "substitution")
    return e.text()


class _Substitution(MatrixBuilder):
    """`body(context, begin, end)` for some systems."""

    def emit(self) -> None:
        with self.function(BODY):
            f = self.f = self.load_context(*_FIELDS)
            is_divided = self.icmp("eq", f["is_unit"], "0")
            with self.loop("%begin", "%end") as system:
                self.a = self.place(f["a"], self.mul(system, f["a_batch"]))
                self.x = self.place(f["x"], self.mul(system, f["x_batch"]))
                with self.loop("0", f["size"]) as done:
                    k = self.sub(f["size"], done, "1")
                    with self.if_then(is_divided):
                        self.divide_row(k)
                    with self.loop("0", k) as row:
                        factor = self.element_at(self.coefficient(row, k))
                        rows = self.row(row), self.row(k)
                        self.subtract(*rows, factor, "0", f["columns"])

    def place(self, base: str, index: str) -> str:
        return self.gep(base, self.mul(index, str(self.parts)))

    def coefficient(self, row: str, column: str) -> str:
        f = self.f
        return self.place(
            self.a, self.add(self.mul(row, f["a_row"]), self.mul(column, f["a_column"]))
        )

    def row(self, row: str) -> str:
        return self.place(self.x, self.mul(row, self.f["x_row"]))

    def divide_row(self, k: str) -> None:
        divisor = self.element_at(self.coefficient(k, k))
        row = self.row(k)
        with self.loop("0", self.f["columns"]) as column:
            place = self.place(row, column)
            self.store_element(self.quotient(self.element_at(place), divisor), place)
