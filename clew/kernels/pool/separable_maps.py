"""Separable linear maps over planes, compiled: average pooling, interpolation, their adjoints.

Each row of the result is made in two steps: some rows of the input, weighted, are added up in a
buffer that stays in the nearest cache, and elements of that buffer in the row of the result.
"""

from __future__ import annotations

import functools

import numpy as np

from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.image_rows import Lines
from clew.kernels.codegen.ir import F32, F64, I64
from clew.kernels.codegen.loops import entry, finish
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.runtime import jit

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


class Planes(Kernel):
    """The ufunc of the map; the core of all arrays must be contiguous."""

    def compile(self, index: int) -> int:
        llvm = LLVM_TYPE[self.signatures[index][0][0]]
        make = functools.partial(module, self.name, llvm)
        return jit.machine().function(f"planes {llvm}", make, self.name)


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
    e.declare("i64 @llvm.smax.i64(i64, i64)")
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


class _Body(Lines):
    """`body(context, begin, end)` for some planes."""

    def emit(self) -> None:
        names = [f"*{name}" for name in ARRAYS] + [f"step{n}" for n in range(_STEPS)] + [*SIZES]
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
            self.f = f = self.context(*names)
            buffer = self.buffer(f["width"])
            with self.loop("%begin", "%end") as plane:
                x = self.past(f["x"], self.mul(plane, f["step0"]))
                y = self.past(f["y"], self.mul(plane, f[f"step{len(ARRAYS) - 1}"]))
                with self.loop("0", f["rows"]) as row:
                    self.down(x, buffer, row)
                    self.across(buffer, self.at(y, self.mul(row, f["columns"])))
            self.release(buffer)

    def down(self, x: str, buffer: str, row: str) -> None:
        """buffer[j] = sum over t of weight[t] * x[index[t], j]."""
        e, f = self.e, self.f
        self.put_zeros(buffer, f["width"])
        with self.loop("0", f["row_taps"]) as tap:
            number = self.add(self.mul(row, f["row_taps"]), tap)
            weight = self.load(self.at(f["row_weight"], number))
            source = self.at(x, self.mul(self.integer(f["row_index"], number), f["width"]))

            def turn(j: str) -> None:
                value, kind = self.load(self.at(source, j), self.kind()), self.kind()
                product = e.value(f"fmul contract {kind} {value}, {self.repeated(weight)}")
                self.accumulate(buffer, j, product)

            # A weight of zero stands for no source: an infinite one must not make it NaN.
            with self.when(e.value(f"fcmp une {self.llvm} {weight}, 0.0")):
                self.in_lanes("0", f["width"], turn)

    def across(self, buffer: str, out: str) -> None:
        """out[c] = sum over t of weight[t, c] * buffer[index[t, c]]."""
        e, f = self.e, self.f
        self.put_zeros(out, f["columns"])
        with self.loop("0", f["column_taps"]) as tap:
            first = self.mul(tap, f["columns"])

            def turn(c: str) -> None:
                place, kind = self.add(first, c), self.kind()
                weight = self.load(self.at(f["column_weight"], place), kind)
                sources = [
                    self.at(buffer, self.integer(f["column_index"], self.add(place, str(lane))))
                    for lane in range(self.lanes)
                ]
                product = e.value(f"fmul {kind} {self.gathered(sources)}, {weight}")
                zeros = "0.0" if self.lanes == 1 else "zeroinitializer"
                used = e.value(f"fcmp une {kind} {weight}, {zeros}")
                truth = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
                kept = e.value(f"select {truth} {used}, {kind} {product}, {kind} {zeros}")
                self.accumulate(out, c, kept)

            self.in_lanes("0", f["columns"], turn)

    def accumulate(self, target: str, index: str, value: str) -> None:
        place, kind = self.at(target, index), self.kind()
        total = self.e.value(f"fadd contract {kind} {self.load(place, kind)}, {value}")
        self.store(total, place, kind)
