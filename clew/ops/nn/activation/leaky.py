"""Rectifiers with a slope below 0: fixed (leaky_relu), random (rrelu) or learned (prelu)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes, random
from clew.core.arguments import explained
from clew.core.casting import LOWER, casts
from clew.core.inplace import apply_inplace
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where as choose
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.numpy.arrays import as_new
from clew.ops.define.dims import require_bool
from clew.ops.define.memory_layout import as_first, in_rows
from clew.ops.define.rows import FLOATS, Row
from clew.ops.define.zero_share import zero_share
from clew.ops.nn.activation.unary import require_tensor, run, run_kernel
from clew.ops.pointwise.arithmetic import zeros_of

Array = np.ndarray


@elementwise("leaky_relu", 2, scalars=(1,), half=True)
def _LEAKY_KERNEL(x: Any, slope: Any) -> Any:
    return choose(x > 0.0, x, x * slope)


@elementwise("leaky_relu_backward", 3, scalars=(2,), half=True)
def _LEAKY_BACKWARD_KERNEL(g: Any, x: Any, slope: Any) -> Any:
    return choose(x > 0.0, g, g * slope)


def _leaky(self: Array, *, negative_slope: float) -> Array:
    return run_kernel(_LEAKY_KERNEL, self, numbers=(negative_slope,))


def _leaky_in_rows(self: Array, *, negative_slope: float) -> Array:
    return as_new(_leaky(self, negative_slope=negative_slope))


def _leaky_backward(grad_output: Array, self: Array, *, negative_slope: float) -> Array:
    return run_kernel(_LEAKY_BACKWARD_KERNEL, grad_output, self, numbers=(negative_slope,))


LEAKY_RELU_BACKWARD: Row = Row(
    "leaky_relu_backward",
    _leaky_backward,
    takes_halves=True,
    bare=True,
    grads={
        "grad_output": lambda g, self, negative_slope: LEAKY_RELU_BACKWARD.over(
            g, self, negative_slope=negative_slope
        ),
        "self": zeros_of,
    },
)
LEAKY_RELU = Row(
    "leaky_relu", _leaky, inputs=("self",), takes=FLOATS, takes_halves=True,
    bare=True, grads={
        "self": lambda g, self, negative_slope: LEAKY_RELU_BACKWARD.over(
            g, self, negative_slope=negative_slope
        )
    },
    kinks="the left derivative at 0",
)  # fmt: skip


def _leaky_from_result(g: Any, out: Any, negative_slope: float) -> Any:
    """Of tensors or bare arrays."""
    if negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is "
            "not supported. This is caused by calling in-place forward function with a negative "
            "slope, please call out-of-place version instead." + errors.at_user_line()
        )
    return LEAKY_RELU_BACKWARD.over(g, out, negative_slope=negative_slope)


LEAKY_RELU_IN_PLACE = Row(
    "leaky_relu_on_result", _leaky, inputs=("self",), takes=FLOATS, takes_halves=True,
    torch_kernel="leaky_relu_cpu", bare=True, grads={"self": _leaky_from_result},
    node="LeakyReluBackward1",
)  # fmt: skip


@explained
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` above 0, `negative_slope * x` below.

    Args:
        negative_slope: the slope below 0
        inplace: overwrite `input`

    Example:
        >>> F.leaky_relu(clew.tensor([-1.0, 2.0]), 0.1)
        tensor([-0.1000,  2.0000])
    """
    op = LEAKY_RELU_IN_PLACE if inplace else LEAKY_RELU
    return run(op, input, inplace, negative_slope=negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place version of `leaky_relu`."""
    return leaky_relu(input, negative_slope, inplace=True)


def _rrelu_noise(self: Array, *, lower: float, upper: float) -> Array:
    """A slope for each element: drawn for those up to 0, in their order, and 1 for the rest."""
    noise = np.ones(self.shape, self.dtype)
    low = self <= 0
    draws = random.default_generator.doubles(int(np.count_nonzero(low)))
    noise[low] = draws * (upper - lower) + lower
    return noise


RRELU_NOISE = Op("_rrelu_noise", _rrelu_noise, non_differentiable="random numbers")
_RRELU_SHARE = zero_share("RreluWithNoiseBackwardBackward0")
RRELU = Row(
    "rrelu_with_noise",
    lambda self, noise: self * noise,
    takes="hf",
    grads={"self": lambda g, self, noise: _RRELU_SHARE(g * noise, self)},
)
RRELU_IN_PLACE = Row(
    "rrelu_with_noise_on_result", lambda self, noise: self * noise,
    bare=True, grads={"self": lambda g, noise, out: g * noise}, node="RreluWithNoiseBackward1",
)  # fmt: skip
RRELU_EVAL = Row(
    "rrelu_without_noise", _leaky_in_rows, inputs=("self",), takes=FLOATS,
    torch_kernel="leaky_relu_cpu",
    bare=True, grads={
        "self": lambda g, self, negative_slope: LEAKY_RELU_BACKWARD.over(
            g, self, negative_slope=negative_slope
        )
    },
    node="RreluWithNoiseBackward0", placement=in_rows,
)  # fmt: skip


RRELU_EVAL_IN_PLACE = Row(
    "rrelu_without_noise_on_result", _leaky, inputs=("self",), takes=FLOATS,
    torch_kernel="leaky_relu_cpu", bare=True, grads={"self": _leaky_from_result},
    node="RreluWithNoiseBackward1",
)  # fmt: skip


@explained
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """`x` above 0; below, `x` times a slope that is random while training.

    Args:
        lower: the smallest slope
        upper: the largest slope
        training: draw the slopes; otherwise all are the middle of the bounds
        inplace: overwrite `input`

    Example:
        >>> F.rrelu(clew.tensor([-1.0, 2.0]), 0.1, 0.3)
        tensor([-0.2000,  2.0000])
    """
    require_tensor("rrelu", input)
    require_bool("training", training)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(
                f"rrelu: {name} bound must be finite, got {bound}" + errors.at_user_line()
            )
    if lower > upper:
        raise RuntimeError(
            "Lower bound should be less than or equal to the upper bound" + errors.at_user_line()
        )
    if not training:
        op = RRELU_EVAL_IN_PLACE if inplace else RRELU_EVAL
        return run(op, input, inplace, negative_slope=(lower + upper) / 2)
    have = input.dtype
    if have.category != dtypes.FLOAT or have is dtypes.float16:
        raise errors.no_kernel("rrelu_with_noise_out_cpu", have)
    noise = RRELU_NOISE(input, lower=lower, upper=upper)
    if inplace:
        return apply_inplace(RRELU_IN_PLACE, input, noise)
    result: Tensor = RRELU(input, noise)
    return result


@public(method=False, out=False)
def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """In-place version of `rrelu`."""
    return rrelu(input, lower, upper, training, inplace=True)


_PRELU_FORWARD_KERNEL = elementwise("prelu", 2, half=True)(
    lambda x, weight: choose(x > 0.0, x, x * weight)
)
_PRELU_SHARE = zero_share("PreluKernelBackwardBackward0")
PRELU_KERNEL = Row(
    "_prelu_kernel",
    lambda self, weight: _PRELU_FORWARD_KERNEL.specialize(self)(self, weight),
    takes=FLOATS, takes_halves=True, torch_kernel="prelu_cpu", node="PreluKernelBackward0",
    grads={
        "self": lambda g, self, weight: _PRELU_SHARE(g.where(self > 0, g * weight), self),
        # The weight is saved for both, as in PyTorch.
        "weight": lambda g, self, weight: (g * self).masked_fill(self > 0, 0),
    },
    kinks="the left derivative at 0", placement=as_first,
)  # fmt: skip


@public(out=False)
@casts(LOWER)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` above 0, `weight * x` below, with a weight for each channel or one for all.

    Args:
        weight: one slope, or one for each channel, which is dimension 1

    Example:
        >>> clew.prelu(clew.tensor([[-1.0, -2.0]]), clew.tensor([0.25, 0.5]))
        tensor([[-0.2500, -1.0000]])
    """
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
