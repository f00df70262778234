"""Linear maps along both axes of planes, compiled: averages, interpolation, and their adjoints.

Each row of the result is made in two steps: some rows of the input, weighted, are added up in a
buffer that stays in the nearest cache, and elements of that buffer in the row of the result.
"""

from __future__ import annotations

import numpy as np

from clew.kernels.native import jit
from clew.kernels.native.emitter import LLVM_TYPE, Emitter
from clew.kernels.native.ir import F32, F64, I64
from clew.kernels.native.loops import Loop, context_word, entry, finish
from clew.kernels.native.ufunc import Kernel

Array = np.ndarray
# Where sources are, and their weights: for rows (rows, taps), for columns (taps, columns).
Taps = tuple[Array, Array]
CORE = "(h,w),(r,t),(r,t),(s,c),(s,c)->(r,c)"
# What the body finds in its context: pointers, outer steps, the steps of the core, its sizes.
ARRAYS = ("x", "row_index", "row_weight", "column_index", "column_weight", "y")
SIZES = ("height", "width", "rows", "row_taps", "column_taps", "columns")
_STEPS = 3 * len(ARRAYS)
# Elements of the input in a piece of work.
_GRAIN = 1 << 14
_GROUP = ", !llvm.access.group !0"


class Planes(Kernel):
    """The ufunc of the map; the core of all arrays must be contiguous."""

    def compile(self, index: int) -> int:
        machine = jit.machine()
        text = module(self.name, LLVM_TYPE[self.signatures[index][0][0]])
        return machine.load(machine.compiled(text, lambda: text), self.name)[0]


def _no_formula() -> None:
    raise TypeError("planes are not mapped by a formula")


_KERNEL = Planes(
    "planes", _no_formula, [([each, I64, each, I64, each], [each]) for each in (F32, F64)], CORE
)


def combine(x: Array, rows: Taps, columns: Taps) -> Array | None:
    """y[..., r, c] = sum over taps of both axes; indices are int64, weights of x's dtype.

    None for dtypes that are not compiled for.
    """
    ufunc = _KERNEL.when(x)
    if ufunc is None:
        return None
    x = np.ascontiguousarray(x)
    planes = x.reshape(-1, *x.shape[-2:]) if x.ndim > 3 else x
    y: Array = ufunc(planes, *rows, *columns)
    return y.reshape(*x.shape[:-2], *y.shape[-2:])


def module(name: str, llvm: str) -> str:
    """The LLVM module."""
    e = Emitter()
    for function in ("ptr @malloc(i64)", "void @free(ptr)", "i64 @llvm.smax.i64(i64, i64)"):
        e.declare(function)
    _Body(e, llvm).emit()
    entry(e, name, len(ARRAYS), _STEPS, len(SIZES), plane_grain())
    finish(e)
    return e.text()


def plane_grain() -> str:
    """How many planes make a piece, for a ufunc whose first core dimensions are theirs."""
    return (
        "%h_at = getelementptr i64, ptr %dims, i64 1\n"
        "  %h = load i64, ptr %h_at\n"
        "  %w_at = getelementptr i64, ptr %dims, i64 2\n"
        "  %w = load i64, ptr %w_at\n"
        "  %size = mul i64 %h, %w\n"
        "  %some = call i64 @llvm.smax.i64(i64 %size, i64 1)\n"
        f"  %fit = udiv i64 {_GRAIN}, %some\n"
        "  %grain = call i64 @llvm.smax.i64(i64 %fit, i64 1)"
    )


