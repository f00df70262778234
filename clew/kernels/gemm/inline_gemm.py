"""GEMM inside of other kernels: a function that they call.

Where nothing has to be packed, there is not much to decide.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

import numpy as np

from clew.kernels.codegen.builder import TYPES, IRBuilder
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.gemm import gemm_panels
from clew.kernels.gemm.blocking import FIELDS
from clew.kernels.gemm.gemm import (
    MANY_COLUMNS,
    SHARED,
    depth_of_blocks,
    functions,
    is_readable,
)
from clew.kernels.gemm.microkernels import Shape
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import vector_bytes
from clew.kernels.runtime.optimization_levels import QUICK

# What other kernels call, with distances in bytes: c = a b, or c = c + a b if `more`.
MULTIPLY_PARAMETERS = (
    "ptr %a, i64 %a_row, i64 %a_step, ptr %b, i64 %b_step, i64 %b_col, "
    "ptr %c, i64 %c_row, i64 %c_col, i64 %m, i64 %n, i64 %k, i64 %more"
)
# Where a matrix begins, and the distances of its rows and of its columns, in bytes.
Matrix = tuple[str, str, str]


def module(llvm: str) -> str:
    """The module of `multiply` and `pack`, which run once."""
    c = IRBuilder(Emitter(), llvm, QUICK)
    shape = Shape(vector_bytes(), llvm)
    _multiply(c, shape)
    _pack(c, shape)
    end_module(c.e)
    return c.e.text()


def _name(function: str, llvm: str) -> str:
    """The name by which a function of products is known here."""
    return f"@clew_product_{function}_{llvm}"


def _call(c: IRBuilder, function: str, arguments: str) -> None:
    types = ", ".join(each.split()[0] for each in arguments.split(", "))
    c.e.declare(f"void {_name(function, c.llvm)}({types})")
    c.e.line(f"call void {_name(function, c.llvm)}({arguments})")


def _multiply(c: IRBuilder, shape: Shape) -> None:
    """`multiply`, for other kernels: where nothing is packed, there is not much to decide."""
    names = [each.split(" %")[1] for each in MULTIPLY_PARAMETERS.split(", ")]
    with c.function(f"void @multiply({MULTIPLY_PARAMETERS})"):
        context = c.e.value(f"alloca i64, i64 {len(FIELDS)}, align 8")
        told = c.e.value(f"alloca i64, i64 {len(gemm_panels.FIELDS)}, align 8")
        start = c.e.value(f"alloca [{shape.columns} x {c.llvm}], align 64")
        f = {name: f"%{name}" for name in names}
        some = c.icmp("sgt", c.min(c.min(f["m"], f["n"]), f["k"]), "0")
        dense = c.icmp("eq", f["c_col"], str(c.itemsize))
        few = c.icmp("slt", f["n"], str(MANY_COLUMNS))
        quick = c.and_(c.and_(is_readable(c, shape, f), dense), c.and_(some, few))
        with c.if_then(quick):
            _multiply_as_it_is(c, shape, {**f, "start": start, "tile": start}, told)
        with c.if_then(c.not_(quick)):
            c.store_context(context, FIELDS, f)
            _call(c, "run", f"ptr {context}, i64 1")


def _pack(c: IRBuilder, shape: Shape) -> None:
    """`pack`: a whole matrix, as panels of all its rows."""
    given = "ptr %b, i64 %b_step, i64 %b_col, i64 %k, i64 %n, ptr %shared"
    with c.function(f"void @pack({given})"):
        context = c.e.value(f"alloca i64, i64 {len(FIELDS)}, align 8")
        names = [each.split(" %")[1] for each in given.split(", ")]
        c.store_context(context, FIELDS, {**{name: f"%{name}" for name in names}, "k_cut": "%k"})
        panels = c.ceil_div("%n", str(shape.columns))
        c.e.declare("void @clew_run(ptr, ptr, i64, i64)")
        c.e.declare(f"void {_name('pack_all', c.llvm)}(ptr, i64, i64)")
        given = f"ptr {_name('pack_all', c.llvm)}, ptr {context}, i64 {panels}, i64 2"
        c.e.line(f"call void @clew_run({given})")


def _multiply_as_it_is(c: IRBuilder, shape: Shape, f: dict[str, str], told: str) -> None:
    deep = depth_of_blocks(c, shape, f)
    f["b_panel"], f["b_down"], f["right"] = str(c.itemsize), f["b_step"], f["n"]
    with c.loop("0", f["k"], by=deep) as k:
        f["depth"] = c.min(deep, c.sub(f["k"], k))
        f["a_from"] = c.ptr_add(f["a"], c.mul(k, f["a_step"]))
        f["b_from"] = c.ptr_add(f["b"], c.mul(k, f["b_step"]))
        is_first = c.icmp("eq", k, "0")
        f["is_first"] = c.select(is_first, "1", "0")
        f["adds"] = c.select(is_first, f["more"], "1")
        c.store_context(told, gemm_panels.FIELDS, f)
        with c.loop("0", f["n"], by=shape.columns) as left:
            _call(c, "panel", f"ptr {told}, i64 0, i64 {f['m']}, i64 {left}")


def call_multiply(
    e: Emitter, llvm: str, matrices: Sequence[Matrix], sizes: Sequence[str], more: str = "0"
) -> None:
    """In another kernel: c = a b, or c = c + a b if `more`, given a, b, c and m, n, k."""
    types = ", ".join(each.split()[0] for each in MULTIPLY_PARAMETERS.split(", "))
    e.declare(f"void @clew_multiply_{llvm}({types})")
    given = [f"ptr {start}, i64 {row}, i64 {column}" for start, row, column in matrices]
    given += [f"i64 {size}" for size in (*sizes, more)]
    e.line(f"call void @clew_multiply_{llvm}({', '.join(given)})")


def pack(matrix: np.ndarray, panels: np.ndarray) -> bool:
    """Copy a matrix into panels (panel, row, column), if they are as wide as tiles; else False."""
    llvm = TYPES.get(matrix.dtype)
    if llvm is None or panels.shape[2] != Shape(vector_bytes(), llvm).columns:
        return False
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 6)(_functions(llvm)["pack"])
    function(matrix.ctypes.data, *matrix.strides, *matrix.shape, panels.ctypes.data)
    return True


def provide_multiply(llvm: str) -> None:
    """Make `clew_multiply_float` (or double) known to the code that is loaded from now on."""
    jit.machine().provide(f"clew_multiply_{llvm}", _functions(llvm)["multiply"])


@functools.cache
def _functions(llvm: str) -> dict[str, int]:
    """The addresses of the compiled functions, by their names."""
    machine = jit.machine()
    for name in SHARED:
        machine.provide(_name(name, llvm)[1:], functions(llvm)[name])
    key = f"products inside {llvm} {vector_bytes()}"
    return machine.functions(key, lambda: module(llvm), "multiply", "pack")
