"""The largest or smallest element so far along rows, and where it is, in one pass."""

from __future__ import annotations

from clew.kernels.native import jit
from clew.kernels.native.code import Code
from clew.kernels.native.cores import entry_for_any
from clew.kernels.native.emitter import LLVM_TYPE, Emitter, literal
from clew.kernels.native.ir import F32, F64, I64
from clew.kernels.native.loops import context_word, entry, finish
from clew.kernels.native.rows import row_grain
from clew.kernels.native.ufunc import Kernel
from clew.kernels.native.vectors import carrying_loop

# Elements in a piece of work.
_GRAIN = 8192
# What beats the extreme so far, and what everything beats.
_WAYS = {"cummax": ("oge", float("-inf")), "cummin": ("ole", float("inf"))}


class RunningExtreme(Kernel):
    """The ufunc `(n)->(n),(n)`: values, and their places as int64."""

    def compile(self, index: int) -> int:
        machine, dtype = jit.machine(), self.signatures[index][0][0]
        code = machine.compiled(f"{self.name} {dtype}", lambda: module(self.name, dtype))
        return machine.load(code, self.name)[0]


def _no_formula() -> None:
    raise TypeError("a running extreme is not a formula")


RUNNING = {
    name: RunningExtreme(
        name, _no_formula, [([each], [each, I64]) for each in (F32, F64)], "(n)->(n),(n)"
    )
    for name in _WAYS
}


def module(name: str, dtype: str) -> str:
    """The LLVM module."""
    e, llvm = Emitter(), LLVM_TYPE[dtype]
    c, dtypes = Code(e, llvm), [dtype, dtype, I64]
    e.declare("i64 @llvm.smax.i64(i64, i64)")
    with c.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
        pointers = [context_word(e, arg, "ptr") for arg in range(3)]
        outer = [context_word(e, 3 + arg, "i64") for arg in range(3)]
        size = context_word(e, 9, "i64")
        with c.loop("%begin", "%end") as row:
            starts = [c.past(p, c.mul(row, step)) for p, step in zip(pointers, outer, strict=True)]
            _row(c, starts, size, *_WAYS[name], dtype)
    entry(e, "dense", 3, 6, 1, row_grain(_GRAIN))
    entry_for_any(e, name, "dense", 1, dtypes, ["n"] * 3)
    finish(e)
    return e.text()


def _row(c: Code, starts: list[str], size: str, beats: str, least: float, dtype: str) -> None:
    """The latest of equals counts; every NaN is a new extreme, and nothing else is after it."""
    source, values, places = starts

    def step(j: str, before: list[str]) -> list[str]:
        x = c.load(c.at(source, j))
        better = c.e.value(f"fcmp {beats} {c.llvm} {x}, {before[0]}")
        is_new = c.either(better, c.e.value(f"fcmp uno {c.llvm} {x}, {x}"))
        value, place = c.choose(is_new, x, before[0], c.llvm), c.choose(is_new, j, before[1])
        c.store(value, c.at(values, j))
        c.put(c.integer_at(places, j), place)
        return [value, place]

    carrying_loop(c.e, ("0", size), 1, step, [(c.llvm, literal(least, dtype)), ("i64", "0")])
