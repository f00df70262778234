"""GEMM inside of other kernels: a function that they call.

Where nothing has to be packed, there is not much to decide.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

import numpy as np

from clew.kernels.codegen.builder import TYPES, Code
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import finish
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
from clew.kernels.runtime.optimization_levels import O0

# What other kernels call, with distances in bytes: c = a b, or c = c + a b if `more`.
MULTIPLY_PARAMETERS = (
    "ptr %a, i64 %a_row, i64 %a_step, ptr %b, i64 %b_step, i64 %b_col, "
    "ptr %c, i64 %c_row, i64 %c_col, i64 %m, i64 %n, i64 %k, i64 %more"
)
# Where a matrix begins, and the distances of its rows and of its columns, in bytes.
Matrix = tuple[str, str, str]


def module(llvm: str) -> str:
    """The module of `multiply` and `pack`, which run once."""
    c = Code(Emitter(), llvm, O0)
    shape = Shape(vector_bytes(), llvm)
    _multiply(c, shape)
    _pack(c, shape)
    finish(c.e)
    return c.e.text()


def _name(function: str, llvm: str) -> str:
    """The name by which a function of products is known here."""
    return f"@clew_product_{function}_{llvm}"


def _call(c: Code, function: str, arguments: str) -> None:
    types = ", ".join(each.split()[0] for each in arguments.split(", "))
    c.e.declare(f"void {_name(function, c.llvm)}({types})")
    c.e.line(f"call void {_name(function, c.llvm)}({arguments})")


def _multiply(c: Code, shape: Shape) -> None:
    """`multiply`, for other kernels: where nothing is packed, there is not much to decide."""
    names = [each.split(" %")[1] for each in MULTIPLY_PARAMETERS.split(", ")]
    with c.function(f"void @multiply({MULTIPLY_PARAMETERS})"):
        context = c.e.value(f"alloca i64, i64 {len(FIELDS)}, align 8")
        told = c.e.value(f"alloca i64, i64 {len(gemm_panels.FIELDS)}, align 8")
        start = c.e.value(f"alloca [{shape.columns} x {c.llvm}], align 64")
        f = {name: f"%{name}" for name in names}
        some = c.compare("sgt", c.least(c.least(f["m"], f["n"]), f["k"]), "0")
        dense = c.compare("eq", f["c_col"], str(c.item))
        few = c.compare("slt", f["n"], str(MANY_COLUMNS))
        quick = c.both(c.both(is_readable(c, shape, f), dense), c.both(some, few))
        with c.when(quick):
            _multiply_as_it_is(c, shape, {**f, "start": start, "tile": start}, told)
        with c.when(c.negated(quick)):
            c.tell(context, FIELDS, f)
            _call(c, "run", f"ptr {context}, i64 1")


def _pack(c: Code, shape: Shape) -> None:
    """`pack`: a whole matrix, as panels of all its rows."""
    given = "ptr %b, i64 %b_step, i64 %b_col, i64 %k, i64 %n, ptr %shared"
    with c.function(f"void @pack({given})"):
        context = c.e.value(f"alloca i64, i64 {len(FIELDS)}, align 8")
        names = [each.split(" %")[1] for each in given.split(", ")]
        c.tell(context, FIELDS, {**{name: f"%{name}" for name in names}, "k_cut": "%k"})
        panels = c.pieces("%n", str(shape.columns))
        c.e.declare("void @clew_parallel_for(ptr, ptr, i64, i64)")
        c.e.declare(f"void {_name('pack_all', c.llvm)}(ptr, i64, i64)")
        given = f"ptr {_name('pack_all', c.llvm)}, ptr {context}, i64 {panels}, i64 2"
        c.e.line(f"call void @clew_parallel_for({given})")


def _multiply_as_it_is(c: Code, shape: Shape, f: dict[str, str], told: str) -> None:
    deep = depth_of_blocks(c, shape, f)
    f["b_panel"], f["b_down"], f["right"] = str(c.item), f["b_step"], f["n"]
    with c.loop("0", f["k"], by=deep) as k:
        f["depth"] = c.least(deep, c.sub(f["k"], k))
        f["a_from"] = c.past(f["a"], c.mul(k, f["a_step"]))
        f["b_from"] = c.past(f["b"], c.mul(k, f["b_step"]))
        is_first = c.compare("eq", k, "0")
        f["is_first"] = c.choose(is_first, "1", "0")
        f["adds"] = c.choose(is_first, f["more"], "1")
        c.tell(told, gemm_panels.FIELDS, f)
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
    jit.machine().define_symbol(f"clew_multiply_{llvm}", _functions(llvm)["multiply"])


@functools.cache
def _functions(llvm: str) -> dict[str, int]:
    """The addresses of the compiled functions, by their names."""
    machine = jit.machine()
    for name in SHARED:
        machine.define_symbol(_name(name, llvm)[1:], functions(llvm)[name])
    key = f"products inside {llvm} {vector_bytes()}"
    return machine.functions(key, lambda: module(llvm), "multiply", "pack")
