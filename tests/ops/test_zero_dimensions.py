"""Gradients of tensors without dimensions: NumPy makes numbers of such arrays."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import clew
from tests.oracle import assert_same

UNARY = [
    "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp",
    "exp2", "expm1", "log", "log10", "log1p", "log2", "neg", "reciprocal", "rsqrt", "sgn",
    "sigmoid", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "sum", "mean", "prod",
    "cumsum", "cumprod", "logsumexp", "softmax", "norm", "conj_physical", "erf", "lgamma",
    "digamma", "relu", "i0", "logit", "erfinv",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "div", "pow", "atan2", "hypot", "logaddexp", "xlogy", "maximum",
    "fmax", "lerp", "dot", "dist", "copysign",
]  # fmt: skip
ALONG = {"cumsum", "cumprod", "logsumexp", "softmax"}
DTYPES = ("float32", "float64", "bfloat16", "complex64", "complex128")
# PyTorch's gradient lacks the conjugate.
WRONG = {("log1p", "complex64"), ("log1p", "complex128")}


def _unary(lib: Any, name: str, x: Any) -> Any:
    if name in ALONG:
        return getattr(lib, name)(x, 0)
    return getattr(lib, name)(x)


def _binary(lib: Any, name: str, x: Any) -> Any:
    other = (x * 0.25 + 0.5).detach().requires_grad_()
    if name == "lerp":
        return lib.lerp(x, other, other)
    if name == "dot":
        return lib.dot(x.reshape(1), other.reshape(1))
    return getattr(lib, name)(x, other) + getattr(lib, name)(other, x)


def _derivatives(lib: Any, function: Any, name: str, dtype: str) -> Any:
    start = 0.4 - 0.3j if "complex" in dtype else 0.4
    x = lib.tensor(start, dtype=getattr(lib, dtype), requires_grad=True)
    try:
        y = function(lib, name, x)
        if not y.requires_grad:
            return None
        (g,) = lib.autograd.grad(y.abs(), x, create_graph=True)
        (plain,) = lib.autograd.grad(function(lib, name, x).abs(), x)
        if not g.requires_grad:
            return plain, g.detach()
        return plain, g.detach(), lib.autograd.grad(g.abs(), x)[0]
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_gradients_of_one_number(name: str, dtype: str) -> None:
    if (name, dtype) in WRONG:
        pytest.skip("PyTorch's gradient of a complex log1p lacks the conjugate")
    function = _unary if name in UNARY else _binary
    expected = _derivatives(torch, function, name, dtype)
    rtol = {"bfloat16": 4e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype)
    assert_same(_derivatives(clew, function, name, dtype), expected, rtol=rtol, atol=rtol)
