"""Activation functions that multiply their input by a gate: gelu, silu, mish and glu."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import explained
from clew.core.op import Op
from clew.core.public import with_out
from clew.core.result_layout import laid_out
from clew.core.tensor import Tensor
from clew.kernels.codegen.elementary import polynomial
from clew.kernels.codegen.ir import F32 as SINGLE
from clew.kernels.codegen.ir import where as choose
from clew.kernels.codegen.tracing import softplus as log1p_exp
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.numpy.arrays import widened
from clew.ops.define import out_checks
from clew.ops.define.dims import wrap_dim
from clew.ops.define.rows import FLOATS, INEXACT, Row, refuse_complex_history
from clew.ops.nn.activation.unary import require_tensor, run, run_kernel, run_quickly, softplus
from clew.ops.pointwise.arithmetic import conj
from clew.ops.pointwise.transcendental import sigmoid_array
from clew.ops.shape.joining import cat

Array = np.ndarray


# -- gelu ----------------------------------------------------------------------------------

SQRT_HALF, SQRT_2_OVER_PI = math.sqrt(0.5), math.sqrt(2.0 / math.pi)
INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
CUBIC = 0.044715


# Φ(-|x|) = exp(-x²/2) t P(t) with t = 1 / (1 + |x|/4), to 6e-9: enough for float32.
_NORMAL_TAIL = (
    0.0993823778, 0.1083621239, 0.03547728709, 0.2656080936, -0.2544804853, 0.3363549103,
    -0.09070431284,
)  # fmt: skip


def _normal(x: Any) -> tuple[Any, Any]:
    """exp(-x²/2), and the normal distribution at x, which in float32 is made of it."""
    bell = (x * x * -0.5).exp_of_negative()
    if x.dtype != SINGLE:
        return bell, (1.0 + (x * SQRT_HALF).erf()) * 0.5
    near = 1.0 / (1.0 + 0.25 * x.abs())
    tail = bell * near * polynomial(_NORMAL_TAIL, near)
    return bell, choose(x < 0.0, tail, 1.0 - tail)


def _tanh_gate(x: Any) -> Any:
    return (SQRT_2_OVER_PI * (x + CUBIC * x * x * x)).tanh()


def _gelu_derivative(x: Any) -> Any:
    bell, distribution = _normal(x)
    return distribution + x * INV_SQRT_2PI * bell


def _gelu_tanh_derivative(x: Any) -> Any:
    gate = _tanh_gate(x)
    bend = x * SQRT_2_OVER_PI * (1.0 + 3 * CUBIC * x * x) * (1.0 - gate * gate)
    return 0.5 * (1.0 + gate + bend)


_GELU_KERNELS = {
    "none": elementwise("gelu", 1, cost=4, half=True)(lambda x: x * _normal(x)[1]),
    "tanh": elementwise("gelu_tanh", 1, cost=4, half=True)(
        lambda x: x * 0.5 * (1.0 + _tanh_gate(x))
    ),
}
_GELU_BACKWARD_KERNELS = {
    "none": elementwise("gelu_backward", 2, cost=8, half=True)(
        lambda g, x: g * _gelu_derivative(x)
    ),
    "tanh": elementwise("gelu_tanh_backward", 2, cost=8, half=True)(
        lambda g, x: g * _gelu_tanh_derivative(x)
    ),
}


def _gelu(self: Array, *, approximate: str) -> Array:
    return run_kernel(_GELU_KERNELS[approximate], self)


def _gelu_backward(grad_output: Array, self: Array, *, approximate: str) -> Array:
    return run_kernel(_GELU_BACKWARD_KERNELS[approximate], grad_output, self)


def _gelu_curvature(g: Tensor, grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    square = self * self
    if approximate == "none":
        return g * grad_output * (square * -0.5).exp() * (2 - square) * INV_SQRT_2PI
    inner_slope = SQRT_2_OVER_PI * (1 + 3 * CUBIC * square)
    tanh = (SQRT_2_OVER_PI * (self + CUBIC * square * self)).tanh()
    sech2 = 1 - tanh * tanh
    bend = sech2 * (
        inner_slope + self * (3 * CUBIC * SQRT_2_OVER_PI * self - tanh * inner_slope * inner_slope)
    )
    return g * grad_output * bend


GELU_BACKWARD: Row = Row(
    "gelu_backward", _gelu_backward, takes_halves=True,
    grads={
        "grad_output": lambda g, self, approximate: GELU_BACKWARD(g, self, approximate=approximate),
        "self": _gelu_curvature,
    },
)  # fmt: skip
GELU = Row(
    "gelu", _gelu, takes_halves=True, inputs=("self",), takes=FLOATS, torch_kernel="GeluKernelImpl",
    bare=True,
    grads={
        "self": lambda g, self, approximate: GELU_BACKWARD.over(g, self, approximate=approximate)
    },
)  # fmt: skip


@functools.partial(with_out, accept=out_checks.same_dtype)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x` times the normal distribution function of `x`, exact or by tanh.

    Args:
        input: a floating point tensor
        approximate: "none" for the exact function, "tanh" for the approximation

    Example:
        >>> F.gelu(clew.tensor([-1.0, 1.0]))
        tensor([-0.1587,  0.8413])
    """
    require_tensor("gelu", input)
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            "approximate argument must be either none or tanh." + errors.at_user_line()
        )
    return run_quickly(GELU, input, {"approximate": approximate})


# -- silu, mish ----------------------------------------------------------------------------


