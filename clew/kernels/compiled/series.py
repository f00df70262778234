"""Chebyshev and power series and three-term recurrences over float64 arrays, compiled.

The coefficients of a series are an array, so that all series have one kernel. A recurrence takes as
many steps for each element as its degree says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import TYPES, compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.reals import load_real, real_of
from clew.kernels.codegen.tracing import trace
from clew.kernels.codegen.vectors import carrying_loop, vector_loop
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
# p[k + 1] from x, k, p[k] and p[k - 1], as expressions.
Step = Callable[[Any, Any, Any, Any], Any]
# Several vectors at a time: each step of the recurrence waits for the one before.
_LANES = 32
_GRAIN = 4096
_SERIES_FIELDS = ("*coefficients", "*t", "*out", "count")
_RECURRENCE_FIELDS = ("*x", "*degree", "*first", "*out")


def chebyshev(coefficients: Array, t: Array) -> Array:
    """The series sum c_k T_k(t) of two or more terms, by Clenshaw's recurrence; all float64."""
    return _evaluated("chebyshev_series", coefficients, t)


def polynomial(coefficients: Array, x: Array) -> Array:
    """The sum of c_k x^k, by Horner's rule; all float64."""
    return _evaluated("power_series", coefficients, x)


def _evaluated(name: str, coefficients: Array, t: Array) -> Array:
    coefficients, given = np.ascontiguousarray(coefficients), np.ascontiguousarray(t)
    out = np.empty(np.shape(t))
    context = context_of((coefficients, given, out), (len(coefficients),))
    _series_function(name)(address_of(context), out.size, _GRAIN)
    return out


@functools.cache
def _series_function(name: str) -> Any:
    return compiled(name, functools.partial(series_module, name), name)


def series_module(name: str) -> str:
    e = Emitter()
    c = _Series(e, "double")
    with c.function(BODY):
        c.f = c.load_context(*_SERIES_FIELDS)

        def elements(i: str, _: list[str]) -> list[str]:
            t = e.load(F64, c.gep(c.f["t"], i))
            value = c.clenshaw(t) if name == "chebyshev_series" else c.horner(t)
            e.store(F64, value, c.gep(c.f["out"], i))
            return []

        vector_loop(e, ("%begin", "%end"), _LANES, 1, elements)
    end_module(e, name)
    return e.text()


class _Series(IRBuilder):
    """The recurrences over coefficients, the last of them first, for vectors."""

    f: dict[str, str]

    def coefficient(self, k: str) -> str:
        return self.e.splat(F64, self.load(self.gep(self.f["coefficients"], k)))

    def from_last(self, k: str) -> str:
        return self.coefficient(self.sub(self.f["count"], k, "1"))

    def combine(self, how: str, a: str, b: str) -> str:
        return self.e.arithmetic(how, F64, a, b)

    def clenshaw(self, t: str) -> str:
        twice, kind = self.combine("fadd", t, t), self.e.type_of(F64)

        def step(k: str, carried: list[str]) -> list[str]:
            later, latest = carried
            less = self.combine("fsub", self.combine("fmul", twice, latest), later)
            return [latest, self.combine("fadd", less, self.from_last(k))]

        start = [(kind, "zeroinitializer"), (kind, self.from_last("0"))]
        span = "1", self.sub(self.f["count"], "1")
        later, latest = carrying_loop(self.e, span, 1, step, start)
        less = self.combine("fsub", self.combine("fmul", t, latest), later)
        return self.combine("fadd", less, self.coefficient("0"))

    def horner(self, t: str) -> str:
        def step(k: str, carried: list[str]) -> list[str]:
            return [self.combine("fadd", self.combine("fmul", carried[0], t), self.from_last(k))]

        start = [(self.e.type_of(F64), self.from_last("0"))]
        return carrying_loop(self.e, ("1", self.f["count"]), 1, step, start)[0]


def recurrence(name: str, step: Step, x: Array, degree: Array, first: Array) -> Array:
    """p[degree](x), where p[0] is 1, p[1] is `first` and `step` leads on; 0 for degrees below 0.

    `degree` is int64, the others are float32 or float64; all are contiguous. A NaN ends the steps.
    """
    out = np.empty_like(x)
    context = context_of((x, degree, first, out), ())
    _recurrence_function(name, step, TYPES[x.dtype])(address_of(context), x.size, _GRAIN)
    return out


@functools.cache
def _recurrence_function(name: str, step: Step, llvm: str) -> Any:
    make = functools.partial(recurrence_module, step, llvm)
    return compiled(f"recurrence {name} {llvm}", make, "recurrence")


def recurrence_module(step: Step, llvm: str) -> str:
    e = Emitter()
    c = IRBuilder(e, llvm)
    kind = F64 if llvm == "double" else F32
    roots = trace(step, [kind] * 4, [kind], False).roots
    with c.function(BODY):
        f = c.load_context(*_RECURRENCE_FIELDS)
        now, before = c.local(llvm, "0.0"), c.local(llvm, "0.0")
        k = c.local("i64", "0")
        with c.loop("%begin", "%end") as i:
            degree = c.load_i64(f["degree"], i)
            x = load_real(c, c.gep(f["x"], i))
            load_real(c, c.gep(f["first"], i)).store(now)
            c.store("1.0", before)
            c.store_word(k, "1")
            with c.loop_forever() as leave:
                done = c.load_word(k)
                value = load_real(c, now)
                goes_on = c.and_(c.icmp("slt", done, degree), value.compare("ord", value))
                c.branch_unless(goes_on, leave)
                given = [x.name, real_of(c, done).name, value.name, c.load(before)]
                (following,) = e.evaluate(roots, lambda expr: given[expr.value])
                c.store(value.name, before)
                c.store(following, now)
                c.store_word(k, c.add(done, "1"))
            constant = real_of(c, e.value(f"zext i1 {c.icmp('eq', degree, '0')} to i64"))
            result = load_real(c, now).where(c.icmp("sgt", degree, "0"), constant)
            result.store(c.gep(f["out"], i))
    end_module(e, "recurrence")
    return e.text()
