"""The table of the functions that matrix products are made of: tiles, and what is around them.

Each is compiled when a product first needs it, as most programs need few of them.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.lazy_call import call_lazily
from clew.kernels.gemm.microkernels import Shape

# What comes after the tiles, with the parameters of each.
AROUND = {
    "copy": "ptr %tile, i64 %tile_row, ptr %c, i64 %c_row, i64 %rows, i64 %columns, "
    "i64 %more, ptr %added, i64 %added_row",
    "spread": "ptr %tile, i64 %tile_row, ptr %c, i64 %c_row, i64 %c_col, i64 %rows, "
    "i64 %columns, i64 %more, ptr %added, i64 %added_row",
    "pack_a": "ptr %a, i64 %step, i64 %k, i64 %m, ptr %to",
    "beside": "ptr %b, i64 %b_step, i64 %k, ptr %to",
    "gather": "ptr %b, i64 %b_step, i64 %b_col, i64 %k, i64 %last, ptr %to",
    "turn": "ptr %from, i64 %col, i64 %k, ptr %to",
}


def table(shape: Shape) -> str:
    """The name by which compiled code knows the table."""
    return f"clew_product_{shape.lanes}_{shape.llvm}"


def head(name: str) -> str:
    """How the definition of a function of the table begins."""
    return f"void @{name}({AROUND[name]})"


def call(c: IRBuilder, shape: Shape, name: str, arguments: str) -> None:
    """Call one of the functions around tiles."""
    place = len(shape.tiles) + list(AROUND).index(name)
    call_lazily(c.e, table(shape), place, arguments)


def call_tile(c: IRBuilder, shape: Shape, place: str, arguments: str) -> None:
    """Call the tile at some place of `Shape.tiles`."""
    call_lazily(c.e, table(shape), place, arguments)
