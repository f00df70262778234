"""Exponentials, logarithms, roots, trigonometric and hyperbolic functions.

Each row saves for backward what PyTorch's does: the result where the derivative is cheapest in
terms of it (exp, tanh, sqrt), else the input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.kernels.codegen.ufunc import Elementwise, elementwise
from clew.ops.define.rows import FLOAT, Row, unary_row
from clew.ops.pointwise.arithmetic import conj

LN2, LN10 = math.log(2.0), math.log(10.0)

exp = unary_row(
    "exp", np.exp, lambda g, out: g * conj(out), rule=FLOAT, bare=True,
    doc="e to the power of each element.",
    example=">>> clew.exp(clew.tensor([0., 1.]))\ntensor([1.0000, 2.7183])",
)  # fmt: skip
exp2 = unary_row("exp2", np.exp2, lambda g, out: g * conj(out) * LN2, rule=FLOAT, bare=True)
expm1 = unary_row("expm1", np.expm1, lambda g, out: g * (conj(out) + 1), rule=FLOAT, bare=True)
log = unary_row("log", np.log, lambda g, self: g / conj(self), rule=FLOAT, bare=True)
log2 = unary_row("log2", np.log2, lambda g, self: g / (conj(self) * LN2), rule=FLOAT, bare=True)
log10 = unary_row("log10", np.log10, lambda g, self: g / (conj(self) * LN10), rule=FLOAT, bare=True)
log1p = unary_row(
    "log1p",
    np.log1p,
    lambda g, self: g / conj(self + 1),
    rule=FLOAT,
    node="Log1PBackward0",
    bare=True,
)


_RSQRT_KERNEL = elementwise("rsqrt", 1, cost=2, half=True)(lambda x: x.rsqrt())


def _rsqrt(self: np.ndarray) -> Any:
    kernel = _RSQRT_KERNEL.when(self)
    if kernel is not None:
        return kernel(self)
    root = np.sqrt(self, out=np.empty_like(self))
    return np.reciprocal(root, out=root)


sqrt = unary_row(
    "sqrt", np.sqrt, lambda g, out: g / (2 * conj(out)), rule=FLOAT, bare=True, kinks="inf at 0"
)
rsqrt = unary_row(
    "rsqrt", _rsqrt, lambda g, out: -0.5 * g * conj(out.pow(3)), rule=FLOAT, takes_halves=True
)
reciprocal = unary_row(
    "reciprocal", np.reciprocal, lambda g, out: -g * conj(out * out), rule=FLOAT, bare=True
)

sin = unary_row("sin", np.sin, lambda g, self: g * conj(self.cos()), rule=FLOAT)
cos = unary_row("cos", np.cos, lambda g, self: g * -conj(self.sin()), rule=FLOAT)
tan = unary_row("tan", np.tan, lambda g, out: g * conj(1 + out.pow(2)), rule=FLOAT)
asin = unary_row(
    "asin", np.arcsin, lambda g, self: g * conj((1 - self * self).rsqrt()), rule=FLOAT,
    aliases=("arcsin",),
)  # fmt: skip
acos = unary_row(
    "acos", np.arccos, lambda g, self: g * -conj((1 - self * self).rsqrt()), rule=FLOAT,
    aliases=("arccos",),
)  # fmt: skip
atan = unary_row(
    "atan",
    np.arctan,
    lambda g, self: g / conj(self * self + 1),
    rule=FLOAT,
    bare=True,
    aliases=("arctan",),
)
sinh = unary_row("sinh", np.sinh, lambda g, self: g * conj(self.cosh()), rule=FLOAT)
cosh = unary_row("cosh", np.cosh, lambda g, self: g * conj(self.sinh()), rule=FLOAT)
asinh = unary_row(
    "asinh", np.arcsinh, lambda g, self: g * conj((self.pow(2) + 1).rsqrt()), rule=FLOAT,
    aliases=("arcsinh",), in_place_grad=False,
)  # fmt: skip
acosh = unary_row(
    "acosh", np.arccosh, lambda g, self: g * conj((self - 1).rsqrt() * (self + 1).rsqrt()),
    rule=FLOAT, aliases=("arccosh",), in_place_grad=False,
)  # fmt: skip
atanh = unary_row(
    "atanh", np.arctanh, lambda g, self: g / conj(1 - self.pow(2)), rule=FLOAT,
    aliases=("arctanh",), in_place_grad=False,
)  # fmt: skip


def _prepared(output: np.ndarray) -> np.ndarray:
    if output.dtype in dtypes.LOW_PRECISION:
        return output.astype(np.float32)
    return output.conj() if output.dtype.kind == "c" else output


_TANH_BACKWARD_KERNEL = elementwise("tanh_backward", 2)(lambda g, y: g * (1.0 - y * y))
# Where the exponential overflows, the result is zero, as PyTorch's is.
_SIGMOID_KERNEL = elementwise("sigmoid", 1, cost=4, half=True)(lambda x: 1.0 / (1.0 + (-x).exp()))
_SIGMOID_BACKWARD_KERNEL = elementwise("sigmoid_backward", 2)(lambda g, y: g * ((1.0 - y) * y))


def _by_kernel(kernel: Elementwise, grad_output: np.ndarray, output: np.ndarray) -> Any:
    """The gradient in one pass, for floats of one type; None for others."""
    if grad_output.dtype is not output.dtype:
        return None
    ufunc = kernel.when(output)
    return None if ufunc is None else ufunc(grad_output, output)


def _tanh_backward(grad_output: np.ndarray, output: np.ndarray) -> np.ndarray:
    result = _by_kernel(_TANH_BACKWARD_KERNEL, grad_output, output)
    if result is not None:
        return np.asarray(result)
    output = _prepared(output)
    return np.asarray(grad_output * (1 - output * output))


# The gradients of tanh and sigmoid are operations of their own: one pass instead of three.
TANH_BACKWARD = Row(
    "tanh_backward", _tanh_backward,
    grads={
        "grad_output": lambda g, output: tanh_backward(g, conj(output)),
        "output": lambda g, grad_output, output: -2 * conj(g) * grad_output * conj(output),
    },
)  # fmt: skip


def tanh_backward(g: Any, out: Any) -> Any:
    """The gradient of `tanh`, from its result; of tensors or bare arrays."""
    return _tanh_backward(g, out) if type(g) is np.ndarray else TANH_BACKWARD(g, out)


tanh = unary_row("tanh", np.tanh, tanh_backward, rule=FLOAT, bare=True)


def sigmoid_array(self: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)); exp overflows to inf for very negative x, and the result is then 0."""
    kernel = _SIGMOID_KERNEL.when(self)
    if kernel is not None:
        return np.asarray(kernel(self))
    result = np.asarray(np.negative(self))
    np.exp(result, result)
    np.add(result, 1, result)
    return np.reciprocal(result, result)


def _sigmoid_backward(grad_output: np.ndarray, output: np.ndarray) -> np.ndarray:
    result = _by_kernel(_SIGMOID_BACKWARD_KERNEL, grad_output, output)
    if result is not None:
        return np.asarray(result)
    output = _prepared(output)
    return np.asarray(grad_output * ((1 - output) * output))


SIGMOID_BACKWARD = Row(
    "sigmoid_backward", _sigmoid_backward,
    grads={
        "grad_output": lambda g, output: sigmoid_backward(g, conj(output)),
        "output": lambda g, grad_output, output: conj(g) * grad_output * (1 - 2 * conj(output)),
    },
)  # fmt: skip


def sigmoid_backward(g: Any, out: Any) -> Any:
    """The gradient of `sigmoid`, from its result; of tensors or bare arrays."""
    return _sigmoid_backward(g, out) if type(g) is np.ndarray else SIGMOID_BACKWARD(g, out)


sigmoid = unary_row(
    "sigmoid", sigmoid_array, sigmoid_backward, rule=FLOAT, bare=True, takes_halves=True
)
