"""cummax and cummin with their indices: one formula, along the last axis or another."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter, literal
from clew.kernels.codegen.ir import F32, F64, I64, Program, where
from clew.kernels.codegen.loops import context_word, end_module, entry
from clew.kernels.codegen.rows import row_grain
from clew.kernels.codegen.strided_rows import strided_entry
from clew.kernels.codegen.ufunc import Elementwise, Kernel, elementwise
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.runtime import jit

# NumPy takes the first loop that fits, and int64 would fit float64.
DTYPES = (I64, F32, F64)
# Elements of a task.
_GRAIN = 8192


def _step(name: str, beats: Callable[[Any, Any], Any]) -> Elementwise:
    """The next extremum and its index, from an element, the last ones, and the element's index.

    The last of equal values counts; a NaN is always a new extremum, and only a NaN comes after it.
    """
    types = [([each, each, I64, I64], [each, I64]) for each in DTYPES]

    @elementwise(f"{name}_step", 4, outputs=2, scalars=(3,), types=types)
    def next_extremum(x: Any, extremum: Any, last_index: Any, index: Any) -> Any:
        is_new = beats(x, extremum) | x.ne(x)
        return where(is_new, x, extremum), where(is_new, index, last_index)

    return next_extremum


class CumulativeExtremum(Kernel):
    """The ufunc `(n)->(n),(n)` along rows: values, and their indices as int64.

    `step` is the elementwise ufunc from one position to the next, along another axis than the last;
    `start` is the identity.
    """

    def __init__(self, name: str, beats: Callable[[Any, Any], Any], start: float) -> None:
        self.step, self.start = _step(name, beats), start
        signatures = [([each], [each, I64]) for each in DTYPES]
        super().__init__(name, self.step.function, signatures, "(n)->(n),(n)")

    def compile(self, index: int) -> int:
        program = self.step.program(index)
        key = f"{self.name} {self.start}\n{program}"
        make = functools.partial(module, self.name, program, self.start)
        return jit.machine().function(key, make, self.name)


CUMMAX = CumulativeExtremum("cummax", lambda x, extremum: x >= extremum, -math.inf)
CUMMIN = CumulativeExtremum("cummin", lambda x, extremum: x <= extremum, math.inf)


def module(name: str, step: Program, start: float) -> str:
    """The LLVM module of the kernel along rows."""
    dtype = step.inputs[0]
    e = Emitter()
    c = IRBuilder(e, LLVM_TYPE[dtype])
    with c.function(BODY):
        pointers = [context_word(e, arg, "ptr") for arg in range(3)]
        outer = [context_word(e, 3 + arg, "i64") for arg in range(3)]
        size = context_word(e, 9, "i64")
        with c.loop("%begin", "%end") as row:
            starts = [c.ptr_add(p, c.mul(row, by)) for p, by in zip(pointers, outer, strict=True)]
            _row(c, step, starts, size, _identity(start, dtype))
    entry(e, "contiguous", 3, 6, 1, row_grain(_GRAIN))
    strided_entry(e, name, "contiguous", 1, [dtype, dtype, I64], ["n"] * 3)
    end_module(e)
    return e.text()


def _identity(start: float, dtype: str) -> str:
    """An infinity; of integers the smallest or largest one."""
    if dtype == I64:
        start = -(2**63) if start < 0 else 2**63 - 1
    return literal(start, dtype)


def _row(c: IRBuilder, step: Program, starts: list[str], size: str, start: str) -> None:
    source, values, indices = starts

    def body(j: str, carried: list[str]) -> list[str]:
        given = [c.load(c.gep(source, j)), *carried, j]
        value, index = c.e.evaluate(step.roots, lambda expr: given[expr.value])
        c.store(value, c.gep(values, j))
        c.store_word(c.gep_i64(indices, j), index)
        return [value, index]

    carrying_loop(c.e, ("0", size), 1, body, [(c.llvm, start), ("i64", "0")])
