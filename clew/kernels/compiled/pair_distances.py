"""Distances between all pairs of rows of one matrix, and their gradient, compiled.

The matrix is given by columns, (columns, rows), so that a vector has the same column of
neighbouring rows. Pairs (i, j) with i < j are in the order of `torch.pdist`. A task of the
distances is a number of rows i; a task of the gradient a number of columns, each written by one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, TYPES, IRBuilder
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter, literal
from clew.kernels.codegen.ir import F32, F64, Expr, where
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.tracing import trace
from clew.kernels.codegen.vectors import carrying_loop, lanes_for, vector_loop

Array = np.ndarray
# The norms that have kernels.
NORMS = (0.0, 1.0, 2.0, math.inf)
_FIELDS = ("*x", "*distances", "*weights", "*out", "rows", "columns")
_PAIRS_PER_TASK = 4096
_DTYPE = {"float": F32, "double": F64}


def distances(by_column: Array, p: float) -> Array:
    """The distances of all pairs, from a contiguous float32 or float64 array (columns, rows)."""
    columns, rows = by_column.shape
    out = np.empty(rows * (rows - 1) // 2, by_column.dtype)
    context = context_of((by_column, out, out, out), (rows, columns))
    grain = max(_PAIRS_PER_TASK // max(rows * columns, 1), 1)
    _function("pdist", TYPES[by_column.dtype], p)(context.ctypes.data, rows, grain)
    return out


def gradient(by_column: Array, found: Array, weights: Array, p: float) -> Array:
    """The sums over pairs of weight times slope, with the opposite sign for the second row.

    `found` are the distances; the weights are the gradients by them, for p = 2 already divided by
    the distances.
    """
    columns, rows = by_column.shape
    out = np.zeros_like(by_column)
    context = context_of((by_column, found, weights, out), (rows, columns))
    grain = max(_PAIRS_PER_TASK // max(rows * rows, 1), 1)
    _function("pdist_slopes", TYPES[by_column.dtype], p)(context.ctypes.data, columns, grain)
    return out


@functools.cache
def _function(name: str, llvm: str, p: float) -> Any:
    make = functools.partial(module, name, llvm, p)
    return compiled(f"{name} {llvm} {p}", make, name)


def module(name: str, llvm: str, p: float) -> str:
    e = Emitter()
    pairs = _Pairs(e, llvm, p)
    with pairs.function(BODY):
        (pairs.emit_distances if name == "pdist" else pairs.emit_slopes)()
    end_module(e, name)
    return e.text()


def _next_total(p: float, total: Any, difference: Any) -> Any:
    """What a column adds to the distance."""
    size = difference.abs()
    if p == 0:
        return total + where(size > 0.0, size.like(1.0), size)
    if p == 1:
        return total + size
    if p == 2:
        return total + size * size
    return where((size > total) | size.ne(size), size, total)


def _slope(p: float, distance: Any, weight: Any, difference: Any) -> Any:
    """The derivative of the distance by a column, times the weight."""
    if p == 2:
        return weight * difference
    step = where(difference > 0.0, weight, where(difference < 0.0, -weight, difference * 0.0))
    step = where(difference.ne(difference), difference, step)
    if p == 1:
        return step
    off = (difference.abs() - distance).abs()
    # Only what has the size of the largest moves the distance; NaN where that is infinite.
    return where(off.eq(0.0), step, where(off > 0.0, step * 0.0, off))


class _Pairs(IRBuilder):
    """The loops over pairs; vectors are along the second row of a pair."""

    def __init__(self, e: Emitter, llvm: str, p: float) -> None:
        super().__init__(e, llvm)
        self.p, self.dtype = p, _DTYPE[llvm]
        self.lanes = lanes_for([self.dtype])

    def formula(self, function: Callable[..., Any], inputs: int) -> list[Expr]:
        given = [self.dtype] * inputs
        return trace(functools.partial(function, self.p), given, [self.dtype], False).roots

    def evaluate(self, roots: list[Expr], *given: str) -> str:
        return self.e.evaluate(roots, lambda expr: given[expr.value])[0]

    def pairs_before(self, i: str) -> str:
        """The number of pairs before (i, i + 1), less i + 1: where pair (i, 0) would be."""
        rows = self.f["rows"]
        before = self.mul(i, self.sub(self.add(rows, rows), i, "1"))
        return self.sub(self.udiv(before, "2"), i, "1")

    def difference(self, column: str, first: str, j: str) -> str:
        """The difference of a row's element, in all lanes, and those of other rows."""
        other = self.e.load(self.dtype, self.gep(column, j))
        return self.e.value(f"fsub {self.e.type_of(self.dtype)} {first}, {other}")

    def emit_distances(self) -> None:
        e = self.e
        self.f = f = self.load_context(*_FIELDS)
        add = self.formula(_next_total, 2)
        with self.loop("%begin", "%end") as i:
            out = self.gep(f["out"], self.pairs_before(i))

            def pairs(j: str, _: list[str], i: str = i, out: str = out) -> list[str]:
                start = [(e.type_of(self.dtype), e.constant(0.0, self.dtype))]

                def over_columns(k: str, total: list[str]) -> list[str]:
                    column = self.gep(f["x"], self.mul(k, f["rows"]))
                    first = e.splat(self.dtype, self.load(self.gep(column, i)))
                    return [self.evaluate(add, total[0], self.difference(column, first, j))]

                (total,) = carrying_loop(e, ("0", f["columns"]), 1, over_columns, start)
                if self.p == 2:
                    total = e.call("sqrt", self.dtype, [total])
                e.store(self.dtype, total, self.gep(out, j))
                return []

            vector_loop(e, (self.add(i, "1"), f["rows"]), self.lanes, 1, pairs)

    def emit_slopes(self) -> None:
        e = self.e
        self.f = f = self.load_context(*_FIELDS)
        slope = self.formula(_slope, 3)
        kind = f"<{self.lanes} x {self.llvm}>"
        with self.loop("%begin", "%end") as k:
            column, out = (self.gep(f[name], self.mul(k, f["rows"])) for name in ("x", "out"))
            with self.loop("0", f["rows"]) as i:
                first = self.load(self.gep(column, i))
                before = self.pairs_before(i)

                def pairs(
                    j: str, total: list[str], first: str = first, before: str = before,
                    column: str = column, out: str = out,
                ) -> list[str]:  # fmt: skip
                    pair = self.add(before, j)
                    distance, weight = (
                        e.load(self.dtype, self.gep(f[name], pair))
                        for name in ("distances", "weights")
                    )
                    spread = e.splat(self.dtype, first)
                    step = self.evaluate(
                        slope, distance, weight, self.difference(column, spread, j)
                    )
                    if e.mask:
                        truth = e.value_type("i1")
                        kept = f"{kind} {step}, {kind} zeroinitializer"
                        step = e.value(f"select {truth} {e.mask}, {kept}")
                    place = self.gep(out, j)
                    had = e.load(self.dtype, place)
                    e.store(self.dtype, e.value(f"fsub {kind} {had}, {step}"), place)
                    return [e.value(f"fadd {kind} {total[0]}, {step}")]

                start = [(kind, "zeroinitializer")]
                span = (self.add(i, "1"), f["rows"])
                (total,) = vector_loop(e, span, self.lanes, 1, pairs, start)
                self.add_to(self.gep(out, i), self.sum_of_lanes(total, kind))

    def sum_of_lanes(self, vector: str, kind: str) -> str:
        e = self.e
        name = f"@llvm.vector.reduce.fadd.v{self.lanes}{'f32' if self.itemsize == 4 else 'f64'}"
        e.declare(f"{self.llvm} {name}({self.llvm}, {kind})")
        zero = literal(0.0, self.dtype)
        return e.value(f"call reassoc nsz {self.llvm} {name}({self.llvm} {zero}, {kind} {vector})")
