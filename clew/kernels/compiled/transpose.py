"""Transposed copies: square tiles are transposed in registers.

NumPy copies element by element. It loads every cache line again for each of its elements where
lines evict each other, as they do if the row stride is a power of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.emitter import LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import context_word, end_module, entry
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.gemm.transposed_copy import copy_matrix
from clew.kernels.runtime import jit

Array = np.ndarray

# A task has a multiple of so many rows, and at least so many elements.
_ROWS, _MIN_TASK = 32, 1 << 13
# NumPy is as fast for fewer elements, or narrower arrays.
_MIN_ELEMENTS, _MIN_WIDTH = 1 << 14, 8
# The dtypes that elements are copied as, by itemsize.
_COPIED_AS = {4: np.dtype(np.float32), 8: np.dtype(np.float64)}

_FIELDS = ("*from", "*to", "from_next", "to_next", "from_row", "from_column", "to_row", "to_column",
           "rows", "columns")  # fmt: skip


class _Transpose(Kernel):
    """The ufunc of a copy from a column-major to a row-major array."""

    def __init__(self) -> None:
        types = [([each], [each]) for each in (F32, F64)]
        super().__init__("transpose", module, types, "(m,n)->(m,n)")

    def compile(self, index: int) -> int:
        dtype = self.signatures[index][0][0]
        key = f"transpose {dtype}"
        return jit.machine().function(key, lambda: module(dtype), "transpose")


def module(dtype: str) -> str:
    """The LLVM module of the kernel."""
    c = IRBuilder(Emitter(), LLVM_TYPE[dtype])
    with c.function(BODY):
        f = {
            name.lstrip("*"): context_word(c.e, index, "ptr" if name[0] == "*" else "i64")
            for index, name in enumerate(_FIELDS)
        }
        with c.loop("%begin", "%end") as number:
            matrix = dict(f)
            for name in ("from", "to"):
                matrix[name] = c.ptr_add(f[name], c.mul(number, f[f"{name}_next"]))
            copy_matrix(c, matrix)
    entry(c.e, "transpose", 2, 6, 2, lambda e: e.value("add i64 0, 1"))
    end_module(c.e)
    return c.e.text()


_KERNEL = _Transpose()


def transposed_copy(array: Array) -> Array | None:
    """A C-contiguous copy of a transposed array; None if NumPy is as fast."""
    copied_as = _COPIED_AS.get(array.itemsize)
    if copied_as is None or array.size < _MIN_ELEMENTS or array.ndim < 2 or array.dtype.hasobject:
        return None
    source: Any = _with_few_dimensions(array)
    item, last = array.itemsize, source.ndim - 1
    row_dim = next((i for i in range(last) if source.strides[i] == item), last)
    if row_dim == last or min(source.shape[row_dim], source.shape[last]) < _MIN_WIDTH:
        return None
    result = np.empty(array.shape, array.dtype)
    target: Any = result.reshape(source.shape)
    _run(*(each.view(copied_as).swapaxes(row_dim, last - 1) for each in (source, target)))
    return result


def _with_few_dimensions(array: Array) -> Array:
    """The same array, with adjacent dimensions merged where the strides allow it."""
    shape: list[int] = []
    step = 0
    for size, stride in zip(array.shape, array.strides, strict=True):
        if shape and step == size * stride:
            shape[-1] *= size
        else:
            shape.append(size)
        step = stride
    return array.reshape(shape)


def _run(source: Array, target: Array) -> None:
    """Copy blocks of rows; these are an outer dimension, so that they are tasks."""
    kernel = _KERNEL.specialize(source)
    rows, columns = source.shape[-2:]
    each = max(_ROWS, -(-_MIN_TASK // columns // _ROWS) * _ROWS)
    middle = rows - rows % each
    if middle:
        shape = (*source.shape[:-2], middle // each, each, columns)
        kernel(*(array[..., :middle, :].reshape(shape) for array in (source, target)))
    if middle < rows:
        kernel(source[..., middle:, :], target[..., middle:, :])
