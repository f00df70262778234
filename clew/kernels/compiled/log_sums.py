"""Logarithms of sums of exponentials with the bits of PyTorch: by the C library, term by term."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import TYPES, compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.reals import Real, load_real
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray

_GRAIN = 4096


def log_sum(terms: Array) -> Array:
    """log of the sum of exponentials along the first dimension, the largest term taken out.

    `terms` are float32 or float64.
    """
    terms = np.ascontiguousarray(terms)
    out = np.empty(terms.shape[1:], terms.dtype)
    context = context_of((terms, out), (out.size,))
    _function(TYPES[terms.dtype], len(terms))(address_of(context), out.size, _GRAIN)
    return out


@functools.cache
def _function(llvm: str, count: int) -> Any:
    make = functools.partial(module, llvm, count)
    return compiled(f"log_sum {llvm} {count}", make, "log_sum")


def module(llvm: str, count: int) -> str:
    e = Emitter()
    c = IRBuilder(e, llvm)
    with c.function(BODY):
        f = c.load_context("*terms", "*out", "size")
        with c.loop("%begin", "%end") as i:
            terms = [load_real(c, c.gep(f["terms"], c.add(i, c.mul(f["size"], str(number)))))
                     for number in range(count)]  # fmt: skip
            largest = functools.reduce(_larger, terms)
            largest = largest.where(largest.compare("one", float("-inf")), 0.0)
            total = functools.reduce(
                lambda sum, term: sum + term, ((term - largest).libm("exp") for term in terms)
            )
            (total.libm("log") + largest).store(c.gep(f["out"], i))
    end_module(e, "log_sum")
    return e.text()


def _larger(a: Real, b: Real) -> Real:
    return b.where(b > a, a)
