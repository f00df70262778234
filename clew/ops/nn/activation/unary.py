"""Activation functions that are one elementwise operation each.

Each has a fused forward and a fused backward, which is an operation with gradients of its own, so
that few temporaries are made and gradients of gradients exist. What is saved is what PyTorch saves:
the input, and for the in-place forms of elu, celu, leaky_relu and rrelu the result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend.dtypes import HALVES, as_scalar
from clew.core.arguments import explained
from clew.core.elementwise import F32, F64
from clew.core.inplace import apply_inplace
from clew.core.op import OPS
from clew.core.public import public, with_out
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where as choose
from clew.kernels.codegen.tracing import softplus as log1p_exp
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.numpy.arrays import as_new
from clew.ops.define import out_checks
from clew.ops.define.memory_layout import in_rows
from clew.ops.define.rows import FLOATS, Row

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


def run_kernel(kernel: Any, *arrays: Array, numbers: tuple[float, ...] = ()) -> Array:
    """What a compiled kernel makes of arrays of one float type, and of numbers."""
    first = arrays[0]
    dtype = first.dtype
    given: list[Any] = [
        np.float32(number) if dtype in HALVES else as_scalar(number, dtype) for number in numbers
    ]
    result: Array = kernel.specialize(first)(*arrays, *given)
    return result


def require_tensor(function: str, input: Any) -> None:
    """Refuse what is not a tensor, in PyTorch's words."""
    if not isinstance(input, Tensor):
        raise errors.wrong_argument(function, "input", 1, "Tensor", input)


def run(op: Row, input: Tensor, inplace: bool, name: str = "", **params: Any) -> Tensor:
    """A row with one input, or its in-place form; errors call it `name` where that is given."""
    if inplace or not isinstance(input, Tensor):
        require_tensor(name or op.name, input)
        return apply_inplace(op, input, **params)
    return run_quickly(op, input, params)


def run_quickly(op: Row, input: Tensor, params: dict[str, Any]) -> Tensor:
    """A row with one input, by the short path that float32 and float64 have."""
    array, state = input._array, local.state
    if (array.dtype is F32 or array.dtype is F64) and state.intercept is None:
        result = op.forward(array, **params)
        if result.strides != array.strides:
            result = op.placement((array,), result)
        return op.output(state, (input,), params, result)
    whole: Tensor = op(input, **params)
    return whole


