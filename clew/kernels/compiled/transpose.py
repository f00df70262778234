"""Transposed copies: square tiles are transposed in registers.

NumPy copies them number by number, and fetches each line of memory again for every one of its
numbers where the lines push each other out of the cache, as they do if a row has a power of two of
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.codegen.builder import Code
from clew.kernels.codegen.emitter import CACHE_LINE, LLVM_TYPE, Emitter
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import context_word, entry, finish
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.gemm.packing import transposed
from clew.kernels.runtime import jit

Array = np.ndarray

# The bytes of a register that a square's row is in.
_REGISTER = 32
# Rows that are made together, and the fewest elements that are worth a piece of work.
_ROWS, _PIECE = 32, 1 << 13
# Fewer elements, or narrower arrays, NumPy copies as quickly.
_FEW, _NARROW = 1 << 14, 8
# What elements are moved as: nobody looks at them.
_MOVED_AS = {4: np.dtype(np.float32), 8: np.dtype(np.float64)}

_WORDS = ("*from", "*to", "from_next", "to_next", "from_row", "from_column", "to_row", "to_column",
          "rows", "columns")  # fmt: skip


class _Turn(Kernel):
    """The ufunc of a copy, for results that lie row by row of arrays that lie column by column."""

    def __init__(self) -> None:
        types = [([each], [each]) for each in (F32, F64)]
        super().__init__("turn", module, types, "(m,n)->(m,n)")

    def compile(self, index: int) -> int:
        dtype = self.signatures[index][0][0]
        return jit.machine().function(f"turn {dtype}", lambda: module(dtype), "turn")


def module(dtype: str) -> str:
    """The LLVM module of the kernel."""
    c = Code(Emitter(), LLVM_TYPE[dtype])
    with c.function("internal void @body(ptr %context, i64 %begin, i64 %end)"):
        f = {
            name.lstrip("*"): context_word(c.e, index, "ptr" if name[0] == "*" else "i64")
            for index, name in enumerate(_WORDS)
        }
        with c.loop("%begin", "%end") as piece:
            each = dict(f)
            for name in ("from", "to"):
                each[name] = c.past(f[name], c.mul(piece, f[f"{name}_next"]))
            _piece(c, each)
    entry(c.e, "turn", 2, 6, 2, "1")
    finish(c.e)
    return c.e.text()


def _piece(c: Code, f: dict[str, str]) -> None:
    """Whole squares, then what is left beside and below them."""
    lanes, item = _REGISTER // c.item, str(c.item)
    usual = c.both(c.compare("eq", f["from_row"], item), c.compare("eq", f["to_column"], item))
    whole = {
        name: c.choose(usual, c.mul(c.quotient(f[name], str(lanes)), str(lanes)), "0")
        for name in ("rows", "columns")
    }
    tile = CACHE_LINE // c.item
    with (
        c.loop("0", whole["columns"], by=tile) as left,
        c.loop("0", whole["rows"], by=tile) as top,
        c.loop(top, c.least(c.add(top, str(tile)), whole["rows"]), by=lanes) as row,
        c.loop(left, c.least(c.add(left, str(tile)), whole["columns"]), by=lanes) as column,
    ):
        _square(c, f, row, column)
    _one_by_one(c, f, "0", f["rows"], whole["columns"])
    _one_by_one(c, f, whole["rows"], f["rows"], "0", whole["columns"])


def _square(c: Code, f: dict[str, str], row: str, column: str) -> None:
    lanes = _REGISTER // c.item
    vector = f"<{lanes} x {c.llvm}>"
    source, target = _place(c, f, "from", row, column), _place(c, f, "to", row, column)
    columns = []
    for _ in range(lanes):
        columns.append(c.load(source, vector))
        source = c.past(source, f["from_column"])
    for numbers in transposed(c, vector, columns):
        c.store(numbers, target, vector)
        target = c.past(target, f["to_row"])


def _one_by_one(
    c: Code, f: dict[str, str], top: str, bottom: str, left: str, right: str = ""
) -> None:
    with c.loop(top, bottom) as row, c.loop(left, right or f["columns"]) as column:
        number = c.load(_place(c, f, "from", row, column))
        c.store(number, _place(c, f, "to", row, column))


def _place(c: Code, f: dict[str, str], name: str, row: str, column: str) -> str:
    offset = c.add(c.mul(row, f[f"{name}_row"]), c.mul(column, f[f"{name}_column"]))
    return c.past(f[name], offset)


_TURN = _Turn()


def turned(array: Array) -> Array | None:
    """A copy of the array, row by row; None if NumPy copies it as quickly."""
    moved_as = _MOVED_AS.get(array.itemsize)
    if moved_as is None or array.size < _FEW or array.ndim < 2 or array.dtype.hasobject:
        return None
    source: Any = _with_few_dimensions(array)
    item, last = array.itemsize, source.ndim - 1
    down = next((i for i in range(last) if source.strides[i] == item), last)
    if down == last or min(source.shape[down], source.shape[last]) < _NARROW:
        return None
    result = np.empty(array.shape, array.dtype)
    target: Any = result.reshape(source.shape)
    _copy_turned(*(each.view(moved_as).swapaxes(down, last - 1) for each in (source, target)))
    return result


def _with_few_dimensions(array: Array) -> Array:
    """The same array, in which neighbours of which one goes on where the other ends are one."""
    shape: list[int] = []
    step = 0
    for size, stride in zip(array.shape, array.strides, strict=True):
        if shape and step == size * stride:
            shape[-1] *= size
        else:
            shape.append(size)
        step = stride
    return array.reshape(shape)


def _copy_turned(source: Array, target: Array) -> None:
    """In pieces of rows, as a dimension of their own: they are for all threads."""
    kernel = _TURN.when(source)
    rows, columns = source.shape[-2:]
    each = max(_ROWS, -(-_PIECE // columns // _ROWS) * _ROWS)
    whole = rows - rows % each
    if whole:
        shape = (*source.shape[:-2], whole // each, each, columns)
        kernel(*(array[..., :whole, :].reshape(shape) for array in (source, target)))
    if whole < rows:
        kernel(source[..., whole:, :], target[..., whole:, :])
