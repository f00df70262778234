"""Activation functions that are one elementwise operation each.

Each has a fused forward and a fused backward, which is an operation with gradients of its own, so
that few temporaries are made and gradients of gradients exist. What is saved is what PyTorch saves:
the input, and for the in-place forms of elu, celu, leaky_relu and rrelu the result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.core.inplace import apply_inplace
from clew.core.op import OPS
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels.native.ufunc import elementwise
from clew.kernels.special_functions import erf as erf_array
from clew.ops.arithmetic import conj
from clew.ops.rows import FLOATS, INEXACT, Row
from clew.ops.transcendental import sigmoid_array

Array = np.ndarray

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def with_dims(forward: Callable[..., Array]) -> Callable[..., Array]:
    """Let a forward see 0-dim arrays as vectors: NumPy's scalars cannot be written to in place."""

    @functools.wraps(forward)
    def function(*arrays: Array, **params: Any) -> Array:
        if arrays[0].ndim:
            return forward(*arrays, **params)
        return forward(*[array.reshape(1) for array in arrays], **params).reshape(())

    return function


def require_tensor(function: str, input: Any) -> None:
    """Refuse what is not a tensor, in PyTorch's words."""
    if not isinstance(input, Tensor):
        raise errors.wrong_argument(function, "input", 1, "Tensor", input)


def _run(op: Row, input: Tensor, inplace: bool, name: str = "", **params: Any) -> Tensor:
    require_tensor(name or op.name, input)
    if inplace:
        return apply_inplace(op, input, **params)
    result: Tensor = op(input, **params)
    return result


def relu_(input: Tensor) -> Tensor:
    """`relu` in place."""
    require_tensor("relu_", input)
    return apply_inplace(OPS["relu"], input)


# -- elu, selu, celu -----------------------------------------------------------------------


@with_dims
def _elu(self: Array, *, alpha: float, scale: float, input_scale: float) -> Array:
    low = np.expm1(np.minimum(self, 0) * input_scale)
    low *= alpha * scale
    return np.where(self > 0, self * scale, low)


@with_dims
def _elu_backward(
    grad_output: Array, self: Array, *, alpha: float, scale: float, input_scale: float
) -> Array:
    slope = np.exp(np.minimum(self, 0) * input_scale)
    slope *= alpha * scale * input_scale
    np.copyto(slope, scale, where=self > 0)
    slope *= grad_output
    return slope


def _elu_curvature(
    g: Tensor, grad_output: Tensor, self: Tensor, alpha: float, scale: float, input_scale: float
) -> Tensor:
    bend = (self * input_scale).exp() * (alpha * scale * input_scale * input_scale)
    return g * grad_output * bend.masked_fill(self > 0, 0)


ELU_BACKWARD: Row = Row(
    "elu_backward", _elu_backward,
    grads={
        "grad_output": lambda g, self, alpha, scale, input_scale: ELU_BACKWARD(
            g, self, alpha=alpha, scale=scale, input_scale=input_scale
        ),
        "self": _elu_curvature,
    },
)  # fmt: skip


def _elu_gradient(
    g: Tensor, self: Tensor, alpha: float, scale: float, input_scale: float
) -> Tensor:
    result: Tensor = ELU_BACKWARD(g, self, alpha=alpha, scale=scale, input_scale=input_scale)
    return result


def _elu_gradient_from_result(
    g: Tensor, out: Tensor, alpha: float, scale: float, input_scale: float
) -> Tensor:
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not "
            "supported. This is caused by calling in-place forward function with a negative slope, "
            "please call out-of-place version instead." + errors.at_user_line()
        )
    low = g * ((out + alpha * scale) * input_scale)
    return (g * scale).where(out > 0, low)


def _elu_row(name: str, family: str, on_result: bool) -> Row:
    return Row(
        name, _elu, inputs=("self",), takes=FLOATS, kernel="elu_cpu",
        grads={"self": _elu_gradient_from_result if on_result else _elu_gradient},
        node=f"{family}Backward{int(on_result)}", kinks="the left derivative at 0",
    )  # fmt: skip


