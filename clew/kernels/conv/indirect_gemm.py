"""GEMM whose first operand is read through offsets (indirect GEMM), for convolutions.

The element of `a` for a row and a k lies at the sum of an offset of the row and one of the k, both
in bytes and from tables. So the windows of a padded image are a matrix without being copied: rows
are positions, and k are the elements of a window, or the other way round. A register tile has six
rows, and columns for some vectors of a panel of `b`.

The rows of `a` are read, and those of `c` written, by whole tiles: tables and results need room for
`padded_rows` of them.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import SIZEOF, IRBuilder
from clew.kernels.gemm.microkernels import RegisterTile, Tiling

# The rows of a tile.
HEIGHT = 6

_TILE_PARAMETERS = (
    "ptr %a, ptr %rows, ptr %steps, ptr %b, ptr %c, i64 %c_row_stride, i64 %k, i64 %accumulate, "
    "ptr %initial"
)
# c = initial + a b, or c = c + initial + a b if `accumulate`, for `m` rows and `columns` columns.
_MULTIPLY_PARAMETERS = f"{_TILE_PARAMETERS}, i64 %m, i64 %columns"


def padded_rows(count: int) -> int:
    """So many rows, in whole tiles."""
    return -(-count // HEIGHT) * HEIGHT


def emit_functions(c: IRBuilder, tiling: Tiling) -> None:
    """The tiles of all widths, and `indirect_multiply`, which goes through the rows."""
    widths = range(1, tiling.widths[0] + 1)
    for width in widths:
        with c.function(f"internal void @indirect{width}({_TILE_PARAMETERS})"):
            _IndirectTile(c.e, tiling, HEIGHT, width).emit()
    with c.function(f"internal void @indirect_multiply({_MULTIPLY_PARAMETERS})"):
        wide = c.ceil_div("%columns", str(tiling.lanes))
        for width in widths:
            with (
                c.if_then(c.icmp("eq", wide, str(width))),
                c.loop("0", "%m", by=HEIGHT) as row,
            ):
                rows = c.gep_i64("%rows", row)
                target = c.ptr_add("%c", c.mul(row, "%c_row_stride"))
                c.e.line(
                    f"call void @indirect{width}(ptr %a, ptr {rows}, ptr %steps, ptr %b, "
                    f"ptr {target}, i64 %c_row_stride, i64 %k, i64 %accumulate, ptr %initial)"
                )


def call_multiply(
    c: IRBuilder, a: tuple[str, str, str], b: str, to: tuple[str, str], sizes: tuple[str, str, str],
    accumulate: str, initial: str,
) -> None:  # fmt: skip
    """Multiply `a` (its address, and tables of rows and of k) by a panel `b`.

    `to` is the address of the result and the distance of its rows in bytes; sizes are rows,
    columns and k.
    """
    m, columns, k = sizes
    c.e.line(
        f"call void @indirect_multiply(ptr {a[0]}, ptr {a[1]}, ptr {a[2]}, ptr {b}, ptr {to[0]}, "
        f"i64 {to[1]}, i64 {k}, i64 {accumulate}, ptr {initial}, i64 {m}, i64 {columns})"
    )


class _IndirectTile(RegisterTile):
    """A tile whose rows have pointers of their own, moved by the offset of each k."""

    def emit(self) -> None:
        e = self.e
        initial = self.load_vectors("%initial")
        pointers = []
        for row in range(self.height):
            place = e.value(f"getelementptr i64, ptr %rows, i64 {row}")
            offset = e.value(f"load i64, ptr {place}")
            pointers.append(e.value(f"getelementptr i8, ptr %a, i64 {offset}"))
        sums = self.loop(pointers, initial * self.height)
        rows = range(0, len(sums), self.width)
        self.epilogue([sums[first : first + self.width] for first in rows])

    def loop(self, pointers: list[str], initial: list[str]) -> list[str]:
        """The sums of the products; takes and returns the accumulators."""
        e, size = self.e, self.tiling.columns * SIZEOF[self.tiling.llvm]
        e.line("br label %loop")
        e.label("loop")
        names = [f"%sum{i}" for i in range(len(initial))]
        step = e.value("phi ptr [ %steps, %entry ], [ %next_step, %loop ]")
        b = e.value("phi ptr [ %b, %entry ], [ %next_b, %loop ]")
        count = e.value("phi i64 [ %k, %entry ], [ %left, %loop ]")
        totals = [
            e.value(f"phi {self.vector} [ {value}, %entry ], [ {name}, %loop ]")
            for value, name in zip(initial, names, strict=True)
        ]
        offset = e.value(f"load i64, ptr {step}")
        vectors = self.load_vectors(b)
        for r, pointer in enumerate(pointers):
            number = self.splat(e.value(f"getelementptr i8, ptr {pointer}, i64 {offset}"))
            row = slice(r * self.width, (r + 1) * self.width)
            self.multiply_add_row(number, vectors, totals[row], names[row])
        e.value(f"getelementptr i64, ptr {step}, i64 1", "%next_step")
        e.value(f"getelementptr i8, ptr {b}, i64 {size}", "%next_b")
        e.value(f"sub i64 {count}, 1", "%left")
        e.line("%over = icmp eq i64 %left, 0")
        e.line("br i1 %over, label %done, label %loop")
        e.label("done")
        return names
