"""GEMM inside of other kernels: `multiply`, which they call, with a short path without packing."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import IRBuilder
from clew.kernels.codegen.contexts import TYPES, ContextCall
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.gemm import gemm_panels
from clew.kernels.gemm.blocking import FIELDS
from clew.kernels.gemm.gemm import (
    EXPORTED,
    MIN_PACKED_COLUMNS,
    block_depth,
    functions,
    reads_b_in_place,
)
from clew.kernels.gemm.microkernels import Tiling
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import vector_bytes
from clew.kernels.runtime.optimization_levels import O0

# c = a b, or c = c + a b if `accumulate`; strides in bytes.
MULTIPLY_PARAMETERS = (
    "ptr %a, i64 %a_row_stride, i64 %a_k_stride, ptr %b, i64 %b_k_stride, i64 %b_col_stride, "
    "ptr %c, i64 %c_row_stride, i64 %c_col_stride, i64 %m, i64 %n, i64 %k, i64 %accumulate"
)
# The address of a matrix, and its strides between rows and between columns, in bytes.
Matrix = tuple[str, str, str]
Shape = tuple[int, ...]
# The context of `pack`.
_PACK = ("*b", "*shared_b", "b_k_stride", "b_col_stride", "k", "n")


def module(llvm: str) -> str:
    """The module of `multiply` and `pack`."""
    c = IRBuilder(Emitter(), llvm, O0)
    tiling = Tiling(vector_bytes(), llvm)
    _multiply(c, tiling)
    _pack(c, tiling)
    end_module(c.e)
    return c.e.text()


def _symbol(function: str, llvm: str) -> str:
    """The symbol of a function of gemm.py's module."""
    return f"@clew_gemm_{function}_{llvm}"


def _types(parameters: str) -> str:
    """The types of parameters or arguments, e.g. `ptr %a, i64 %k`."""
    return ", ".join(each.split()[0] for each in parameters.split(", "))


def _names(parameters: str) -> list[str]:
    return [each.split(" %")[1] for each in parameters.split(", ")]


def _call(c: IRBuilder, function: str, arguments: str) -> None:
    types = _types(arguments)
    c.e.declare(f"void {_symbol(function, c.llvm)}({types})")
    c.e.line(f"call void {_symbol(function, c.llvm)}({arguments})")


def _multiply(c: IRBuilder, tiling: Tiling) -> None:
    """`multiply`: panels at once where nothing is packed, the driver of gemm.py otherwise."""
    names = _names(MULTIPLY_PARAMETERS)
    with c.function(f"void @multiply({MULTIPLY_PARAMETERS})"):
        context = gemm_panels.allocate_context(c, FIELDS)
        panel_context = gemm_panels.allocate_context(c, gemm_panels.FIELDS)
        initial = c.e.value(f"alloca [{tiling.columns} x {c.llvm}], align 64")
        f = {name: f"%{name}" for name in names}
        is_not_empty = c.icmp("sgt", c.min(c.min(f["m"], f["n"]), f["k"]), "0")
        is_row_major = c.icmp("eq", f["c_col_stride"], str(c.itemsize))
        few = c.icmp("slt", f["n"], str(MIN_PACKED_COLUMNS))
        is_unpacked = c.and_(
            c.and_(reads_b_in_place(c, tiling, f), is_row_major), c.and_(is_not_empty, few)
        )
        with c.if_then(is_unpacked):
            _multiply_unpacked(
                c, tiling, {**f, "initial": initial, "scratch_tile": initial}, panel_context
            )
        with c.if_then(c.not_(is_unpacked)):
            c.store_context(context, FIELDS, f)
            _call(c, "gemm", f"ptr {context}, i64 1")


def _pack(c: IRBuilder, tiling: Tiling) -> None:
    """`pack`: a whole matrix into panels, with one block of k."""
    with c.function("void @pack(ptr %context)"):
        f = c.load_context(*_PACK)
        context = gemm_panels.allocate_context(c, FIELDS)
        c.store_context(context, FIELDS, {**f, "kc": f["k"]})
        panels = c.ceil_div(f["n"], str(tiling.columns))
        c.e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
        c.e.declare(f"void {_symbol('pack_all', c.llvm)}(ptr, i64, i64)")
        given = f"ptr {_symbol('pack_all', c.llvm)}, ptr {context}, i64 {panels}, i64 2"
        c.e.line(f"call void @clew_parallel_for({given})")


def _multiply_unpacked(c: IRBuilder, tiling: Tiling, f: dict[str, str], panel_context: str) -> None:
    kc = block_depth(c, tiling, f)
    f["b_panel_stride"], f["b_block_k_stride"], f["right"] = (
        str(c.itemsize),
        f["b_k_stride"],
        f["n"],
    )
    with c.loop("0", f["k"], by=kc) as k:
        f["depth"] = c.min(kc, c.sub(f["k"], k))
        f["a_block"] = c.ptr_add(f["a"], c.mul(k, f["a_k_stride"]))
        f["b_block"] = c.ptr_add(f["b"], c.mul(k, f["b_k_stride"]))
        is_first = c.icmp("eq", k, "0")
        f["is_first"] = c.select(is_first, "1", "0")
        f["accumulates"] = c.select(is_first, f["accumulate"], "1")
        c.store_context(panel_context, gemm_panels.FIELDS, f)
        with c.loop("0", f["n"], by=tiling.columns) as left:
            _call(c, "panel", f"ptr {panel_context}, i64 0, i64 {f['m']}, i64 {left}")


def call_multiply(
    e: Emitter, llvm: str, matrices: Sequence[Matrix], sizes: Sequence[str], accumulate: str = "0"
) -> None:
    """In another kernel: c = a b, or c = c + a b if `accumulate`, given a, b, c and m, n, k."""
    types = _types(MULTIPLY_PARAMETERS)
    e.declare(f"void @clew_multiply_{llvm}({types})")
    given = [f"ptr {start}, i64 {row}, i64 {column}" for start, row, column in matrices]
    given += [f"i64 {size}" for size in (*sizes, accumulate)]
    e.line(f"call void @clew_multiply_{llvm}({', '.join(given)})")


def packing(dtype: np.dtype, shape: Shape, strides: Shape, width: int) -> ContextCall | None:
    """The call that packs a matrix into panels (panel, row, column) of so many columns; None if
    tiles have another number of them."""
    llvm = TYPES.get(dtype)
    if llvm is None or width != Tiling(vector_bytes(), llvm).columns:
        return None
    return ContextCall(_pack_function(llvm), (*strides, *shape), ())


@functools.cache
def _pack_function(llvm: str) -> Any:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_functions(llvm)["pack"])


def provide_multiply(llvm: str) -> None:
    """Make `clew_multiply_float` (or double) known to the code that is loaded from now on."""
    jit.machine().define_symbol(f"clew_multiply_{llvm}", _functions(llvm)["multiply"])


@functools.cache
def _functions(llvm: str) -> dict[str, int]:
    """The addresses of the compiled functions, by their names."""
    machine = jit.machine()
    for name in EXPORTED:
        machine.define_symbol(_symbol(name, llvm)[1:], functions(llvm)[name])
    key = f"inline gemm {llvm} {vector_bytes()}"
    return machine.functions(key, lambda: module(llvm), "multiply", "pack")
