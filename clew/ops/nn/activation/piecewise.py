"""Activation functions made of straight pieces, and tanhshrink and softsign."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import explained, is_real, typed
from clew.core.public import public, with_out
from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where as choose
from clew.kernels.codegen.ufunc import elementwise
from clew.ops.define import out_checks
from clew.ops.define.memory_layout import as_first
from clew.ops.define.rows import FLOATS, Row
from clew.ops.nn.activation.unary import require_tensor, run, run_kernel, with_dims
from clew.ops.pointwise.arithmetic import zeros_of
from clew.ops.tensor.copying import scalar_as

Array = np.ndarray

_CLAMP_REFUSALS = {
    "b": RuntimeError("Bool inputs not supported for hardtanh"),
    "c": NotImplementedError(f"clamp is not supported for complex types{errors.BY_PARTS}"),
}


def _kept(values: Array, keep: Array) -> Array:
    """The values where `keep` holds and 0 elsewhere; a NaN that is not kept leaves no trace."""
    return np.where(keep, values, values.dtype.type(0))


# -- threshold, hardtanh, relu6 ------------------------------------------------------------


@elementwise("threshold", 3, scalars=(1, 2), half=True)
def _THRESHOLD_KERNEL(x: Any, threshold: Any, value: Any) -> Any:
    return choose(x <= threshold, value, x)


@elementwise("threshold_backward", 3, scalars=(2,), half=True)
def _THRESHOLD_BACKWARD_KERNEL(g: Any, x: Any, threshold: Any) -> Any:
    return choose(x <= threshold, g.like(0.0), g)


def _threshold(self: Array, *, threshold: float, value: float) -> Array:
    if _THRESHOLD_KERNEL.specialize(self) is None:
        return np.where(self <= threshold, self.dtype.type(value), self)
    return run_kernel(_THRESHOLD_KERNEL, self, numbers=(threshold, value))


def _threshold_backward(grad_output: Array, self: Array, *, threshold: float) -> Array:
    if _THRESHOLD_BACKWARD_KERNEL.specialize(self) is None:
        return _kept(grad_output, ~(self <= threshold))
    return run_kernel(_THRESHOLD_BACKWARD_KERNEL, grad_output, self, numbers=(threshold,))


THRESHOLD_BACKWARD: Row = Row(
    "threshold_backward",
    _threshold_backward,
    takes_halves=True,
    grads={
        "grad_output": lambda g, self, threshold: THRESHOLD_BACKWARD(g, self, threshold=threshold),
        "self": zeros_of,
    },
)
THRESHOLD_IN_PLACE = Row(
    "threshold_in_place", _threshold, inputs=("self",), takes="ihf", takes_halves=True,
    torch_kernel="threshold_cpu",
    bare=True,
    grads={
        "self": lambda g, self, threshold: THRESHOLD_BACKWARD.over(g, self, threshold=threshold)
    },
    node="ThresholdBackward1",
)  # fmt: skip
THRESHOLD = Row(
    "threshold", _threshold, inputs=("self",), takes="ihf", takes_halves=True,
    bare=True,
    grads={
        "self": lambda g, self, threshold: THRESHOLD_BACKWARD.over(g, self, threshold=threshold)
    },
    kinks="0 at the threshold",
)  # fmt: skip
# Equal elements give equal results, and PyTorch does not refuse to write these to one place.
THRESHOLD_IN_PLACE.uniform = True


@typed
def threshold(input: Tensor, threshold: complex, value: complex, inplace: bool = False) -> Tensor:
    """`x` above the threshold, `value` up to it.

    Args:
        threshold: the largest input that is replaced
        value: what replaces it
        inplace: overwrite `input`

    Example:
        >>> F.threshold(clew.tensor([0.0, 0.5, 2.0]), 0.5, -1.0)
        tensor([-1., -1.,  2.])
    """
    return _thresholded(input, threshold, value, inplace)


@public(method=False, out=False)
def threshold_(input: Tensor, threshold: complex, value: complex) -> Tensor:
    """In-place version of `threshold`."""
    return _thresholded(input, threshold, value, inplace=True)


@public(method=False, name="threshold")
def _torch_threshold(input: Tensor, threshold: complex, value: complex) -> Tensor:
    return _thresholded(input, threshold, value, inplace=False)


def _thresholded(input: Tensor, threshold: Any, value: Any, inplace: bool) -> Tensor:
    op = THRESHOLD_IN_PLACE if inplace else THRESHOLD
    whole = isinstance(input, Tensor) and input.dtype.category == dtypes.INTEGER
    if whole or isinstance(threshold, complex) or isinstance(value, complex):
        require_tensor(op.name, input)
        if not input.dtype.is_complex:
            dtype = input._array.dtype
            threshold, value = (scalar_as(each, dtype).item() for each in (threshold, value))
    return run(op, input, inplace, threshold=threshold, value=value)


def _hardtanh_backward(grad_output: Array, self: Array, *, min_val: float, max_val: float) -> Array:
    return _kept(grad_output, ~((self <= min_val) | (self >= max_val)))


HARDTANH_BACKWARD: Row = Row(
    "hardtanh_backward", _hardtanh_backward,
    grads={
        "grad_output": lambda g, self, min_val, max_val: HARDTANH_BACKWARD(
            g, self, min_val=min_val, max_val=max_val
        ),
        "self": zeros_of,
    },
)  # fmt: skip
HARDTANH = Row(
    "hardtanh", lambda self, *, min_val, max_val: np.clip(self, min_val, max_val),
    inputs=("self",), takes="ihf", refusals=_CLAMP_REFUSALS, kinks="0 at both ends",
    placement=as_first,
    bare=True, grads={
        "self": lambda g, self, min_val, max_val: HARDTANH_BACKWARD.over(
            g, self, min_val=min_val, max_val=max_val
        )
    },
)  # fmt: skip


@explained
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`x`, held between the limits.

    Args:
        min_val: the lower limit
        max_val: the upper limit
        inplace: overwrite `input`

    Example:
        >>> F.hardtanh(clew.tensor([-3.0, 0.5, 2.0]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    require_tensor("hardtanh", input)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val" + errors.at_user_line())
    if input.dtype.category == dtypes.INTEGER:
        min_val, max_val = int(min_val), int(max_val)
        if not input.dtype.is_signed and (min_val < 0 or max_val < 0):
            raise RuntimeError(
                "cannot do hardtanh on an unsigned type with negative limits"
                + errors.at_user_line()
            )
    return run(HARDTANH, input, inplace, min_val=min_val, max_val=max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place version of `hardtanh`."""
    return hardtanh(input, min_val, max_val, inplace=True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`x`, held between 0 and 6.

    Args:
        inplace: overwrite `input`

    Example:
        >>> F.relu6(clew.tensor([-1.0, 3.0, 9.0]))
        tensor([0., 3., 6.])
    """
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
    grads={"grad_output": lambda g, self: HARDSIGMOID_BACKWARD(g, self), "self": zeros_of},
)
HARDSIGMOID = Row(
    "hardsigmoid", _hardsigmoid, inputs=("self",), takes=FLOATS, kinks="0 at both ends",
    bare=True, grads={"self": lambda g, self: HARDSIGMOID_BACKWARD.over(g, self)},
)  # fmt: skip


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A sigmoid of three straight pieces: `x / 6 + 1 / 2`, held between 0 and 1.

    Args:
        inplace: overwrite `input`

    Example:
        >>> F.hardsigmoid(clew.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    return run(HARDSIGMOID, input, inplace)


_HARDSWISH_KERNEL = elementwise("hardswish", 1, half=True)(
    lambda x: (x + 3.0).clamp(0.0, 6.0) * x / 6.0
)


@elementwise("hardswish_backward", 2, half=True)
def _HARDSWISH_BACKWARD_KERNEL(g: Any, x: Any) -> Any:
    return choose(x <= -3.0, 0.0, choose(x < 3.0, g * (x / 3.0 + 0.5), g))


def _hardswish(self: Array) -> Array:
    return run_kernel(_HARDSWISH_KERNEL, self)


def _hardswish_backward(grad_output: Array, self: Array) -> Array:
    return run_kernel(_HARDSWISH_BACKWARD_KERNEL, grad_output, self)


HARDSWISH_BACKWARD: Row = Row(
    "hardswish_backward", _hardswish_backward, takes_halves=True,
    grads={
        "grad_output": lambda g, self: HARDSWISH_BACKWARD(g, self),
        "self": lambda g, grad_output, self: g
        * grad_output
        * ((self > -3) & (self < 3)).to(g.dtype)
        / 3,
    },
)  # fmt: skip
HARDSWISH = Row(
    "hardswish", _hardswish, inputs=("self",), takes=FLOATS, takes_halves=True,
    bare=True, grads={"self": lambda g, self: HARDSWISH_BACKWARD.over(g, self)},
    kinks="0 at -3 and 1 at 3",
)  # fmt: skip


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * hardsigmoid(x)`.

    Args:
        inplace: overwrite `input`

    Example:
        >>> F.hardswish(clew.tensor([-4.0, 1.5, 4.0]))
        tensor([-0.0000, 1.1250, 4.0000])
    """
    return run(HARDSWISH, input, inplace)


# -- shrinking -----------------------------------------------------------------------------


@elementwise("softshrink", 2, scalars=(1,), half=True)
def _SOFTSHRINK_KERNEL(x: Any, lambd: Any) -> Any:
    moved = choose(x > 0.0, x - lambd, x + lambd)
    # A NaN is neither small nor large and must stay.
    return choose((x >= -lambd) & (x <= lambd), lambd.like(0.0), moved)


@elementwise("shrink_backward", 3, scalars=(2,), half=True)
def _SHRINK_BACKWARD_KERNEL(g: Any, x: Any, lambd: Any) -> Any:
    return choose((x >= -lambd) & (x <= lambd), lambd.like(0.0), g)


def _softshrink(self: Array, *, lambd: float) -> Array:
    return run_kernel(_SOFTSHRINK_KERNEL, self, numbers=(lambd,))


def _kept_outside(values: Array, self: Array, lambd: float) -> Array:
    return run_kernel(_SHRINK_BACKWARD_KERNEL, values, self, numbers=(lambd,))


SHRINK_BACKWARD: Row = Row(
    "shrink_backward",
    lambda grad_output, self, *, lambd: _kept_outside(grad_output, self, lambd),
    takes_halves=True,
    node="SoftshrinkBackwardBackward0",
    grads={
        "grad_output": lambda g, self, lambd: SHRINK_BACKWARD(g, self, lambd=lambd),
        "self": zeros_of,
    },
)
SOFTSHRINK = Row(
    "softshrink", _softshrink, inputs=("self",), takes=FLOATS, takes_halves=True,
    torch_kernel="softshrink_check",
    bare=True, grads={"self": lambda g, self, lambd: SHRINK_BACKWARD.over(g, self, lambd=lambd)},
    kinks="0 at both ends",
)  # fmt: skip
HARDSHRINK = Row(
    "hardshrink",
    lambda self, *, lambd: _kept_outside(self, self, lambd),
    inputs=("self",), takes=FLOATS, takes_halves=True,
    bare=True, grads={"self": lambda g, self, lambd: SHRINK_BACKWARD.over(g, self, lambd=lambd)},
    kinks="0 at both ends",
)  # fmt: skip


@functools.partial(with_out, accept=out_checks.same_dtype)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x`, moved towards 0 by `lambd` and not past it.

    Args:
        lambd: how far, at least 0

    Example:
        >>> F.softshrink(clew.tensor([-1.0, 0.3, 2.0]))
        tensor([-0.5000,  0.0000,  1.5000])
    """
    require_tensor("softshrink", input)
    if input.dtype.category != dtypes.FLOAT:
        raise errors.no_kernel("softshrink_check", input.dtype)
    largest = dtypes.finfo(input.dtype).max
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {input.dtype.scalar_name}, "
            f"but found {lambd:g}" + errors.at_user_line()
        )
    return run(SOFTSHRINK, input, False, lambd=lambd)


@public(out=out_checks.same_or_apart, accept=out_checks.same_dtype)
@explained
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` outside of [-lambd, lambd], 0 within.

    Args:
        lambd: where the zeros end

    Example:
        >>> F.hardshrink(clew.tensor([-1.0, 0.3, 0.7]))
        tensor([-1.0000,  0.0000,  0.7000])
    """
    if not is_real(lambd):
        raise errors.wrong_argument("hardshrink", "lambd", 2, "Number", lambd)
    if isinstance(input, Tensor) and input._array.dtype in dtypes.HALVES:
        # An element that equals the bound in its own dtype is within.
        lambd = scalar_as(lambd, input._array.dtype).item()
    return run(HARDSHRINK, input, False, lambd=lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`: next to nothing near 0.

    Example:
        >>> F.tanhshrink(clew.tensor([-1.0, 0.1, 9.0]))
        tensor([-2.3841e-01,  3.3201e-04,  8.0000e+00])
    """
    require_tensor("tanhshrink", input)
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`: any number to one between -1 and 1.

    Example:
        >>> F.softsign(clew.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    require_tensor("softsign", input)
    return input / (input.abs() + 1)
