"""cummax and cummin with their indices: one formula, along rows and across."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from clew.kernels.codegen.builder import Code
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter, literal
from clew.kernels.codegen.ir import F32, F64, I64, Program, postorder, where
from clew.kernels.codegen.loops import context_word, entry, finish
from clew.kernels.codegen.rows import row_grain
from clew.kernels.codegen.strided_rows import entry_for_any
from clew.kernels.codegen.ufunc import Elementwise, Kernel, elementwise
from clew.kernels.codegen.vectors import carrying_loop
from clew.kernels.runtime import jit

# Elements in a piece of work.
_GRAIN = 8192


def _step(name: str, beats: Callable[[Any, Any], Any]) -> Elementwise:
    """The next extremes and their places, from elements, the last ones, and where this is.

    The latest of equals counts; every NaN is a new extreme, and nothing else is after it.
    """
    types = [([each, each, I64, I64], [each, I64]) for each in (F32, F64)]

    @elementwise(f"{name}_step", 4, outputs=2, scalars=(3,), types=types)
    def next_extreme(x: Any, extreme: Any, place: Any, here: Any) -> Any:
        is_new = beats(x, extreme) | x.differs(x)
        return where(is_new, x, extreme), where(is_new, here, place)

    return next_extreme


class RunningExtreme(Kernel):
    """The ufunc `(n)->(n),(n)` along rows: values, and their places as int64.

    `step` is the ufunc from one row to the next, `start` what every element beats.
    """

    def __init__(self, name: str, beats: Callable[[Any, Any], Any], start: float) -> None:
        self.step, self.start = _step(name, beats), start
        signatures = [([each], [each, I64]) for each in (F32, F64)]
        super().__init__(name, self.step.function, signatures, "(n)->(n),(n)")

    def compile(self, index: int) -> int:
        program = self.step.program(index)
        key = f"{self.name} {self.start}\n{program}"
        make = functools.partial(module, self.name, program, self.start)
        return jit.machine().function(key, make, self.name)


CUMMAX = RunningExtreme("cummax", lambda x, extreme: x >= extreme, -math.inf)
CUMMIN = RunningExtreme("cummin", lambda x, extreme: x <= extreme, math.inf)


def module(name: str, step: Program, start: float) -> str:
    """The LLVM module of the kernel along rows."""
    dtype = step.inputs[0]
    e = Emitter()
    c = Code(e, LLVM_TYPE[dtype])
    e.declare("i64 @llvm.smax.i64(i64, i64)")
    with c.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
        pointers = [context_word(e, arg, "ptr") for arg in range(3)]
        outer = [context_word(e, 3 + arg, "i64") for arg in range(3)]
        size = context_word(e, 9, "i64")
        with c.loop("%begin", "%end") as row:
            starts = [c.past(p, c.mul(row, by)) for p, by in zip(pointers, outer, strict=True)]
            _row(c, step, starts, size, literal(start, dtype))
    entry(e, "dense", 3, 6, 1, row_grain(_GRAIN))
    entry_for_any(e, name, "dense", 1, [dtype, dtype, I64], ["n"] * 3)
    finish(e)
    return e.text()


def _row(c: Code, step: Program, starts: list[str], size: str, start: str) -> None:
    source, values, places = starts

    def go_on(j: str, before: list[str]) -> list[str]:
        given = [c.load(c.at(source, j)), *before, j]
        found: dict[int, str] = {}
        for expr in postorder(step.roots):
            args = [found[id(arg)] for arg in expr.args]
            is_given = expr.op == "input"
            found[id(expr)] = given[expr.value] if is_given else c.e.operation(expr, args)
        value, place = (found[id(root)] for root in step.roots)
        c.store(value, c.at(values, j))
        c.put(c.integer_at(places, j), place)
        return [value, place]

    carrying_loop(c.e, ("0", size), 1, go_on, [(c.llvm, start), ("i64", "0")])