def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`."""
    require_tensor("relu_", input)
    return apply_inplace(OPS["relu"], input)


# -- elu, selu, celu -----------------------------------------------------------------------


@elementwise("elu", 4, scalars=(1, 2, 3), cost=4, half=True)
def _ELU_KERNEL(x: Any, scale: Any, low: Any, input_scale: Any) -> Any:
    return choose(x > 0.0, x * scale, (x * input_scale).expm1() * low)


@elementwise("elu_backward", 5, scalars=(2, 3, 4), cost=4, half=True)
def _ELU_BACKWARD_KERNEL(g: Any, x: Any, scale: Any, low: Any, input_scale: Any) -> Any:
    return g * choose(x <= 0.0, (x * input_scale).exp() * (low * input_scale), scale)


def _elu(self: Array, *, alpha: float, scale: float, input_scale: float) -> Array:
    return run_kernel(_ELU_KERNEL, self, numbers=(scale, alpha * scale, input_scale))


def _elu_backward(
    grad_output: Array, self: Array, *, alpha: float, scale: float, input_scale: float
) -> Array:
    numbers = scale, alpha * scale, input_scale
    return run_kernel(_ELU_BACKWARD_KERNEL, grad_output, self, numbers=numbers)


def _elu_curvature(
    g: Tensor, grad_output: Tensor, self: Tensor, alpha: float, scale: float, input_scale: float
) -> Tensor:
    bend = (self * input_scale).exp() * (alpha * scale * input_scale * input_scale)
    # At 0 it is that of the straight side.
    return g * grad_output * bend.masked_fill(self >= 0, 0)


ELU_BACKWARD: Row = Row(
    "elu_backward", _elu_backward, takes_halves=True,
    grads={
        "grad_output": lambda g, self, alpha, scale, input_scale: ELU_BACKWARD(
            g, self, alpha=alpha, scale=scale, input_scale=input_scale
        ),
        "self": _elu_curvature,
    },
)  # fmt: skip


def _elu_gradient(g: Any, self: Any, alpha: float, scale: float, input_scale: float) -> Any:
    """Of tensors or bare arrays."""
    return ELU_BACKWARD.over(g, self, alpha=alpha, scale=scale, input_scale=input_scale)


def _elu_gradient_from_result(
    g: Tensor, out: Tensor, alpha: float, scale: float, input_scale: float
) -> Tensor:
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not "
            "supported. This is caused by calling in-place forward function with a negative slope, "
            "please call out-of-place version instead." + errors.at_user_line()
        )
    # The second derivative at 0 is that of the straight side.
    low = g * ((out.masked_fill(out >= 0, 0) + alpha * scale) * input_scale)
    return (g * scale).where(out > 0, low)


def _elu_row(name: str, family: str, on_result: bool) -> Row:
    return Row(
        name, _elu, inputs=("self",), takes=FLOATS, takes_halves=True, torch_kernel="elu_cpu",
        grads={"self": _elu_gradient_from_result if on_result else _elu_gradient},
        node=f"{family}Backward{int(on_result)}", kinks="the left derivative at 0",
        bare=not on_result,
    )  # fmt: skip


ELU, ELU_IN_PLACE = _elu_row("elu", "Elu", False), _elu_row("elu_on_result", "Elu", True)
CELU, CELU_IN_PLACE = _elu_row("celu", "Celu", False), _elu_row("celu_on_result", "Celu", True)


@explained
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` above 0, `alpha * (exp(x) - 1)` below.

    Args:
        alpha: minus the value far below 0
        inplace: overwrite `input`

    Example:
        >>> F.elu(clew.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    op = ELU_IN_PLACE if inplace else ELU
    return run(op, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `elu`."""
    return elu(input, alpha, inplace=True)


@public(method=False, out=False, name="selu")
def _plain_selu(input: Tensor) -> Tensor:
    return selu(input)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The elu whose fixed point has mean 0 and variance 1.

    Args:
        inplace: overwrite `input`

    Example:
        >>> F.selu(clew.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
    op = ELU_IN_PLACE if inplace else ELU
    return run(op, input, inplace, "selu", alpha=SELU_ALPHA, scale=SELU_SCALE, input_scale=1.0)


@public(method=False, out=False)
def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`."""
    return selu(input, inplace=True)


@public(method=False, out=False, name="celu")
def _plain_celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    return celu(input, alpha)


@explained
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` above 0, `alpha * (exp(x / alpha) - 1)` below.

    Args:
        alpha: minus the value far below 0
        inplace: overwrite `input`

    Example:
        >>> F.celu(clew.tensor([-1.0, 2.0]), alpha=2.0)
        tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU" + errors.at_user_line())
    op = CELU_IN_PLACE if inplace else CELU
    return run(op, input, inplace, alpha=alpha, scale=1.0, input_scale=1.0 / alpha)


@public(method=False, out=False)
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `celu`."""
    return celu(input, alpha, inplace=True)


# -- softplus, logsigmoid ------------------------------------------------------------------


def _softplus_formula(x: Any, beta: Any, threshold: Any) -> Any:
    return choose(x * beta > threshold, x, log1p_exp(x * beta) / beta)


_SOFTPLUS_KERNEL = elementwise("softplus", 3, scalars=(1, 2), cost=8)(_softplus_formula)
# Hardly anybody gives other numbers, and these cost nothing when they are in the code.
_USUAL_BETA, _USUAL_THRESHOLD = 1.0, 20.0
_USUAL_SOFTPLUS_KERNEL = elementwise("usual_softplus", 1, cost=8)(
    lambda x: _softplus_formula(x, _USUAL_BETA, _USUAL_THRESHOLD)
)


@elementwise("softplus_backward", 4, scalars=(2, 3), cost=4)
def _SOFTPLUS_BACKWARD_KERNEL(g: Any, x: Any, beta: Any, threshold: Any) -> Any:
    return choose(x * beta > threshold, g, g * (x * beta).sigmoid())


def _softplus(self: Array, *, beta: float, threshold: float) -> Array:
    if beta == _USUAL_BETA and threshold == _USUAL_THRESHOLD:
        result: Array = _USUAL_SOFTPLUS_KERNEL.specialize(self)(self)
        return result
    return run_kernel(_SOFTPLUS_KERNEL, self, numbers=(beta, threshold))


def _softplus_backward(grad_output: Array, self: Array, *, beta: float, threshold: float) -> Array:
    return run_kernel(_SOFTPLUS_BACKWARD_KERNEL, grad_output, self, numbers=(beta, threshold))


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
    bare=True, grads={
        "self": lambda g, self, beta, threshold: SOFTPLUS_BACKWARD.over(
            g, self, beta=beta, threshold=threshold
        )
    },
)  # fmt: skip


@functools.partial(with_out, accept=out_checks.same_dtype)
def softplus(
    input: Tensor, beta: float = _USUAL_BETA, threshold: float = _USUAL_THRESHOLD
) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`; a straight line above the threshold.

    Args:
        beta: how sharp the bend at 0 is
        threshold: the `beta * x` from which on the result is `x`

    Example:
        >>> F.softplus(clew.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """
    require_tensor("softplus", input)
    return run_quickly(SOFTPLUS, input, {"beta": beta, "threshold": threshold})


# 0 of large numbers, not -0.
_LOG_SIGMOID_KERNEL = elementwise("log_sigmoid", 1, cost=8, half=True)(
    lambda x: 0.0 - log1p_exp(-x)
)
_LOG_SIGMOID_BACKWARD_KERNEL = elementwise("log_sigmoid_backward", 2, cost=4, half=True)(
    lambda g, x: g * (-x).sigmoid()
)


def _log_sigmoid(self: Array) -> Array:
    return as_new(run_kernel(_LOG_SIGMOID_KERNEL, self))


def _log_sigmoid_backward(grad_output: Array, self: Array) -> Array:
    return run_kernel(_LOG_SIGMOID_BACKWARD_KERNEL, grad_output, self)


def _log_sigmoid_curvature(g: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    gate = self.sigmoid()
    return g * grad_output * (gate * (gate - 1))


LOG_SIGMOID_BACKWARD: Row = Row(
    "log_sigmoid_backward", _log_sigmoid_backward, takes_halves=True,
    grads={
        "grad_output": lambda g, self: LOG_SIGMOID_BACKWARD(g, self),
        "self": _log_sigmoid_curvature,
    },
)  # fmt: skip
LOG_SIGMOID = Row(
    "log_sigmoid", _log_sigmoid, takes_halves=True, inputs=("self",), takes=FLOATS,
    placement=in_rows,
    bare=True, grads={"self": lambda g, self: LOG_SIGMOID_BACKWARD.over(g, self)},
)  # fmt: skip


@functools.partial(with_out, accept=out_checks.of_result_dtype(out_checks.found_scalar_type))
def logsigmoid(input: Tensor) -> Tensor:
    """`log(sigmoid(x))`, computed without the sigmoid's underflow.

    Example:
        >>> F.logsigmoid(clew.tensor([-200.0, 0.0]))
        tensor([-200.0000,   -0.6931])
    """
    return run(LOG_SIGMOID, input, False)
