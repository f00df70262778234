"""Activation functions made of straight pieces, and those with parameters or random slopes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes, random
from clew.core.arguments import typed
from clew.core.casting import LOWER, casts
from clew.core.inplace import apply_inplace
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels.arrays import widened
from clew.kernels.native.ir import where as choose
from clew.kernels.native.ufunc import elementwise
from clew.ops.activation import require_tensor, run_kernel, run_quickly, with_dims
from clew.ops.dims import require_bool, wrap_dim
from clew.ops.joining import cat
from clew.ops.rows import FLOATS, Row
from clew.ops.transcendental import sigmoid_array

Array = np.ndarray

_CLAMP_REFUSALS = {
    "b": RuntimeError("Bool inputs not supported for hardtanh"),
    "c": NotImplementedError("clamp is not supported for complex types"),
}


def _kept(values: Array, keep: Array) -> Array:
    """The values where `keep` holds and 0 elsewhere; a NaN that is not kept leaves no trace."""
    return np.where(keep, values, values.dtype.type(0))


def _run(op: Row, input: Tensor, inplace: bool, **params: Any) -> Tensor:
    require_tensor(op.name, input)
    if inplace:
        return apply_inplace(op, input, **params)
    return run_quickly(op, input, params)


# -- threshold, hardtanh, relu6 ------------------------------------------------------------


def _threshold(self: Array, *, threshold: float, value: float) -> Array:
    return np.where(self <= threshold, self.dtype.type(value), self)


THRESHOLD_BACKWARD: Row = Row(
    "threshold_backward",
    lambda grad_output, self, *, threshold: _kept(grad_output, ~(self <= threshold)),
    grads={
        "grad_output": lambda g, self, threshold: THRESHOLD_BACKWARD(g, self, threshold=threshold)
    },
)
THRESHOLD_IN_PLACE = Row(
    "threshold_in_place", _threshold, inputs=("self",), takes="ihf", kernel="threshold_cpu",
    grads={"self": lambda g, self, threshold: THRESHOLD_BACKWARD(g, self, threshold=threshold)},
    node="ThresholdBackward1",
)  # fmt: skip
THRESHOLD = Row(
    "threshold", _threshold, inputs=("self",), takes="ihf",
    grads={"self": lambda g, self, threshold: THRESHOLD_BACKWARD(g, self, threshold=threshold)},
    kinks="0 at the threshold",
)  # fmt: skip


@typed
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` above the threshold, `value` up to it."""
    op = THRESHOLD_IN_PLACE if inplace else THRESHOLD
    return _run(op, input, inplace, threshold=threshold, value=value)


@public(method=False, out=False)
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
    return _run(THRESHOLD_IN_PLACE, input, True, threshold=threshold, value=value)


@public(method=False, name="threshold")
def _torch_threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    return _run(THRESHOLD, input, False, threshold=threshold, value=value)


def _hardtanh_backward(grad_output: Array, self: Array, *, min_val: float, max_val: float) -> Array:
    return _kept(grad_output, ~((self <= min_val) | (self >= max_val)))


HARDTANH_BACKWARD: Row = Row(
    "hardtanh_backward", _hardtanh_backward,
    grads={
        "grad_output": lambda g, self, min_val, max_val: HARDTANH_BACKWARD(
            g, self, min_val=min_val, max_val=max_val
        )
    },
)  # fmt: skip
HARDTANH = Row(
    "hardtanh", lambda self, *, min_val, max_val: np.clip(self, min_val, max_val),
    inputs=("self",), takes="ihf", refusals=_CLAMP_REFUSALS, kinks="0 at both ends",
    grads={
        "self": lambda g, self, min_val, max_val: HARDTANH_BACKWARD(
            g, self, min_val=min_val, max_val=max_val
        )
    },
)  # fmt: skip


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`x` between the limits."""
    require_tensor("hardtanh", input)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val" + errors.at_user_line())
    if input.dtype.category == dtypes.INTEGER:
        if not input.dtype.is_signed and (min_val < 0 or max_val < 0):
            raise RuntimeError(
                "cannot do hardtanh on an unsigned type with negative limits"
                + errors.at_user_line()
            )
        min_val, max_val = int(min_val), int(max_val)
    return _run(HARDTANH, input, inplace, min_val=min_val, max_val=max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`x` between 0 and 6."""
    require_tensor("relu6", input)
    return hardtanh(input, 0, 6, inplace)