class _Body:
    """`body(context, begin, end)` for some planes."""

    def __init__(self, e: Emitter, llvm: str) -> None:
        self.e, self.llvm = e, llvm
        self.f: dict[str, str] = {}

    def mul(self, a: str, *others: str) -> str:
        for other in others:
            a = self.e.value(f"mul i64 {a}, {other}")
        return a

    def add(self, a: str, b: str) -> str:
        return self.e.value(f"add i64 {a}, {b}")

    def at(self, base: str, index: str, llvm: str = "") -> str:
        return self.e.value(f"getelementptr inbounds {llvm or self.llvm}, ptr {base}, i64 {index}")

    def load(self, base: str, index: str, llvm: str = "", group: str = "") -> str:
        place = self.at(base, index, llvm)
        return self.e.value(f"load {llvm or self.llvm}, ptr {place}{group}")

    def emit(self) -> None:
        e, f = self.e, self.f
        e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
        for place, name in enumerate(ARRAYS):
            f[name] = context_word(e, place, "ptr")
        for place, name in enumerate(SIZES, len(ARRAYS) + _STEPS):
            f[name] = context_word(e, place, "i64")
        steps = [context_word(e, len(ARRAYS) + place, "i64") for place in (0, len(ARRAYS) - 1)]
        item = 4 if self.llvm == "float" else 8
        buffer = e.value(f"call ptr @malloc(i64 {self.mul(f['width'], str(item))})")
        plane = Loop(e, "%begin", "%end")
        x, y = (
            self.at(f[name], self.mul(plane.i, step), "i8")
            for name, step in zip(("x", "y"), steps, strict=True)
        )
        row = Loop(e, "0", f["rows"])
        self.down(x, buffer, row.i)
        self.across(buffer, self.at(y, self.mul(row.i, f["columns"])))
        row.close()
        plane.close()
        e.line(f"call void @free(ptr {buffer})")
        e.line("ret void")
        e.lines.append("}")

    def clear(self, target: str, count: str) -> None:
        e = self.e
        element = Loop(e, "0", count, parallel=True)
        e.line(f"store {self.llvm} 0.0, ptr {self.at(target, element.i)}{_GROUP}")
        element.close()

    def down(self, x: str, buffer: str, row: str) -> None:
        """buffer[j] = sum over t of weight[t] * x[index[t], j]."""
        e, f = self.e, self.f
        self.clear(buffer, f["width"])
        tap = Loop(e, "0", f["row_taps"])
        number = self.add(self.mul(row, f["row_taps"]), tap.i)
        weight = self.load(f["row_weight"], number)
        source = self.at(x, self.mul(self.load(f["row_index"], number, "i64"), f["width"]))
        # A weight of zero stands for no source: an infinite one must not make it NaN.
        name = e.fresh("tap")
        used = e.value(f"fcmp une {self.llvm} {weight}, 0.0")
        e.line(f"br i1 {used}, label %use{name}, label %skip{name}")
        e.label(f"use{name}")
        element = Loop(e, "0", f["width"], parallel=True)
        value = self.load(source, element.i, group=_GROUP)
        self.accumulate(buffer, element.i, e.value(f"fmul contract {self.llvm} {value}, {weight}"))
        element.close()
        e.line(f"br label %skip{name}")
        e.label(f"skip{name}")
        tap.close()

    def across(self, buffer: str, out: str) -> None:
        """out[c] = sum over t of weight[t, c] * buffer[index[t, c]]."""
        e, f, llvm = self.e, self.f, self.llvm
        self.clear(out, f["columns"])
        tap = Loop(e, "0", f["column_taps"])
        first = self.mul(tap.i, f["columns"])
        weights = self.at(f["column_weight"], first)
        indices = self.at(f["column_index"], first, "i64")
        column = Loop(e, "0", f["columns"], parallel=True)
        weight = self.load(weights, column.i, group=_GROUP)
        index = self.load(indices, column.i, "i64", _GROUP)
        value = self.load(buffer, index, group=_GROUP)
        product = e.value(f"fmul {llvm} {value}, {weight}")
        used = e.value(f"fcmp une {llvm} {weight}, 0.0")
        kept = e.value(f"select i1 {used}, {llvm} {product}, {llvm} 0.0")
        self.accumulate(out, column.i, kept)
        column.close()
        tap.close()

    def accumulate(self, target: str, index: str, value: str) -> None:
        e, place = self.e, self.at(target, index)
        have = e.value(f"load {self.llvm}, ptr {place}{_GROUP}")
        total = e.value(f"fadd contract {self.llvm} {have}, {value}")
        e.line(f"store {self.llvm} {total}, ptr {place}{_GROUP}")
