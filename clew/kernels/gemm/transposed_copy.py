"""Copies of transposed matrices inside of kernels: square tiles are transposed in registers."""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.gemm.packing import transposed
from clew.kernels.runtime.cpu import CACHE_LINE

# The bytes of a register that holds a row of a tile.
_REGISTER = 32


def copy_matrix(c: IRBuilder, f: dict[str, str]) -> None:
    """Copy `rows` × `columns` elements; all distances in bytes.

    Where the source is column-major and the target row-major, in square tiles, then the remaining
    columns and rows element by element.
    """
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