ELU, ELU_IN_PLACE = _elu_row("elu", "Elu", False), _elu_row("elu_on_result", "Elu", True)
CELU, CELU_IN_PLACE = _elu_row("celu", "Celu", False), _elu_row("celu_on_result", "Celu", True)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` above 0, `alpha * (exp(x) - 1)` below."""
    op = ELU_IN_PLACE if inplace else ELU
    return _run(op, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
    return elu(input, alpha, inplace=True)


@public(method=False, out=False, name="selu")
def _plain_selu(input: Tensor) -> Tensor:
    return selu(input)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The elu whose fixed point has mean 0 and variance 1."""
    op = ELU_IN_PLACE if inplace else ELU
    return _run(op, input, inplace, "selu", alpha=SELU_ALPHA, scale=SELU_SCALE, input_scale=1.0)


@public(method=False, out=False)
def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return selu(input, inplace=True)


@public(method=False, out=False, name="celu")
def _plain_celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    return celu(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` above 0, `alpha * (exp(x / alpha) - 1)` below."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU" + errors.at_user_line())
    op = CELU_IN_PLACE if inplace else CELU
    return _run(op, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0 / alpha)


@public(method=False, out=False)
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return celu(input, alpha, inplace=True)


# -- gelu ----------------------------------------------------------------------------------

SQRT_HALF, SQRT_2_OVER_PI = math.sqrt(0.5), math.sqrt(2.0 / math.pi)
INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
CUBIC = 0.044715


def _tanh_argument(self: Array) -> Array:
    inner = self * self
    inner *= CUBIC
    inner += 1
    inner *= self
    inner *= SQRT_2_OVER_PI
    return inner


def _normal_distribution(x: Any) -> Any:
    return (1.0 + (x * SQRT_HALF).erf()) * 0.5


def _tanh_gate(x: Any) -> Any:
    return (SQRT_2_OVER_PI * (x + CUBIC * x * x * x)).tanh()


def _gelu_slope(x: Any) -> Any:
    return _normal_distribution(x) + x * INV_SQRT_2PI * (x * x * -0.5).exp()


def _gelu_tanh_slope(x: Any) -> Any:
    gate = _tanh_gate(x)
    bend = x * SQRT_2_OVER_PI * (1.0 + 3 * CUBIC * x * x) * (1.0 - gate * gate)
    return 0.5 * (1.0 + gate + bend)


_GELU_KERNELS = {
    "none": elementwise("gelu", 1, cost=4)(lambda x: x * _normal_distribution(x)),
    "tanh": elementwise("gelu_tanh", 1, cost=4)(lambda x: x * 0.5 * (1.0 + _tanh_gate(x))),
}
_GELU_BACKWARD_KERNELS = {
    "none": elementwise("gelu_backward", 2, cost=8)(lambda g, x: g * _gelu_slope(x)),
    "tanh": elementwise("gelu_tanh_backward", 2, cost=8)(lambda g, x: g * _gelu_tanh_slope(x)),
}


@with_dims
def _gelu(self: Array, *, approximate: str) -> Array:
    kernel = _GELU_KERNELS[approximate].when(self)
    if kernel is not None:
        return kernel(self)
    if approximate == "tanh":
        gate = _tanh_argument(self)
        gate = np.tanh(gate, out=gate)
    else:
        gate = erf_array(self * SQRT_HALF)
    gate += 1
    gate *= self
    gate *= 0.5
    return gate


def _gelu_slope_tanh(self: Array) -> Array:
    tanh = np.tanh(_tanh_argument(self))
    slope = self * self
    slope *= 3 * CUBIC
    slope += 1
    slope *= self
    slope *= SQRT_2_OVER_PI
    slope *= 1 - tanh * tanh
    slope += tanh
    slope += 1
    slope *= 0.5
    return slope


