"""Adaptive max pooling, compiled: maxima of windows of any sizes."""

from __future__ import annotations

import functools
from math import prod

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.ir import F32, F64, I64
from clew.kernels.codegen.loops import end_module, entry
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.pool.separable_maps import image_grain
from clew.kernels.runtime import jit

Array = np.ndarray
CORE = "(h,w),(r),(r),(c),(c)->(r,c),(r,c)"
# The context: pointers, outer steps, steps of the core, sizes of the core.
ARRAYS = ("x", "top", "bottom", "left", "right", "y", "index")
SIZES = ("height", "width", "rows", "columns")
_STEPS = len(ARRAYS) + 10


class AdaptiveMax(Kernel):
    """The ufunc; the core of all arrays must be contiguous."""

    def compile(self, index: int) -> int:
        llvm = LLVM_TYPE[self.signatures[index][0][0]]
        make = functools.partial(module, self.name, llvm)
        return jit.machine().function(f"{self.name} {llvm}", make, self.name)


def _no_formula() -> None:
    raise TypeError("adaptive max pooling has no formula")


_KERNEL = AdaptiveMax(
    "adaptive_max", _no_formula, [([each, *[I64] * 4], [each, I64]) for each in (F32, F64)], CORE
)


def adaptive_max(
    x: Array, rows: tuple[Array, Array], columns: tuple[Array, Array]
) -> tuple[Array, Array]:
    """The largest value of each window and where it is in its plane; the first, or the last NaN.

    x is float32 or float64; `rows` and `columns` say where windows begin and end.
    """
    ufunc = _KERNEL.specialize(x)
    x = np.ascontiguousarray(x)
    values, index = ufunc(x.reshape(prod(x.shape[:-2]), *x.shape[-2:]), *rows, *columns)
    shape = (*x.shape[:-2], *values.shape[-2:])
    return values.reshape(shape), index.reshape(shape)


def module(name: str, llvm: str) -> str:
    """The LLVM module."""
    e = Emitter()
    _Body(e, llvm).emit()
    entry(e, name, len(ARRAYS), _STEPS, len(SIZES), image_grain)
    end_module(e)
    return e.text()


class _Body(ImageRowBuilder):
    """`body(context, begin, end)` for some images."""

    def emit(self) -> None:
        names = [f"*{name}" for name in ARRAYS] + [f"step{n}" for n in range(_STEPS)] + [*SIZES]
        with self.function(BODY):
            f = self.load_context(*names)
            with self.loop("%begin", "%end") as image:
                x, y, index = (
                    self.ptr_add(f[each], self.mul(image, f[f"step{ARRAYS.index(each)}"]))
                    for each in ("x", "y", "index")
                )
                with self.loop("0", f["rows"]) as row, self.loop("0", f["columns"]) as column:
                    rows = self.load_i64(f["top"], row), self.load_i64(f["bottom"], row), "1"
                    left, right = (self.load_i64(f[each], column) for each in ("left", "right"))
                    best, best_index = self.window_max(x, f["width"], rows, (left, right, "1"))
                    output = self.add(self.mul(row, f["columns"]), column)
                    self.store(best, self.gep(y, output))
                    self.store_word(self.gep_i64(index, output), best_index)