# -- hardsigmoid, hardswish ----------------------------------------------------------------


@with_dims
def _hardsigmoid(self: Array) -> Array:
    result = self + self.dtype.type(3)
    np.clip(result, 0, 6, out=result)
    result /= 6
    return result


HARDSIGMOID_BACKWARD: Row = Row(
    "hardsigmoid_backward",
    lambda grad_output, self: _kept(grad_output / 6, (self > -3) & (self < 3)),
    grads={"grad_output": lambda g, self: HARDSIGMOID_BACKWARD(g, self)},
)
HARDSIGMOID = Row(
    "hardsigmoid", _hardsigmoid, inputs=("self",), takes=FLOATS, kinks="0 at both ends",
    grads={"self": lambda g, self: HARDSIGMOID_BACKWARD(g, self)},
)  # fmt: skip


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A sigmoid of three straight pieces."""
    return _run(HARDSIGMOID, input, inplace)


_HARDSWISH_KERNEL = elementwise("hardswish", 1)(lambda x: (x + 3.0).clamp(0.0, 6.0) * x / 6.0)


@elementwise("hardswish_backward", 2)
def _HARDSWISH_BACKWARD_KERNEL(g: Any, x: Any) -> Any:
    return g * choose(x <= -3.0, 0.0, choose(x >= 3.0, 1.0, x / 3.0 + 0.5))


def _hardswish(self: Array) -> Array:
    return run_kernel(_HARDSWISH_KERNEL, self)


def _hardswish_backward(grad_output: Array, self: Array) -> Array:
    return run_kernel(_HARDSWISH_BACKWARD_KERNEL, grad_output, self)


HARDSWISH_BACKWARD: Row = Row(
    "hardswish_backward", _hardswish_backward,
    grads={
        "grad_output": lambda g, self: HARDSWISH_BACKWARD(g, self),
        "self": lambda g, grad_output, self: g
        * grad_output
        * ((self > -3) & (self < 3)).to(g.dtype)
        / 3,
    },
)  # fmt: skip
HARDSWISH = Row(
    "hardswish", _hardswish, inputs=("self",), takes=FLOATS,
    grads={"self": lambda g, self: HARDSWISH_BACKWARD(g, self)},
    kinks="0 at -3 and 1 at 3",
)  # fmt: skip


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * hardsigmoid(x)`."""
    return _run(HARDSWISH, input, inplace)


# -- shrinking -----------------------------------------------------------------------------


def _softshrink(self: Array, *, lambd: float) -> Array:
    moved = np.where(self > 0, self - self.dtype.type(lambd), self + self.dtype.type(lambd))
    small = (self >= -lambd) & (self <= lambd)
    # A NaN is neither small nor large and must stay.
    return np.where(small, self.dtype.type(0), moved)


SHRINK_BACKWARD: Row = Row(
    "shrink_backward",
    lambda grad_output, self, *, lambd: _kept(grad_output, ~((self >= -lambd) & (self <= lambd))),
    node="SoftshrinkBackwardBackward0",
    grads={"grad_output": lambda g, self, lambd: SHRINK_BACKWARD(g, self, lambd=lambd)},
)
SOFTSHRINK = Row(
    "softshrink", _softshrink, inputs=("self",), takes=FLOATS, kernel="softshrink_check",
    grads={"self": lambda g, self, lambd: SHRINK_BACKWARD(g, self, lambd=lambd)},
    kinks="0 at both ends",
)  # fmt: skip
HARDSHRINK = Row(
    "hardshrink",
    lambda self, *, lambd: _kept(self, ~((self >= -lambd) & (self <= lambd))),
    inputs=("self",), takes=FLOATS,
    grads={"self": lambda g, self, lambd: SHRINK_BACKWARD(g, self, lambd=lambd)},
    kinks="0 at both ends",
)  # fmt: skip


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` moved towards 0 by `lambd`."""
    require_tensor("softshrink", input)
    if lambd < 0 and input.dtype.category == dtypes.FLOAT:
        largest = dtypes.finfo(input.dtype).max
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {input.dtype.scalar_name}, "
            f"but found {lambd:g}" + errors.at_user_line()
        )
    return _run(SOFTSHRINK, input, False, lambd=lambd)


@public()
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` outside of [-lambd, lambd], 0 within."""
    return _run(HARDSHRINK, input, False, lambd=lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`."""
    require_tensor("tanhshrink", input)
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    require_tensor("softsign", input)
    return input / (input.abs() + 1)