@with_dims
def _gelu_backward(grad_output: Array, self: Array, *, approximate: str) -> Array:
    kernel = _GELU_BACKWARD_KERNELS[approximate].when(self)
    if kernel is not None:
        return kernel(grad_output, self)
    if approximate == "tanh":
        slope = _gelu_slope_tanh(self)
    else:
        density = self * self
        density *= -0.5
        density = np.exp(density, out=density)
        density *= self
        density *= INV_SQRT_2PI
        slope = erf_array(self * SQRT_HALF)
        slope += 1
        slope *= 0.5
        slope += density
    slope *= grad_output
    return slope


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
    "gelu_backward", _gelu_backward,
    grads={
        "grad_output": lambda g, self, approximate: GELU_BACKWARD(g, self, approximate=approximate),
        "self": _gelu_curvature,
    },
)  # fmt: skip
GELU = Row(
    "gelu", _gelu, inputs=("self",), takes=FLOATS, kernel="GeluKernelImpl",
    grads={"self": lambda g, self, approximate: GELU_BACKWARD(g, self, approximate=approximate)},
)  # fmt: skip


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x` times the normal distribution function of `x`, exact or by tanh."""
    require_tensor("gelu", input)
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            "approximate argument must be either none or tanh." + errors.at_user_line()
        )
    result: Tensor = GELU(input, approximate=approximate)
    return result


# -- silu, mish ----------------------------------------------------------------------------


_SILU_KERNEL = elementwise("silu", 1, cost=4)(lambda x: x * x.sigmoid())


@elementwise("silu_backward", 2, cost=4)
def _SILU_BACKWARD_KERNEL(g: Any, x: Any) -> Any:
    gate = x.sigmoid()
    return g * gate * (1.0 + x * (1.0 - gate))


@with_dims
def _silu(self: Array) -> Array:
    kernel = _SILU_KERNEL.when(self)
    if kernel is not None:
        return kernel(self)
    gate = sigmoid_array(self)
    gate *= self
    return gate


@with_dims
def _silu_backward(grad_output: Array, self: Array) -> Array:
    kernel = _SILU_BACKWARD_KERNEL.when(self)
    if kernel is not None:
        return kernel(grad_output, self)
    gate = sigmoid_array(self)
    slope = 1 - gate
    slope *= self
    slope += 1
    slope *= gate
    if slope.dtype.kind == "c":
        slope = slope.conj()
    slope *= grad_output
    return slope


def _silu_curvature(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    gate = self.sigmoid()
    bend = gate * (1 - gate) * (2 + self * (1 - 2 * gate))
    return g * grad_output * bend


SILU_BACKWARD: Row = Row(
    "silu_backward", _silu_backward,
    grads={"grad_output": lambda g, self: SILU_BACKWARD(g, self), "self": _silu_curvature},
)  # fmt: skip


def _silu_gradient(g: Tensor, self: Tensor) -> Tensor:
    if g.dtype.is_complex:
        # Written out, because the fused one has no second derivative for complex numbers.
        gate = self.sigmoid()
        return g * conj(gate * (1 + self * (1 - gate)))
    result: Tensor = SILU_BACKWARD(g, self)
    return result


SILU = Row(
    "silu", _silu, inputs=("self",), takes=INEXACT, kernel="silu_cpu",
    grads={"self": _silu_gradient},
)  # fmt: skip


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`."""
    return _run(SILU, input, inplace)


def _softplus_array(self: Array) -> Array:
    """log(1 + exp(x)) without overflow."""
    tail = np.abs(self)
    np.negative(tail, out=tail)
    np.exp(tail, out=tail)
    np.log1p(tail, out=tail)
    tail += np.maximum(self, 0)
    return tail


@with_dims
def _mish(self: Array) -> Array:
    gate = _softplus_array(self)
    gate = np.tanh(gate, out=gate)
    gate *= self
    return gate


@with_dims
def _mish_backward(grad_output: Array, self: Array) -> Array:
    tanh = np.tanh(_softplus_array(self))
    slope = 1 - tanh * tanh
    slope *= sigmoid_array(self)
    slope *= self
    slope += tanh
    slope *= grad_output
    return slope


def _mish_curvature(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    gate = self.sigmoid()
    tanh = softplus(self).tanh()
    sech2 = 1 - tanh * tanh
    bend = sech2 * gate * (2 + self * (1 - gate) - 2 * self * tanh * gate)
    return g * grad_output * bend


MISH_BACKWARD: Row = Row(
    "mish_backward", _mish_backward,
    grads={"grad_output": lambda g, self: MISH_BACKWARD(g, self), "self": _mish_curvature},
)  # fmt: skip
MISH = Row(
    "mish", _mish, inputs=("self",), takes=FLOATS,
    grads={"self": lambda g, self: MISH_BACKWARD(g, self)},
)  # fmt: skip


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))`."""
    return _run(MISH, input, inplace)


