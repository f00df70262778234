"""Separable linear maps over images, compiled: average pooling, interpolation, their adjoints.

Each row of the result takes two steps: a weighted sum of rows of the input, to a buffer that stays
in the first-level cache, and then weighted sums of elements of that buffer.
"""

from __future__ import annotations

import functools

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.ir import F32, F64, I64
from clew.kernels.codegen.loops import end_module, entry, loop_argument, rows_per_task
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.runtime import jit

Array = np.ndarray
# Indices and weights of the taps: of rows (rows, taps), of columns (taps, columns).
Taps = tuple[Array, Array]
CORE = "(h,w),(r,t),(r,t),(s,c),(s,c)->(r,c)"
# The context: pointers, outer steps, steps of the core, sizes of the core.
ARRAYS = ("x", "row_index", "row_weight", "column_index", "column_weight", "y")
SIZES = ("height", "width", "rows", "row_taps", "column_taps", "columns")
_STEPS = 3 * len(ARRAYS)
# Elements of the input in a task.
_GRAIN = 1 << 14


class SeparableMap(Kernel):
    """The ufunc of the map; the core of all arrays must be contiguous."""

    def compile(self, index: int) -> int:
        llvm = LLVM_TYPE[self.signatures[index][0][0]]
        make = functools.partial(module, self.name, llvm)
        return jit.machine().function(f"separable map {llvm}", make, self.name)


def _no_formula() -> None:
    raise TypeError("separable maps have no formula")


KERNEL = SeparableMap(
    "separable_map",
    _no_formula,
    [([each, I64, each, I64, each], [each]) for each in (F32, F64)],
    CORE,
)


def separable_map(x: Array, rows: Taps, columns: Taps) -> Array | None:
    """y[..., r, c] = sum over the taps of both axes; indices are int64, weights of x's dtype.

    None for dtypes without a kernel.
    """
    ufunc = KERNEL.specialize(x)
    if ufunc is None:
        return None
    x = np.ascontiguousarray(x)
    images = x.reshape(-1, *x.shape[-2:]) if x.ndim > 3 else x
    y: Array = ufunc(images, *rows, *columns)
    return y.reshape(*x.shape[:-2], *y.shape[-2:])


def module(name: str, llvm: str) -> str:
    """The LLVM module."""
    e = Emitter()
    _Body(e, llvm).emit()
    entry(e, name, len(ARRAYS), _STEPS, len(SIZES), image_grain)
    end_module(e)
    return e.text()


def image_grain(e: Emitter) -> str:
    """The images of a task, for a ufunc whose first core dimensions are height and width."""
    height, width = loop_argument(e, "dims", 1), loop_argument(e, "dims", 2)
    return rows_per_task(e, _GRAIN, e.value(f"mul i64 {height}, {width}"))


class _Body(ImageRowBuilder):
    """`body(context, begin, end)` for some images."""

    def emit(self) -> None:
        names = [f"*{name}" for name in ARRAYS] + [f"step{n}" for n in range(_STEPS)] + [*SIZES]
        with self.function(BODY):
            self.f = f = self.load_context(*names)
            buffer = self.malloc(f["width"])
            with self.loop("%begin", "%end") as image:
                x = self.ptr_add(f["x"], self.mul(image, f["step0"]))
                y = self.ptr_add(f["y"], self.mul(image, f[f"step{len(ARRAYS) - 1}"]))
                with self.loop("0", f["rows"]) as row:
                    self.map_rows(x, buffer, row)
                    self.map_columns(buffer, self.gep(y, self.mul(row, f["columns"])))
            self.free(buffer)

    def map_rows(self, x: str, buffer: str, row: str) -> None:
        """buffer[j] = sum over t of weight[t] * x[index[t], j]."""
        e, f = self.e, self.f
        self.fill_zeros(buffer, f["width"])
        with self.loop("0", f["row_taps"]) as tap:
            number = self.add(self.mul(row, f["row_taps"]), tap)
            weight = self.load(self.gep(f["row_weight"], number))
            source = self.gep(x, self.mul(self.load_i64(f["row_index"], number), f["width"]))

            def body(j: str) -> None:
                value, kind = self.load(self.gep(source, j), self.value_type()), self.value_type()
                product = e.value(f"fmul contract {kind} {value}, {self.splat(weight)}")
                self.add_to(self.gep(buffer, j), product, kind, "fadd contract")

            # A tap of weight zero is skipped: times an infinite source it would be NaN.
            with self.if_then(e.value(f"fcmp une {self.llvm} {weight}, 0.0")):
                self.vectorized("0", f["width"], body)

    def map_columns(self, buffer: str, out: str) -> None:
        """out[c] = sum over t of weight[t, c] * buffer[index[t, c]]."""
        e, f = self.e, self.f
        self.fill_zeros(out, f["columns"])
        with self.loop("0", f["column_taps"]) as tap:
            first = self.mul(tap, f["columns"])

            def body(c: str) -> None:
                tap_index, kind = self.add(first, c), self.value_type()
                weight = self.load(self.gep(f["column_weight"], tap_index), kind)
                sources = [
                    self.gep(
                        buffer, self.load_i64(f["column_index"], self.add(tap_index, str(lane)))
                    )
                    for lane in range(self.lanes)
                ]
                product = e.value(f"fmul {kind} {self.gather(sources)}, {weight}")
                zeros = "0.0" if self.lanes == 1 else "zeroinitializer"
                used = e.value(f"fcmp une {kind} {weight}, {zeros}")
                truth = self.value_type(element="i1")
                term = e.value(f"select {truth} {used}, {kind} {product}, {kind} {zeros}")
                self.add_to(self.gep(out, c), term, kind, "fadd contract")

            self.vectorized("0", f["columns"], body)