# -- leaky_relu, rrelu, prelu --------------------------------------------------------------


@elementwise("leaky_relu", 2, scalars=(1,))
def _LEAKY_KERNEL(x: Any, slope: Any) -> Any:
    return choose(x > 0.0, x, x * slope)


@elementwise("leaky_relu_backward", 3, scalars=(2,))
def _LEAKY_BACKWARD_KERNEL(g: Any, x: Any, slope: Any) -> Any:
    return choose(x > 0.0, g, g * slope)


def _leaky(self: Array, *, negative_slope: float) -> Array:
    return run_kernel(_LEAKY_KERNEL, self, numbers=(negative_slope,))


def _leaky_backward(grad_output: Array, self: Array, *, negative_slope: float) -> Array:
    return run_kernel(_LEAKY_BACKWARD_KERNEL, grad_output, self, numbers=(negative_slope,))


LEAKY_RELU_BACKWARD: Row = Row(
    "leaky_relu_backward",
    _leaky_backward,
    grads={
        "grad_output": lambda g, self, negative_slope: LEAKY_RELU_BACKWARD(
            g, self, negative_slope=negative_slope
        )
    },
)
LEAKY_RELU = Row(
    "leaky_relu", _leaky, inputs=("self",), takes=FLOATS,
    grads={
        "self": lambda g, self, negative_slope: LEAKY_RELU_BACKWARD(
            g, self, negative_slope=negative_slope
        )
    },
    kinks="the left derivative at 0",
)  # fmt: skip


def _leaky_from_result(g: Tensor, out: Tensor, negative_slope: float) -> Tensor:
    if negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is "
            "not supported. This is caused by calling in-place forward function with a negative "
            "slope, please call out-of-place version instead." + errors.at_user_line()
        )
    result: Tensor = LEAKY_RELU_BACKWARD(g, out, negative_slope=negative_slope)
    return result


