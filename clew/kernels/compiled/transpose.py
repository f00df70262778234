"""Transposed copies: square tiles are transposed in registers.

NumPy copies element by element. It loads every cache line again for each of its elements where
lines evict each other, as they do if the row stride is a power of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.emitter import CACHE_LINE, LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import context_word, end_module, entry
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.gemm.packing import transposed
from clew.kernels.runtime import jit

Array = np.ndarray

# The bytes of a register that holds a row of a tile.
_REGISTER = 32
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


def copy_matrix(c: IRBuilder, f: dict[str, str]) -> None:
    """Square tiles, then the remaining columns and rows element by element."""
    lanes, item = _REGISTER // c.itemsize, str(c.itemsize)
    is_transposed = c.and_(c.icmp("eq", f["from_row"], item), c.icmp("eq", f["to_column"], item))
    tiled = {
        name: c.select(is_transposed, c.round_down(f[name], str(lanes)), "0")
        for name in ("rows", "columns")
    }
    block = CACHE_LINE // c.itemsize
    with (
        c.loop("0", tiled["columns"], by=block) as left,
        c.loop("0", tiled["rows"], by=block) as top,
        c.loop(top, c.min(c.add(top, str(block)), tiled["rows"]), by=lanes) as row,
        c.loop(left, c.min(c.add(left, str(block)), tiled["columns"]), by=lanes) as column,
    ):
        _copy_tile(c, f, row, column)
    _copy_elements(c, f, "0", f["rows"], tiled["columns"])
    _copy_elements(c, f, tiled["rows"], f["rows"], "0", tiled["columns"])


def _copy_tile(c: IRBuilder, f: dict[str, str], row: str, column: str) -> None:
    lanes = _REGISTER // c.itemsize
    vector = f"<{lanes} x {c.llvm}>"
    source, target = _element(c, f, "from", row, column), _element(c, f, "to", row, column)
    columns = []
    for _ in range(lanes):
        columns.append(c.load(source, vector))
        source = c.ptr_add(source, f["from_column"])
    for values in transposed(c, vector, columns):
        c.store(values, target, vector)
        target = c.ptr_add(target, f["to_row"])


def _copy_elements(
    c: IRBuilder, f: dict[str, str], top: str, bottom: str, left: str, right: str = ""
) -> None:
    with c.loop(top, bottom) as row, c.loop(left, right or f["columns"]) as column:
        value = c.load(_element(c, f, "from", row, column))
        c.store(value, _element(c, f, "to", row, column))


def _element(c: IRBuilder, f: dict[str, str], name: str, row: str, column: str) -> str:
    """The address of an element."""
    offset = c.add(c.mul(row, f[f"{name}_row"]), c.mul(column, f[f"{name}_column"]))
    return c.ptr_add(f[name], offset)


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
