"""Distances between rows of one matrix or of two, and their gradient, compiled.

Matrices are given by columns, (columns, rows), so that a vector has the same column of neighbouring
rows. The pairs (i, j) of one matrix have i < j and the order of `torch.pdist`; of two matrices all
are pairs. A task of the distances is a number of rows i, of the gradient a number of columns.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import TYPES, compiled, context_of
from clew.kernels.codegen.emitter import Emitter, literal
from clew.kernels.codegen.ir import F32, F64, Expr, where
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.tracing import trace
from clew.kernels.codegen.vectors import carrying_loop, lanes_for, vector_loop
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
# The norms that have kernels.
NORMS = (0.0, 1.0, 2.0, math.inf)
_FIELDS = ("*x", "*other", "*distances", "*weights", "*out", "rows", "others", "columns")
_PAIRS_PER_TASK = 4096
_DTYPE = {"float": F32, "double": F64}


def distances(by_column: Array, p: float) -> Array:
    """The distances of all pairs, from a contiguous float32 or float64 array (columns, rows)."""
    rows = by_column.shape[1]
    out = np.empty(rows * (rows - 1) // 2, by_column.dtype)
    _run("pdist", by_column, by_column, out, out, out, p)
    return out


def gradient(by_column: Array, found: Array, weights: Array, p: float) -> Array:
    """The sums over pairs of weight times slope, with the opposite sign for the second row.

    `found` are the distances; the weights are the gradients by them, for p = 2 already divided by
    the distances.
    """
    out = np.zeros_like(by_column)
    _run("pdist_slopes", by_column, by_column, found, weights, out, p)
    return out


def distances_between(by_column: Array, other: Array, p: float, out: Array) -> None:
    """Those of all rows of one matrix to all rows of the other one."""
    _run("cdist", by_column, other, out, out, out, p)


def gradient_between(
    by_column: Array, other: Array, found: Array, weights: Array, p: float
) -> Array:
    """The gradient by the first matrix; as `gradient`, with `found` and weights (rows, others)."""
    out = np.zeros_like(by_column)
    _run("cdist_slopes", by_column, other, found, weights, out, p)
    return out


def _run(
    name: str, x: Array, other: Array, found: Array, weights: Array, out: Array, p: float
) -> None:
    columns, rows = x.shape
    context = context_of((x, other, found, weights, out), (rows, other.shape[1], columns))
    of_columns = name.endswith("slopes")
    cost = other.shape[1] * (rows if of_columns else columns)
    count = columns if of_columns else rows
    function = _function(name, TYPES[x.dtype], p)
    function(address_of(context), count, max(_PAIRS_PER_TASK // max(cost, 1), 1))


@functools.cache
def _function(name: str, llvm: str, p: float) -> Any:
    make = functools.partial(module, name, llvm, p)
    return compiled(f"{name} {llvm} {p}", make, name)


def module(name: str, llvm: str, p: float) -> str:
    e = Emitter()
    pairs = _Pairs(e, llvm, p, is_square=name.startswith("cdist"))
    with pairs.function(BODY):
        (pairs.emit_slopes if name.endswith("slopes") else pairs.emit_distances)()
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

    def __init__(self, e: Emitter, llvm: str, p: float, is_square: bool) -> None:
        super().__init__(e, llvm)
        self.p, self.dtype, self.is_square = p, _DTYPE[llvm], is_square
        self.lanes = lanes_for([self.dtype])

    def formula(self, function: Callable[..., Any], inputs: int) -> list[Expr]:
        given = [self.dtype] * inputs
        return trace(functools.partial(function, self.p), given, [self.dtype], False).roots

    def evaluate(self, roots: list[Expr], *given: str) -> str:
        return self.e.evaluate(roots, lambda expr: given[expr.value])[0]

    def place_of_row(self, i: str) -> str:
        """Where pair (i, 0) is, or would be, among the pairs."""
        rows = self.f["rows"]
        if self.is_square:
            return self.mul(i, self.f["others"])
        before = self.mul(i, self.sub(self.add(rows, rows), i, "1"))
        return self.sub(self.udiv(before, "2"), i, "1")

    def span(self, i: str) -> tuple[str, str]:
        """The rows that row i makes pairs with."""
        return "0" if self.is_square else self.add(i, "1"), self.f["others"]

    def difference(self, column: str, first: str, j: str) -> str:
        """The difference of a row's element, in all lanes, and those of other rows."""
        other = self.e.load(self.dtype, self.gep(column, j))
        return self.e.value(f"fsub {self.e.type_of(self.dtype)} {first}, {other}")

    def emit_distances(self) -> None:
        e = self.e
        self.f = f = self.load_context(*_FIELDS)
        add = self.formula(_next_total, 2)
        with self.loop("%begin", "%end") as i:
            out = self.gep(f["out"], self.place_of_row(i))

            def pairs(j: str, _: list[str], i: str = i, out: str = out) -> list[str]:
                start = [(e.type_of(self.dtype), e.constant(0.0, self.dtype))]

                def over_columns(k: str, total: list[str]) -> list[str]:
                    place = self.add(self.mul(k, f["rows"]), i)
                    first = e.splat(self.dtype, self.load(self.gep(f["x"], place)))
                    column = self.gep(f["other"], self.mul(k, f["others"]))
                    return [self.evaluate(add, total[0], self.difference(column, first, j))]

                (total,) = carrying_loop(e, ("0", f["columns"]), 1, over_columns, start)
                if self.p == 2:
                    total = e.call("sqrt", self.dtype, [total])
                e.store(self.dtype, total, self.gep(out, j))
                return []

            vector_loop(e, self.span(i), self.lanes, 1, pairs)

    def emit_slopes(self) -> None:
        e = self.e
        self.f = f = self.load_context(*_FIELDS)
        kind = f"<{self.lanes} x {self.llvm}>"
        with self.loop("%begin", "%end") as k:
            column, out = (self.gep(f[name], self.mul(k, f["rows"])) for name in ("x", "out"))
            other = self.gep(f["other"], self.mul(k, f["others"]))
            with self.loop("0", f["rows"]) as i:
                first, before = self.load(self.gep(column, i)), self.place_of_row(i)
                pairs = functools.partial(self.slopes, first, before, other, out)
                start = [(kind, "zeroinitializer")]
                (total,) = vector_loop(e, self.span(i), self.lanes, 1, pairs, start)
                self.add_to(self.gep(out, i), self.sum_of_lanes(total, kind))

    def slopes(
        self, first: str, before: str, other: str, out: str, j: str, total: list[str]
    ) -> list[str]:
        """A vector of pairs: what they add to row i, and, of one matrix, subtract from rows j."""
        e, kind = self.e, self.e.type_of(self.dtype)
        pair = self.add(before, j)
        addresses = (self.gep(self.f[name], pair) for name in ("distances", "weights"))
        given = [e.load(self.dtype, address) for address in addresses]
        spread = e.splat(self.dtype, first)
        formula = self.formula(_slope, 3)
        step = self.evaluate(formula, *given, self.difference(other, spread, j))
        if e.mask:
            kept = f"{kind} {step}, {kind} zeroinitializer"
            step = e.value(f"select {e.value_type('i1')} {e.mask}, {kept}")
        if not self.is_square:
            had = e.load(self.dtype, self.gep(out, j))
            e.store(self.dtype, e.value(f"fsub {kind} {had}, {step}"), self.gep(out, j))
        return [e.value(f"fadd {kind} {total[0]}, {step}")]

    def sum_of_lanes(self, vector: str, kind: str) -> str:
        e = self.e
        name = f"@llvm.vector.reduce.fadd.v{self.lanes}{'f32' if self.itemsize == 4 else 'f64'}"
        e.declare(f"{self.llvm} {name}({self.llvm}, {kind})")
        zero = literal(0.0, self.dtype)
        return e.value(f"call reassoc nsz {self.llvm} {name}({self.llvm} {zero}, {kind} {vector})")
