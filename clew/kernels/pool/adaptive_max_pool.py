"""Maxima of windows of any sizes over planes, compiled: adaptive max pooling."""

from __future__ import annotations

import functools
from math import prod

import numpy as np

from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.image_rows import Lines
from clew.kernels.codegen.ir import F32, F64, I64
from clew.kernels.codegen.loops import entry, finish
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.pool.separable_maps import plane_grain
from clew.kernels.runtime import jit

Array = np.ndarray
CORE = "(h,w),(r),(r),(c),(c)->(r,c),(r,c)"
# What the body finds in its context: pointers, outer steps, the steps of the core, its sizes.
ARRAYS = ("x", "top", "bottom", "left", "right", "y", "index")
SIZES = ("height", "width", "rows", "columns")
_STEPS = len(ARRAYS) + 10


class Windows(Kernel):
    """The ufunc; the core of all arrays must be contiguous."""

    def compile(self, index: int) -> int:
        llvm = LLVM_TYPE[self.signatures[index][0][0]]
        make = functools.partial(module, self.name, llvm)
        return jit.machine().function(f"{self.name} {llvm}", make, self.name)


def _no_formula() -> None:
    raise TypeError("windows are not reduced by a formula")


_KERNEL = Windows(
    "adaptive_max", _no_formula, [([each, *[I64] * 4], [each, I64]) for each in (F32, F64)], CORE
)


def max_of_windows(
    x: Array, rows: tuple[Array, Array], columns: tuple[Array, Array]
) -> tuple[Array, Array]:
    """The largest value of each window and where it is in its plane; the first, or the last NaN.

    x is float32 or float64; `rows` and `columns` say where windows begin and end.
    """
    ufunc = _KERNEL.when(x)
    x = np.ascontiguousarray(x)
    values, index = ufunc(x.reshape(prod(x.shape[:-2]), *x.shape[-2:]), *rows, *columns)
    shape = (*x.shape[:-2], *values.shape[-2:])
    return values.reshape(shape), index.reshape(shape)


def module(name: str, llvm: str) -> str:
    """The LLVM module."""
    e = Emitter()
    _Body(e, llvm).emit()
    e.declare("i64 @llvm.smax.i64(i64, i64)")
    entry(e, name, len(ARRAYS), _STEPS, len(SIZES), plane_grain())
    finish(e)
    return e.text()


class _Body(Lines):
    """`body(context, begin, end)` for some planes."""

    def emit(self) -> None:
        names = [f"*{name}" for name in ARRAYS] + [f"step{n}" for n in range(_STEPS)] + [*SIZES]
        with self.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
            f = self.context(*names)
            with self.loop("%begin", "%end") as plane:
                x, y, index = (
                    self.past(f[each], self.mul(plane, f[f"step{ARRAYS.index(each)}"]))
                    for each in ("x", "y", "index")
                )
                with self.loop("0", f["rows"]) as row, self.loop("0", f["columns"]) as column:
                    rows = self.integer(f["top"], row), self.integer(f["bottom"], row), "1"
                    columns = self.integer(f["left"], column), self.integer(f["right"], column), "1"
                    best, where = self.largest(x, f["width"], rows, columns)
                    goal = self.add(self.mul(row, f["columns"]), column)
                    self.store(best, self.at(y, goal))
                    self.put(self.integer_at(index, goal), where)
