"""Binary search in the rows of a matrix, compiled. A task is a number of values."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
TYPES = {
    np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.int64): "i64",
}  # fmt: skip
_FIELDS = ("*sequence", "*values", "*out", "size", "per_row")
_GRAIN = 1024


def bisect(sequence: Array, values: Array, right: bool) -> Array:
    """Where the values (rows, n) go in the rows of `sequence` (rows, size), which rise.

    Before equal elements, with `right` after them. Both have one of the dtypes of `TYPES`.
    """
    sequence, values = np.ascontiguousarray(sequence), np.ascontiguousarray(values)
    out = np.zeros(values.shape, np.int64)
    size, per_row = sequence.shape[-1], values.shape[-1]
    context = context_of((sequence, values, out), (size, per_row))
    if size and per_row:
        _function(TYPES[sequence.dtype], right)(address_of(context), values.size, _GRAIN)
    return out


@functools.cache
def _function(llvm: str, right: bool) -> Any:
    make = functools.partial(module, llvm, right)
    return compiled(f"bisection {llvm} {right}", make, "bisection")


def module(llvm: str, right: bool) -> str:
    e = Emitter()
    c = IRBuilder(e, llvm)
    # What is not above (or not below) goes up: so do NaNs, which compare as nothing.
    how = "icmp s" if llvm == "i64" else "fcmp u"
    how += "le" if right else "lt"
    with c.function(BODY):
        f = c.load_context(*_FIELDS)
        low, left = c.local("i64", "0"), c.local("i64", "0")
        with c.loop("%begin", "%end") as i:
            row = c.gep(f["sequence"], c.mul(c.udiv(i, f["per_row"]), f["size"]))
            value = c.load(c.gep(f["values"], i))
            c.store_word(low, "0")
            c.store_word(left, f["size"])
            with c.loop_forever() as leave:
                count, start = c.load_word(left), c.load_word(low)
                c.branch_unless(c.icmp("sgt", count, "0"), leave)
                half = c.udiv(count, "2")
                middle = c.add(start, half)
                found = c.load(c.gep(row, middle))
                goes_up = e.value(f"{how} {llvm} {found}, {value}")
                rest = c.sub(count, half, "1")
                c.store_word(low, c.select(goes_up, c.add(middle, "1"), start))
                c.store_word(left, c.select(goes_up, rest, half))
            c.store_word(c.gep_i64(f["out"], i), c.load_word(low))
    end_module(e, "bisection")
    return e.text()