LEAKY_RELU_IN_PLACE = Row(
    "leaky_relu_on_result", _leaky, inputs=("self",), takes=FLOATS, kernel="leaky_relu_cpu",
    grads={"self": _leaky_from_result}, node="LeakyReluBackward1",
)  # fmt: skip


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` above 0, `negative_slope * x` below."""
    op = LEAKY_RELU_IN_PLACE if inplace else LEAKY_RELU
    return _run(op, input, inplace, negative_slope=negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
    return leaky_relu(input, negative_slope, inplace=True)


def _rrelu_noise(self: Array, *, lower: float, upper: float) -> Array:
    """A slope for each element: drawn for those up to 0, in their order, and 1 for the rest."""
    noise = np.ones(self.shape, self.dtype)
    low = self <= 0
    draws = random.default_generator.doubles(int(np.count_nonzero(low)))
    noise[low] = draws * (upper - lower) + lower
    return noise


RRELU_NOISE = Op("_rrelu_noise", _rrelu_noise, non_differentiable="random numbers")
RRELU = Row(
    "rrelu_with_noise",
    lambda self, noise: self * noise,
    takes="hf",
    grads={"self": lambda g, noise: g * noise},
)
RRELU_IN_PLACE = Row(
    "rrelu_with_noise_on_result", lambda self, noise: self * noise,
    grads={"self": lambda g, noise, out: g * noise}, node="RreluWithNoiseBackward1",
)  # fmt: skip
RRELU_EVAL = Row(
    "rrelu_without_noise", _leaky, inputs=("self",), takes=FLOATS, kernel="leaky_relu_cpu",
    grads={
        "self": lambda g, self, negative_slope: LEAKY_RELU_BACKWARD(
            g, self, negative_slope=negative_slope
        )
    },
    node="RreluWithNoiseBackward0",
)  # fmt: skip


RRELU_EVAL_IN_PLACE = Row(
    "rrelu_without_noise_on_result", _leaky, inputs=("self",), takes=FLOATS,
    kernel="leaky_relu_cpu", grads={"self": _leaky_from_result}, node="RreluWithNoiseBackward1",
)  # fmt: skip


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """`x` above 0; below, `x` times a slope that is random while training."""
    require_tensor("rrelu", input)
    require_bool("training", training)
    if lower > upper:
        raise RuntimeError(
            "Lower bound should be less than or equal to the upper bound" + errors.at_user_line()
        )
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(
                f"rrelu: {name} bound must be finite, got {bound}" + errors.at_user_line()
            )
    if not training:
        op = RRELU_EVAL_IN_PLACE if inplace else RRELU_EVAL
        return _run(op, input, inplace, negative_slope=(lower + upper) / 2)
    have = input.dtype
    if have.category != dtypes.FLOAT or have is dtypes.float16:
        raise NotImplementedError(
            f"\"rrelu_with_noise_out_cpu\" not implemented for '{have.scalar_name}'"
            + errors.at_user_line()
        )
    noise = RRELU_NOISE(input, lower=lower, upper=upper)
    if inplace:
        return apply_inplace(RRELU_IN_PLACE, input, noise)
    result: Tensor = RRELU(input, noise)
    return result


@public(method=False, out=False)
def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


PRELU_KERNEL = Row(
    "_prelu_kernel", lambda self, weight: np.where(self > 0, self, self * weight),
    takes=FLOATS, kernel="prelu_cpu", node="PreluKernelBackward0",
    grads={
        "self": lambda g, self, weight: g.where(self > 0, g * weight),
        "weight": lambda g, self: (g * self).masked_fill(self > 0, 0),
    },
    kinks="the left derivative at 0",
)  # fmt: skip


@public(out=False)
@casts(LOWER)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` above 0, `weight * x` below, with a weight for each channel or one for all."""
    require_tensor("prelu", input)
    if not isinstance(weight, Tensor):
        raise errors.wrong_argument("prelu", "weight", 2, "Tensor", weight)
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.scalar_name} and "
            f"{weight.dtype.scalar_name}" + errors.at_user_line()
        )
    shape, ndim = input._array.shape, weight._array.ndim
    if ndim > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{ndim}" + errors.at_user_line()
        )
    if weight._array.size != 1:
        _check_prelu_channels(shape, weight._array.size)
    if len(shape) != 1 and ndim == 1:
        weight = weight.view(*(1,) * min(1, len(shape) - 1), -1, *(1,) * (len(shape) - 2))
        if not shape:
            weight = weight.view(())
    result: Tensor = PRELU_KERNEL(input, weight)
    return result


def _check_prelu_channels(shape: tuple[int, ...], parameters: int) -> None:
    if not shape:
        raise RuntimeError("Not allow zero-dim input tensor." + errors.at_user_line())
    channels = shape[1] if len(shape) > 1 else 1
    if channels != parameters:
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
            f"{parameters} and channel size = {channels}." + errors.at_user_line()
        )


# -- glu -----------------------------------------------------------------------------------


def _halves(array: Array, dim: int) -> tuple[Array, Array]:
    first, second = np.split(array, 2, axis=dim)
    return first, second


def _glu(self: Array, *, dim: int) -> Array:
    value, gate = _halves(widened(self), dim)
    result = sigmoid_array(gate)
    result *= value
    return result.astype(self.dtype, copy=False)


def _glu_gradient(g: Tensor, self: Tensor, dim: int) -> Tensor:
    half = self._array.shape[dim] // 2
    value, gate = self.narrow(dim, 0, half), self.narrow(dim, half, half).sigmoid()
    of_value = g * gate
    return cat((of_value, of_value * (1 - gate) * value), dim)


GLU = Op("glu", _glu, grads={"self": _glu_gradient})


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension, times the sigmoid of the second."""
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
        raise NotImplementedError(
            f"\"glu_cpu\" not implemented for '{have.scalar_name}'" + errors.at_user_line()
        )
    result: Tensor = GLU(input, dim=wrapped)
    return result
