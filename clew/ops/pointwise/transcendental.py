"""Exponentials, logarithms, roots, trigonometric and hyperbolic functions.

Each row saves for backward what PyTorch's does: the result where the derivative is cheapest in
terms of it (exp, tanh, sqrt), else the input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.kernels.codegen.ufunc import Elementwise, elementwise
from clew.kernels.numpy.arrays import reciprocals, redo_single_elements, rounded, widened
from clew.kernels.numpy.conversion import converted
from clew.ops.define.rows import FLOAT, Row, unary_row
from clew.ops.pointwise.arithmetic import conj

LN2, LN10 = math.log(2.0), math.log(10.0)

exp = unary_row(
    "exp", np.exp, lambda g, out: g * conj(out), rule=FLOAT, bare=True,
    doc="e to the power of each element.",
    example=">>> clew.exp(clew.tensor([0., 1.]))\ntensor([1.0000, 2.7183])",
)  # fmt: skip
exp2 = unary_row(
    "exp2", np.exp2, lambda g, out: g * conj(out) * LN2, rule=FLOAT, bare=True,
    doc="2 to the power of each element.",
    example=">>> clew.exp2(clew.tensor([0., 3., -1.]))\ntensor([1.0000, 8.0000, 0.5000])",
)  # fmt: skip
expm1 = unary_row(
    "expm1", np.expm1, lambda g, out: g * (conj(out) + 1), rule=FLOAT, bare=True,
    doc="`exp(input) - 1`, which stays exact for numbers near 0.",
    example=(
        ">>> clew.expm1(clew.tensor([0., 1e-10]))\n"
        "tensor([0.0000e+00, 1.0000e-10])\n"
        ">>> clew.exp(clew.tensor([0., 1e-10])) - 1\n"
        "tensor([0., 0.])"
    ),
)  # fmt: skip
log = unary_row(
    "log", np.log, lambda g, self: g / conj(self), rule=FLOAT, bare=True,
    doc="The natural logarithm; -inf at 0, NaN below.",
    example=(
        ">>> clew.log(clew.tensor([1., 10., 0., -1.]))\n"
        "tensor([0.0000, 2.3026,   -inf,    nan])"
    ),
)  # fmt: skip
log2 = unary_row(
    "log2", np.log2, lambda g, self: g / (conj(self) * LN2), rule=FLOAT, bare=True,
    doc="The logarithm to base 2.",
    example=">>> clew.log2(clew.tensor([1., 8., 0.5]))\ntensor([ 0.,  3., -1.])",
)  # fmt: skip
log10 = unary_row(
    "log10", np.log10, lambda g, self: g / (conj(self) * LN10), rule=FLOAT, bare=True,
    doc="The logarithm to base 10.",
    example=">>> clew.log10(clew.tensor([1., 50., 0.]))\ntensor([0.0000, 1.6990,   -inf])",
)  # fmt: skip


def _log1p(self: Any) -> Any:
    return kernels.complex_logarithms.log1p(self) if self.dtype.kind in "cW" else np.log1p(self)


log1p = unary_row(
    "log1p",
    _log1p,
    lambda g, self: g / conj(self + 1),
    rule=FLOAT,
    node="Log1PBackward0",
    bare=True,
    doc="`log(1 + input)`, which stays exact for numbers near 0.",
    example=(
        ">>> clew.log1p(clew.tensor([0., 1e-10]))\n"
        "tensor([0.0000e+00, 1.0000e-10])\n"
        ">>> clew.log(1 + clew.tensor([0., 1e-10]))\n"
        "tensor([0., 0.])"
    ),
)  # fmt: skip


_RSQRT_KERNEL = elementwise("rsqrt", 1, cost=2, half=True)(lambda x: x.rsqrt())


def reciprocal_of_rounded_root(x: np.ndarray) -> np.ndarray:
    """`1 / sqrt(x)` of halves, rounded after each of the two steps."""
    return converted(1 / rounded(np.sqrt(widened(x)), x.dtype), x.dtype)


def _rsqrt(self: np.ndarray) -> Any:
    kernel = _RSQRT_KERNEL.specialize(self)
    if kernel is not None:
        if self.dtype not in dtypes.HALVES:
            return kernel(self)
        if self.size < 32:
            return reciprocal_of_rounded_root(self)
        result = np.asarray(kernel(self))
        redo_single_elements(result, 32, reciprocal_of_rounded_root, self)
        return result
    return reciprocals(np.asarray(np.sqrt(self)))


sqrt = unary_row(
    "sqrt", np.sqrt, lambda g, out: g / (2 * conj(out)), rule=FLOAT, bare=True, kinks="inf at 0",
    doc="The square root; NaN below 0.",
    example=">>> clew.sqrt(clew.tensor([4., 2., -1.]))\ntensor([2.0000, 1.4142,    nan])",
)  # fmt: skip
rsqrt = unary_row(
    "rsqrt", _rsqrt, lambda g, out: -0.5 * g * conj(out.pow(3)), rule=FLOAT, takes_halves=True,
    doc="The reciprocal of the square root: `1 / sqrt(input)`.",
    example=">>> clew.rsqrt(clew.tensor([4., 1., 0.]))\ntensor([0.5000, 1.0000,    inf])",
)  # fmt: skip
reciprocal = unary_row(
    "reciprocal", reciprocals, lambda g, out: -g * conj(out * out),
    rule=FLOAT, bare=True, takes_halves=True,
    doc="`1 / input`.",
    example=">>> clew.reciprocal(clew.tensor([2, 4, 0]))\ntensor([0.5000, 0.2500,    inf])",
)  # fmt: skip

sin = unary_row(
    "sin", np.sin, lambda g, self: g * conj(self.cos()), rule=FLOAT,
    doc="The sine of angles in radians.",
    example=(
        ">>> clew.sin(clew.tensor([0., clew.pi / 6, clew.pi / 2]))\n"
        "tensor([0.0000, 0.5000, 1.0000])"
    ),
)  # fmt: skip
cos = unary_row(
    "cos", np.cos, lambda g, self: g * -conj(self.sin()), rule=FLOAT,
    doc="The cosine of angles in radians.",
    example=(
        ">>> clew.cos(clew.tensor([0., clew.pi / 3, clew.pi]))\n"
        "tensor([ 1.0000,  0.5000, -1.0000])"
    ),
)  # fmt: skip
tan = unary_row(
    "tan", np.tan, lambda g, out: g * conj(1 + out.pow(2)), rule=FLOAT,
    doc="The tangent of angles in radians.",
    example=">>> clew.tan(clew.tensor([0., clew.pi / 4]))\ntensor([0., 1.])",
)  # fmt: skip
asin = unary_row(
    "asin", np.arcsin, lambda g, self: g * conj((1 - self * self).rsqrt()), rule=FLOAT,
    aliases=("arcsin",),
    doc="The inverse of the sine, in [-pi/2, pi/2]; NaN outside of [-1, 1].",
    example=(
        ">>> clew.asin(clew.tensor([0., 0.5, 1., 2.]))\n"
        "tensor([0.0000, 0.5236, 1.5708,    nan])"
    ),
)  # fmt: skip
acos = unary_row(
    "acos", np.arccos, lambda g, self: g * -conj((1 - self * self).rsqrt()), rule=FLOAT,
    aliases=("arccos",),
    doc="The inverse of the cosine, in [0, pi]; NaN outside of [-1, 1].",
    example=(
        ">>> clew.acos(clew.tensor([-1., 0., 1., 2.]))\n"
        "tensor([3.1416, 1.5708, 0.0000,    nan])"
    ),
)  # fmt: skip
atan = unary_row(
    "atan",
    np.arctan,
    lambda g, self: g / conj(self * self + 1),
    rule=FLOAT,
    bare=True,
    aliases=("arctan",),
    doc="The inverse of the tangent, in [-pi/2, pi/2].",
    example=(
        ">>> clew.atan(clew.tensor([0., 1., float(\"inf\")]))\n"
        "tensor([0.0000, 0.7854, 1.5708])"
    ),
)  # fmt: skip
sinh = unary_row(
    "sinh", np.sinh, lambda g, self: g * conj(self.cosh()), rule=FLOAT,
    doc="The hyperbolic sine: `(exp(input) - exp(-input)) / 2`.",
    example=">>> clew.sinh(clew.tensor([-1., 0., 1.]))\ntensor([-1.1752,  0.0000,  1.1752])",
)  # fmt: skip
cosh = unary_row(
    "cosh", np.cosh, lambda g, self: g * conj(self.sinh()), rule=FLOAT,
    doc="The hyperbolic cosine: `(exp(input) + exp(-input)) / 2`.",
    example=">>> clew.cosh(clew.tensor([-1., 0., 1.]))\ntensor([1.5431, 1.0000, 1.5431])",
)  # fmt: skip
asinh = unary_row(
    "asinh", np.arcsinh, lambda g, self: g * conj((self.pow(2) + 1).rsqrt()), rule=FLOAT,
    aliases=("arcsinh",), in_place_grad=False,
    doc="The inverse of the hyperbolic sine.",
    example=">>> clew.asinh(clew.tensor([0., 1., 10.]))\ntensor([0.0000, 0.8814, 2.9982])",
)  # fmt: skip


def _acosh_grad(g: Tensor, self: Tensor) -> Tensor:
    if self.dtype.is_complex:
        return g * conj((self - 1).rsqrt() * (self + 1).rsqrt())
    # Finite also below -1, where the function itself is not.
    return g * (self * self - 1).rsqrt()


acosh = unary_row(
    "acosh", np.arccosh, _acosh_grad,
    rule=FLOAT, aliases=("arccosh",), in_place_grad=False,
    doc="The inverse of the hyperbolic cosine; NaN below 1.",
    example=">>> clew.acosh(clew.tensor([1., 2., 0.]))\ntensor([0.0000, 1.3170,    nan])",
)  # fmt: skip
atanh = unary_row(
    "atanh", np.arctanh, lambda g, self: g / conj(1 - self.pow(2)), rule=FLOAT,
    aliases=("arctanh",), in_place_grad=False,
    doc="The inverse of the hyperbolic tangent; NaN outside of [-1, 1].",
    example=(
        ">>> clew.atanh(clew.tensor([0., 0.5, 1., 2.]))\n"
        "tensor([0.0000, 0.5493,    inf,    nan])"
    ),
)  # fmt: skip


def _prepared(output: np.ndarray) -> np.ndarray:
    if output.dtype in dtypes.LOW_PRECISION:
        return output.astype(np.float32)
    return output.conj() if output.dtype.kind in "cW" else output


_TANH_BACKWARD_KERNEL = elementwise("tanh_backward", 2)(lambda g, y: g * (1.0 - y * y))
# Where the exponential overflows, the result is zero, as PyTorch's is.
_SIGMOID_KERNEL = elementwise("sigmoid", 1, cost=4, half=True)(lambda x: 1.0 / (1.0 + (-x).exp()))
_SIGMOID_BACKWARD_KERNEL = elementwise("sigmoid_backward", 2)(lambda g, y: g * ((1.0 - y) * y))


def _by_kernel(kernel: Elementwise, grad_output: np.ndarray, output: np.ndarray) -> Any:
    """The gradient in one pass, for floats of one type; None for others."""
    if grad_output.dtype is not output.dtype:
        return None
    ufunc = kernel.specialize(output)
    return None if ufunc is None else ufunc(grad_output, output)


def _tanh_backward(grad_output: np.ndarray, output: np.ndarray) -> np.ndarray:
    result = _by_kernel(_TANH_BACKWARD_KERNEL, grad_output, output)
    if result is not None:
        return np.asarray(result)
    output = _prepared(output)
    return np.asarray(grad_output * (1 - output * output))


# The gradients of tanh and sigmoid are operations of their own: one pass instead of three.
TANH_BACKWARD = Row(
    "tanh_backward", _tanh_backward, bare=True,
    grads={
        "grad_output": lambda g, output: tanh_backward(g, conj(output)),
        "output": lambda g, grad_output, output: -2 * conj(g) * grad_output * conj(output),
    },
)  # fmt: skip


def tanh_backward(g: Any, out: Any) -> Any:
    """The gradient of `tanh`, from its result; of tensors or bare arrays."""
    return TANH_BACKWARD.over(g, out)


tanh = unary_row(
    "tanh", np.tanh, tanh_backward, rule=FLOAT, bare=True,
    doc="The hyperbolic tangent, which has values between -1 and 1.",
    example=">>> clew.tanh(clew.tensor([-1., 0., 10.]))\ntensor([-0.7616,  0.0000,  1.0000])",
)  # fmt: skip


def sigmoid_array(self: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)); exp overflows to inf for very negative x, and the result is then 0."""
    kernel = _SIGMOID_KERNEL.specialize(self)
    if kernel is not None:
        return np.asarray(kernel(self))
    result = np.asarray(np.negative(self))
    np.exp(result, result)
    np.add(result, 1, result)
    return reciprocals(result)


