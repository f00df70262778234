"""Tracing: a Python formula becomes an expression of the kernel IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.kernels.codegen.elementary import (
    cosh,
    exp,
    exp2,
    exp_of_negative,
    expm1,
    log,
    log1p,
    log2,
    log10,
    rsqrt,
    sigmoid,
    sinh,
    softplus,
    tanh,
)
from clew.kernels.codegen.error_functions import erf, erfc, erfinv
from clew.kernels.codegen.ir import COMPUTED_IN, Expr, Program, where
from clew.kernels.codegen.powers import pow
from clew.kernels.codegen.trigonometric import atan, cos, sin

FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "exp": exp, "exp_of_negative": exp_of_negative, "exp2": exp2, "expm1": expm1,
    "log": log, "log2": log2, "log10": log10, "log1p": log1p, "softplus": softplus,
    "sigmoid": sigmoid, "tanh": tanh, "sinh": sinh, "cosh": cosh, "sin": sin, "cos": cos,
    "atan": atan, "erf": erf, "erfc": erfc, "erfinv": erfinv, "pow": pow, "rsqrt": rsqrt,
    "square": lambda x: x * x, "reciprocal": lambda x: 1.0 / x,
    "where": lambda x, condition, other: where(condition, x, other),
}  # fmt: skip

# What formulas call on tensors, they can call on expressions.
for _name, _function in FUNCTIONS.items():
    setattr(Expr, _name, _function)


def trace(
    function: Callable[..., Any], inputs: list[str], outputs: list[str], in_rows: bool = True
) -> Program:
    """What a formula computes from inputs of the given types."""
    given = [
        Expr("input", COMPUTED_IN.get(dtype, dtype), (), number)
        for number, dtype in enumerate(inputs)
    ]
    result = function(*given)
    roots = list(result) if isinstance(result, tuple) else [result]
    return Program(inputs, outputs, roots, in_rows)
