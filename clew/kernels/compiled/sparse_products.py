"""Products of a sparse matrix in CSR and a strided one, compiled.

`product` has a task for some rows of the result: each is the sum of rows of the strided matrix,
times the elements of the sparse row, in their order. `sampled` has a task for some elements of the
sparse matrix: each is the product of a row of one matrix and a row of another. No sum is cut, so
that results do not depend on the number of threads.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import MEMORY_TYPE, Emitter
from clew.kernels.codegen.image_rows import ImageRowBuilder
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.ufunc import DTYPE
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
_FIELDS = ("*starts", "*columns", "*values", "*dense", "*out", "width")
# The dtypes that there are kernels for.
KINDS = {DTYPE[kind]: kind for kind in (F32, F64)}
_WORK_PER_TASK = 16384


def product(starts: Array, columns: Array, values: Array, dense: Array) -> Array:
    """CSR times a matrix; all arrays are contiguous, indices int64 and inside."""
    rows, width = len(starts) - 1, dense.shape[1]
    out = np.zeros((rows, width), dense.dtype)
    if not rows or not width:
        return out
    context = context_of((starts, columns, values, dense, out), (width,))
    per_row = max(columns.size * width // rows, 1)
    grain = max(_WORK_PER_TASK // per_row, 1)
    _function(KINDS[dense.dtype])(address_of(context), rows, grain)
    return out


@functools.cache
def _function(dtype: str) -> Any:
    make = functools.partial(module, dtype)
    return compiled(f"csr_product {dtype}", make, "csr_product")


def module(dtype: str) -> str:
    """The LLVM module of the kernel for a dtype."""
    e = Emitter()
    _Product(e, dtype).emit()
    end_module(e, "csr_product")
    return e.text()


class _Product(ImageRowBuilder):
    """`body(context, begin, end)` for some rows of the result."""

    def __init__(self, e: Emitter, dtype: str) -> None:
        super().__init__(e, MEMORY_TYPE[dtype])
        self.dtype = dtype

    def emit(self) -> None:
        with self.function(BODY):
            f = self.load_context(*_FIELDS)
            with self.loop("%begin", "%end") as row:
                first = self.load_i64(f["starts"], row)
                last = self.load_i64(f["starts"], self.add(row, "1"))
                target = self.gep(f["out"], self.mul(row, f["width"]))
                with self.loop(first, last) as entry:
                    value = self.load(self.gep(f["values"], entry))
                    column = self.load_i64(f["columns"], entry)
                    source = self.gep(f["dense"], self.mul(column, f["width"]))
                    self.add_row(target, source, value, f["width"])

    def add_row(self, target: str, source: str, value: str, width: str) -> None:
        """target += value * source, along a row."""

        def step(i: str) -> None:
            e = self.e
            e.lanes = self.lanes if self.lanes > 1 else 0
            factor = e.splat(self.dtype, value) if e.lanes else value
            have = e.load(self.dtype, self.gep(target, i))
            term = e.arithmetic("fmul", self.dtype, e.load(self.dtype, self.gep(source, i)), factor)
            e.store(self.dtype, e.arithmetic("fadd", self.dtype, have, term), self.gep(target, i))
            e.lanes = 0

        self.vectorized("0", width, step)