# -- softplus, logsigmoid ------------------------------------------------------------------


@with_dims
def _softplus(self: Array, *, beta: float, threshold: float) -> Array:
    scaled = self * beta
    straight = scaled > threshold
    np.exp(scaled, out=scaled)
    np.log1p(scaled, out=scaled)
    scaled /= beta
    np.copyto(scaled, self, where=straight)
    return scaled


@with_dims
def _softplus_backward(grad_output: Array, self: Array, *, beta: float, threshold: float) -> Array:
    scaled = self * beta
    slope = sigmoid_array(scaled)
    np.copyto(slope, 1, where=scaled > threshold)
    slope *= grad_output
    return slope


def _softplus_curvature(
    g: Tensor, grad_output: Tensor, self: Tensor, beta: float, threshold: float
) -> Tensor:
    gate = (self * beta).sigmoid()
    return g * grad_output * (gate * (1 - gate) * beta).masked_fill(self * beta > threshold, 0)


SOFTPLUS_BACKWARD: Row = Row(
    "softplus_backward", _softplus_backward,
    grads={
        "grad_output": lambda g, self, beta, threshold: SOFTPLUS_BACKWARD(
            g, self, beta=beta, threshold=threshold
        ),
        "self": _softplus_curvature,
    },
)  # fmt: skip
SOFTPLUS = Row(
    "softplus", _softplus, inputs=("self",), takes=FLOATS,
    grads={
        "self": lambda g, self, beta, threshold: SOFTPLUS_BACKWARD(
            g, self, beta=beta, threshold=threshold
        )
    },
)  # fmt: skip


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`; a straight line above the threshold."""
    return _run(SOFTPLUS, input, False, beta=beta, threshold=threshold)


@with_dims
def _log_sigmoid(self: Array) -> Array:
    tail = np.exp(-np.abs(self))
    np.log1p(tail, out=tail)
    return np.minimum(self, 0) - tail


@with_dims
def _log_sigmoid_backward(grad_output: Array, self: Array) -> Array:
    slope = sigmoid_array(np.negative(self))
    slope *= grad_output
    return slope


def _log_sigmoid_curvature(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    gate = self.sigmoid()
    return g * grad_output * (gate * (gate - 1))


LOG_SIGMOID_BACKWARD: Row = Row(
    "log_sigmoid_backward", _log_sigmoid_backward,
    grads={
        "grad_output": lambda g, self: LOG_SIGMOID_BACKWARD(g, self),
        "self": _log_sigmoid_curvature,
    },
)  # fmt: skip
LOG_SIGMOID = Row(
    "log_sigmoid", _log_sigmoid, inputs=("self",), takes=FLOATS,
    grads={"self": lambda g, self: LOG_SIGMOID_BACKWARD(g, self)},
)  # fmt: skip


def logsigmoid(input: Tensor) -> Tensor:
    """`log(sigmoid(x))`."""
    return _run(LOG_SIGMOID, input, False)