_SILU_KERNEL = elementwise("silu", 1, cost=4, half=True)(lambda x: x * x.sigmoid())


@elementwise("silu_backward", 2, cost=4, half=True)
def _SILU_BACKWARD_KERNEL(g: Any, x: Any) -> Any:
    gate = x.sigmoid()
    return g * gate * (1.0 + x * (1.0 - gate))


def _silu(self: Array) -> Array:
    kernel = _SILU_KERNEL.specialize(self)
    return kernel(self) if kernel is not None else sigmoid_array(self) * self


def _silu_backward(grad_output: Array, self: Array) -> Array:
    kernel = _SILU_BACKWARD_KERNEL.specialize(self)
    if kernel is not None:
        return kernel(grad_output, self)
    gate = sigmoid_array(self)
    return np.conj((1 + self * (1 - gate)) * gate) * grad_output


def _silu_curvature(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    gate = self.sigmoid()
    bend = gate * (1 - gate) * (2 + self * (1 - 2 * gate))
    return g * grad_output * bend


SILU_BACKWARD: Row = Row(
    "silu_backward", _silu_backward, takes_halves=True,
    grads={"grad_output": lambda g, self: SILU_BACKWARD(g, self), "self": _silu_curvature},
)  # fmt: skip


def _silu_gradient(g: Any, self: Any) -> Any:
    """Of tensors or bare arrays."""
    if isinstance(g, Tensor) and g.dtype.is_complex:
        # Written out, because the fused one has no second derivative for complex numbers.
        gate = self.sigmoid()
        return g * conj(gate * (1 + self * (1 - gate)))
    return SILU_BACKWARD.over(g, self)


SILU = Row(
    "silu", _silu, takes_halves=True, inputs=("self",), takes=INEXACT, torch_kernel="silu_cpu",
    bare=True, grads={"self": _silu_gradient},
)  # fmt: skip


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`, also known as swish.

    Args:
        inplace: overwrite `input`

    Example:
        >>> F.silu(clew.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    require_tensor("silu", input)
    if input.dtype.is_complex:
        refuse_complex_history("silu", input)
    return run(SILU, input, inplace)


_MISH_KERNEL = elementwise("mish", 1, cost=8, half=True)(lambda x: x * log1p_exp(x).tanh())


@elementwise("mish_backward", 2, cost=8, half=True)
def _MISH_BACKWARD_KERNEL(g: Any, x: Any) -> Any:
    tanh = log1p_exp(x).tanh()
    return g * (tanh + x * x.sigmoid() * (1.0 - tanh * tanh))


def _mish(self: Array) -> Array:
    return run_kernel(_MISH_KERNEL, self)


def _mish_backward(grad_output: Array, self: Array) -> Array:
    return run_kernel(_MISH_BACKWARD_KERNEL, grad_output, self)


def _mish_curvature(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    gate = self.sigmoid()
    tanh = softplus(self).tanh()
    sech2 = 1 - tanh * tanh
    bend = sech2 * gate * (2 + self * (1 - gate) - 2 * self * tanh * gate)
    return g * grad_output * bend


MISH_BACKWARD: Row = Row(
    "mish_backward", _mish_backward, takes_halves=True,
    grads={"grad_output": lambda g, self: MISH_BACKWARD(g, self), "self": _mish_curvature},
)  # fmt: skip
MISH = Row(
    "mish", _mish, takes_halves=True, inputs=("self",), takes=FLOATS,
    bare=True, grads={"self": lambda g, self: MISH_BACKWARD.over(g, self)},
)  # fmt: skip


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))`.

    Args:
        inplace: overwrite `input`

    Example:
        >>> F.mish(clew.tensor([-1.0, 0.0, 1.0]))
        tensor([-0.3034,  0.0000,  0.8651])
    """
    return run(MISH, input, inplace)


# -- glu -----------------------------------------------------------------------------------


def _halves(array: Array, dim: int) -> tuple[Array, Array]:
    first, second = np.split(array, 2, axis=dim)
    return first, second


def _glu(self: Array, *, dim: int) -> Array:
    value, gate = _halves(widened(self), dim)
    result = sigmoid_array(gate)
    result *= value
    return laid_out(_halves(self, dim), result.astype(self.dtype, copy=False))


def _glu_gradient(g: Tensor, self: Tensor, dim: int) -> Tensor:
    half = self._array.shape[dim] // 2
    value, gate = self.narrow(dim, 0, half), self.narrow(dim, half, half).sigmoid()
    of_value = g * gate
    if self._array.dtype in dtypes.LOW_PRECISION:
        # The other half is rounded once.
        value, gate, g = value.float(), gate.float(), g.float()
    of_gate = (1 - gate) * gate * value * g
    return cat((of_value, of_gate.to(self.dtype)), dim)


GLU = Op("glu", _glu, grads={"self": _glu_gradient})


@explained
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension, times the sigmoid of the second.

    Args:
        input: its size along `dim` is even
        dim: the dimension that is halved

    Example:
        >>> F.glu(clew.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000])
    """
    require_tensor("glu", input)
    have = input.dtype
    if not input._array.ndim:
        raise RuntimeError(
            "glu does not support scalars because halving size must be even" + errors.at_user_line()
        )
    wrapped = wrap_dim(dim, input._array.ndim)
    size = input._array.shape[wrapped]
    if size % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {wrapped} is size {size}"
            + errors.at_user_line()
        )
    if have.category != dtypes.FLOAT:
        raise errors.no_kernel("glu_cpu", have)
    result: Tensor = GLU(input, dim=wrapped)
    return result
