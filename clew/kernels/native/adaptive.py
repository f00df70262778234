"""Maxima of windows of any sizes over planes, compiled: adaptive max pooling."""

from __future__ import annotations

import numpy as np

from clew.kernels.native import jit
from clew.kernels.native.emitter import LLVM_TYPE, Emitter
from clew.kernels.native.ir import F32, F64, I64
from clew.kernels.native.loops import Loop, context_word, entry, finish
from clew.kernels.native.planes import plane_grain
from clew.kernels.native.ufunc import Kernel
from clew.kernels.native.vectors import carrying_loop

Array = np.ndarray
CORE = "(h,w),(r),(r),(c),(c)->(r,c),(r,c)"
# What the body finds in its context: pointers, outer steps, the steps of the core, its sizes.
ARRAYS = ("x", "top", "bottom", "left", "right", "y", "index")
SIZES = ("height", "width", "rows", "columns")
_STEPS = len(ARRAYS) + 10


class Windows(Kernel):
    """The ufunc; the core of all arrays must be contiguous."""

    def compile(self, index: int) -> int:
        machine = jit.machine()
        text = module(self.name, LLVM_TYPE[self.signatures[index][0][0]])
        return machine.load(machine.compiled(text, lambda: text, jit.NONE), self.name)[0]


def _no_formula() -> None:
    raise TypeError("windows are not reduced by a formula")


_KERNEL = Windows(
    "adaptive_max", _no_formula, [([each, *[I64] * 4], [each, I64]) for each in (F32, F64)], CORE
)


def max_of_windows(
    x: Array, rows: tuple[Array, Array], columns: tuple[Array, Array]
) -> tuple[Array, Array] | None:
    """The largest value of each window and where it is in its plane; the first, or the last NaN.

    `rows` and `columns` say where windows begin and end. None for dtypes that are not compiled for.
    """
    ufunc = _KERNEL.when(x)
    if ufunc is None:
        return None
    x = np.ascontiguousarray(x)
    values, index = ufunc(x.reshape(-1, *x.shape[-2:]), *rows, *columns)
    shape = (*x.shape[:-2], *values.shape[-2:])
    return values.reshape(shape), index.reshape(shape)


def module(name: str, llvm: str) -> str:
    """The LLVM module."""
    e = Emitter()
    e.declare("i64 @llvm.smax.i64(i64, i64)")
    e.lines.append("define internal void @body(ptr %context, i64 %begin, i64 %end) #0 {")
    f = {each: context_word(e, place, "ptr") for place, each in enumerate(ARRAYS)}
    for place, each in enumerate(SIZES, len(ARRAYS) + _STEPS):
        f[each] = context_word(e, place, "i64")
    steps = {
        each: context_word(e, len(ARRAYS) + ARRAYS.index(each), "i64")
        for each in ("x", "y", "index")
    }
    plane = Loop(e, "%begin", "%end")
    for each, step in steps.items():
        offset = e.value(f"mul i64 {plane.i}, {step}")
        f[f"{each} here"] = e.value(f"getelementptr inbounds i8, ptr {f[each]}, i64 {offset}")
    row = Loop(e, "0", f["rows"])
    column = Loop(e, "0", f["columns"])
    _window(e, llvm, f, row.i, column.i)
    column.close()
    row.close()
    plane.close()
    e.line("ret void")
    e.lines.append("}")
    entry(e, name, len(ARRAYS), _STEPS, len(SIZES), plane_grain())
    finish(e)
    return e.text()


def _at(e: Emitter, llvm: str, base: str, index: str) -> str:
    return e.value(f"getelementptr inbounds {llvm}, ptr {base}, i64 {index}")


def _window(e: Emitter, llvm: str, f: dict[str, str], row: str, column: str) -> None:
    top, bottom, left, right = (
        e.value(f"load i64, ptr {_at(e, 'i64', f[side], place)}")
        for side, place in (("top", row), ("bottom", row), ("left", column), ("right", column))
    )
    x, width = f["x here"], f["width"]
    start = e.value(f"add i64 {e.value(f'mul i64 {top}, {width}')}, {left}")
    first = e.value(f"load {llvm}, ptr {_at(e, llvm, x, start)}")

    def down(line: str, so_far: list[str]) -> list[str]:
        before = e.value(f"mul i64 {line}, {width}")

        def across(column: str, so_far: list[str]) -> list[str]:
            return _better(e, llvm, x, e.value(f"add i64 {before}, {column}"), so_far)

        found = zip((llvm, "i64"), so_far, strict=True)
        return carrying_loop(e, (left, right), 1, across, list(found))

    best, where = carrying_loop(e, (top, bottom), 1, down, [(llvm, first), ("i64", start)])
    goal = e.value(f"add i64 {e.value(f'mul i64 {row}, ' + f['columns'])}, {column}")
    e.line(f"store {llvm} {best}, ptr {_at(e, llvm, f['y here'], goal)}")
    e.line(f"store i64 {where}, ptr {_at(e, 'i64', f['index here'], goal)}")


def _better(e: Emitter, llvm: str, x: str, place: str, so_far: list[str]) -> list[str]:
    """The larger of the best so far and the number at a place, and where it is."""
    value, (best, have) = e.value(f"load {llvm}, ptr {_at(e, llvm, x, place)}"), so_far
    # Greater, or NaN: then no later number is greater, but a later NaN counts.
    not_less = e.value(f"fcmp ugt {llvm} {value}, {best}")
    number = e.value(f"fcmp ord {llvm} {value}, {value}")
    was_nan = e.value(f"fcmp uno {llvm} {best}, {best}")
    hidden = e.value(f"and i1 {number}, {was_nan}")
    better = e.value(f"and i1 {not_less}, {e.value(f'xor i1 {hidden}, true')}")
    return [
        e.value(f"select i1 {better}, {llvm} {value}, {llvm} {best}"),
        e.value(f"select i1 {better}, i64 {place}, i64 {have}"),
    ]
