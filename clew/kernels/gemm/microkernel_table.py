"""The lazy table of microkernels, and of the helpers that pack and copy.

Each is compiled when a product first needs it, as most programs need few of them.
"""

from __future__ import annotations

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.lazy_call import call_lazily
from clew.kernels.gemm.microkernels import Tiling

# The helpers, which follow the microkernels in the table, with their parameters.
HELPERS = {
    "copy_tile": "ptr %source, i64 %source_columns, ptr %c, i64 %c_row_stride, "
    "i64 %rows, i64 %columns, i64 %accumulate, ptr %bias, i64 %bias_row_stride",
    "copy_strided": "ptr %source, i64 %source_columns, ptr %c, i64 %c_row_stride, "
    "i64 %c_col_stride, i64 %rows, i64 %columns, i64 %accumulate, ptr %bias, "
    "i64 %bias_row_stride",
    "pack_a": "ptr %a, i64 %a_k_stride, i64 %k, i64 %m, ptr %to",
    "pack_b_contiguous": "ptr %b, i64 %b_k_stride, i64 %k, ptr %to",
    "pack_b_strided": "ptr %b, i64 %b_k_stride, i64 %b_col_stride, i64 %k, i64 %last, ptr %to",
    "pack_b_transposed": "ptr %b, i64 %b_col_stride, i64 %k, ptr %to",
}


def table_symbol(tiling: Tiling) -> str:
    """The symbol of the table."""
    return f"clew_microkernels_{tiling.lanes}x{tiling.widths[0]}_{tiling.llvm}"


def signature(name: str) -> str:
    """The signature of a helper."""
    return f"void @{name}({HELPERS[name]})"


def call_helper(c: IRBuilder, tiling: Tiling, name: str, arguments: str) -> None:
    """Call a helper."""
    index = len(tiling.tiles) + list(HELPERS).index(name)
    call_lazily(c.e, table_symbol(tiling), index, arguments)


def call_microkernel(c: IRBuilder, tiling: Tiling, index: str, arguments: str) -> None:
    """Call the microkernel at an index of `Tiling.tiles`."""
    call_lazily(c.e, table_symbol(tiling), index, arguments)