def _sigmoid_backward(grad_output: np.ndarray, output: np.ndarray) -> np.ndarray:
    result = _by_kernel(_SIGMOID_BACKWARD_KERNEL, grad_output, output)
    if result is not None:
        return np.asarray(result)
    output = _prepared(output)
    return np.asarray(grad_output * ((1 - output) * output))


SIGMOID_BACKWARD = Row(
    "sigmoid_backward", _sigmoid_backward, bare=True,
    grads={
        "grad_output": lambda g, output: sigmoid_backward(g, conj(output)),
        "output": lambda g, grad_output, output: conj(g) * grad_output * (1 - 2 * conj(output)),
    },
)  # fmt: skip


def sigmoid_backward(g: Any, out: Any) -> Any:
    """The gradient of `sigmoid`, from its result; of tensors or bare arrays."""
    return SIGMOID_BACKWARD.over(g, out)


sigmoid = unary_row(
    "sigmoid", sigmoid_array, sigmoid_backward, rule=FLOAT, bare=True, takes_halves=True,
    doc="The logistic function `1 / (1 + exp(-input))`, which has values between 0 and 1.",
    example=">>> clew.sigmoid(clew.tensor([-2., 0., 2.]))\ntensor([0.1192, 0.5000, 0.8808])",
)  # fmt: skip
