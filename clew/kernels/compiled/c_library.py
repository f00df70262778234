"""Functions of the C library over arrays of float64: the bits that Python's `math` gives.

PyTorch draws random numbers with them; NumPy's own functions may differ in the last bit.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.kernels.codegen.builder import BODY, IRBuilder
from clew.kernels.codegen.contexts import compiled, context_of
from clew.kernels.codegen.emitter import Emitter
from clew.kernels.codegen.loops import end_module
from clew.kernels.codegen.reals import load_real
from clew.kernels.runtime.numpy_capi import address_of

Doubles = npt.NDArray[np.float64]
# Calls of a task, about.
_GRAIN = 2048
_PAIRS = "normal_pairs"


def apply(name: str, values: Doubles) -> Doubles:
    """`math.exp`, or another function of one number, of each element."""
    given = np.ascontiguousarray(values)
    out = np.empty_like(given)
    context = context_of((given, out), ())
    _function(name)(address_of(context), given.size, _GRAIN)
    return out


def normal_pairs(uniforms: Doubles) -> Doubles:
    """Two normals from each angle and chance that follow each other: Box and Muller's."""
    given = np.ascontiguousarray(uniforms)
    out = np.empty_like(given)
    context = context_of((given, out), ())
    _function(_PAIRS)(address_of(context), given.size // 2, _GRAIN // 4)
    return out


@functools.cache
def _function(name: str) -> Any:
    return compiled(f"c_library {name}", functools.partial(module, name), "c_library")


def module(name: str) -> str:
    """The LLVM module of a function of the C library, or of normals."""
    e = Emitter()
    c = IRBuilder(e, "double")
    with c.function(BODY):
        words = c.load_context("*given", "*out")
        given, out = words["given"], words["out"]
        with c.loop("%begin", "%end") as i:
            if name == _PAIRS:
                write_pair(c, given, out, c.mul(i, "2"))
            else:
                load_real(c, c.gep(given, i)).libm(name).store(c.gep(out, i))
    end_module(e, "c_library")
    return e.text()


def write_pair(c: IRBuilder, given: str, out: str, first: str) -> None:
    """Write the code for two normals, which may replace the angle and the chance of theirs."""
    second = c.add(first, "1")
    theta = load_real(c, c.gep(given, first)) * (2.0 * math.pi)
    chance = load_real(c, c.gep(given, second))
    radius = (-2.0 * (-chance).libm("log1p")).intrinsic("sqrt")
    (radius * theta.libm("cos")).store(c.gep(out, first))
    (radius * theta.libm("sin")).store(c.gep(out, second))
