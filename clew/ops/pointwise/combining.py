"""Combining two or three tensors: lerp, addcmul, addcdiv, hypot, atan2, logaddexp, nan_to_num."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import is_real
from clew.core.elementwise import NUMBER
from clew.core.inplace import apply_inplace
from clew.core.public import FUNCTIONS, inplace_method, methods, out_doc, public
from clew.core.result_layout import laid_out_without_numbers
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.kernels.codegen.contexts import TYPES
from clew.kernels.codegen.ir import where
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.numpy.strides import runs_into_itself
from clew.ops.define import out_checks
from clew.ops.define.deprecated_forms import number_first
from clew.ops.define.memory_layout import as_first
from clew.ops.define.rows import (
    FLOAT,
    FLOATS,
    INEXACT,
    REALS,
    SAME_OUT,
    Row,
    binary_row,
    out_form,
    require_tensors,
)
from clew.ops.pointwise.arithmetic import conj
from clew.ops.pointwise.clamping import WHERE
from clew.ops.tensor.copying import fits_all, scalar_as
from clew.ops.tensor.info import result_type

hypot = binary_row(
    "hypot", np.hypot,
    lambda g, self, out: g * self / out,
    lambda g, other, out: g * other / out,
    takes=FLOATS, numbers=False,
    doc="The length of the hypotenuse: `sqrt(input² + other²)`, without overflow on the way.",
    example=">>> clew.hypot(clew.tensor([3., 5.]), clew.tensor([4., 12.]))\ntensor([ 5., 13.])",
)  # fmt: skip


def _over_square(self: Tensor, other: Tensor) -> Tensor:
    """1 / (self² + other²), and 0 at the origin."""
    square = self * self + other * other
    return WHERE(square == 0, 0, square.reciprocal())


atan2 = binary_row(
    "atan2", np.arctan2,
    lambda g, self, other: g * other * _over_square(self, other),
    lambda g, self, other: g * -self * _over_square(self, other),
    rule=FLOAT, takes=REALS, aliases=("arctan2",), numbers=False, kinks="0 at the origin",
    doc=(
        "The angle of the point (other, input), in [-pi, pi]: `atan(input / other)` in the "
        "right quadrant."
    ),
    example=(
        ">>> clew.atan2(clew.tensor([1., 1.]), clew.tensor([1., -1.]))\n"
        "tensor([0.7854, 2.3562])"
    ),
)  # fmt: skip


# -- logaddexp -------------------------------------------------------------------------------


@elementwise("logaddexp", 2, cost=8)
def _LOGADDEXP_KERNEL(x: Any, y: Any) -> Any:
    # Equal infinities have no difference.
    distance = where(x.eq(y), 0.0, (x - y).abs())
    return x.maximum(y) + (-distance).exp().log1p()


@elementwise("logaddexp2", 2, cost=8)
def _LOGADDEXP2_KERNEL(x: Any, y: Any) -> Any:
    distance = where(x.eq(y), 0.0, (x - y).abs())
    # Rounded once, as PyTorch's is: where the sum cancels, that is all that is left.
    return (-distance * math.log(2.0)).exp().log1p().fma(1.0 / math.log(2.0), x.maximum(y))


class _LogAddExp(Row):
    keeps_complex = True


def _log_add_exp(self: Any, other: Any) -> Any:
    if self.dtype.kind not in "cW":
        return _LOGADDEXP_KERNEL.specialize(self)(self, other)
    return kernels.complex_logarithms.logaddexp(self, other)


logaddexp = binary_row(
    "logaddexp", _log_add_exp,
    lambda g, self, other: g / conj(1 + (other - self).exp()),
    lambda g, self, other: g / conj(1 + (self - other).exp()),
    takes=INEXACT, in_place=False, numbers=False, row=_LogAddExp,
    doc="`log(exp(input) + exp(other))`, without overflow on the way.",
    example=(
        ">>> clew.logaddexp(clew.tensor([0., 1000.]), clew.tensor([0., 1000.]))\n"
        "tensor([6.9315e-01, 1.0007e+03])"
    ),
)  # fmt: skip
logaddexp2 = binary_row(
    "logaddexp2", lambda self, other: _LOGADDEXP2_KERNEL.specialize(self)(self, other),
    lambda g, self, other: g / (1 + (other - self).exp2()),
    lambda g, self, other: g / (1 + (self - other).exp2()),
    takes=FLOATS, in_place=False, numbers=False,
    doc="`log2(2**input + 2**other)`, without overflow on the way.",
    example=(
        ">>> clew.logaddexp2(clew.tensor([0., 1000.]), clew.tensor([0., 1000.]))\n"
        "tensor([1.0000e+00, 1.0010e+03])"
    ),
)  # fmt: skip


# -- lerp ------------------------------------------------------------------------------------


@elementwise("lerp", 3, cost=2)
def _LERP_KERNEL(x: Any, end: Any, weight: Any) -> Any:
    # Rounded as often as in PyTorch.
    is_near = weight.abs() < 0.5
    factor = where(is_near, weight, weight - 1.0)
    return factor.fma(end - x, where(is_near, x, end))


def _interpolated(self: Any, end: Any, weight: Any) -> Any:
    """From the nearer end, so that weight 1 gives `end` exactly."""
    is_number = not isinstance(weight, np.ndarray)
    kernel = _LERP_KERNEL.specialize(self)
    if kernel is not None and (not is_number or type(weight) is float):
        return kernel(self, end, weight)
    if is_number:
        if abs(weight) < 0.5:
            return self + weight * (end - self)
        return end - (end - self) * (1 - weight)
    difference = end - self
    near = np.abs(weight) < 0.5
    return np.where(near, self + weight * difference, end - difference * (1 - weight))


_OF_ENDS = {
    "self": lambda g, weight: g * conj(1 - weight),
    "end": lambda g, weight: g * conj(weight),
}


class _Lerp(Row):
    """By a number, which may write to one end: moving averages of weights do."""

    def write_into(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> bool:
        if not target.flags.c_contiguous and runs_into_itself(target):
            return super().write_into(target, inputs, params)
        end, weight = inputs[1]._array, inputs[2]
        if end.dtype is not target.dtype or target.dtype not in TYPES:
            return False
        if end.shape != target.shape or type(weight) is not float:
            return False
        _LERP_KERNEL.specialize(target)(target, end, weight, out=target)
        return True


LERP_NUMBER = _Lerp(
    "lerp.number", _interpolated, takes=INEXACT, torch_kernel="lerp_kernel_scalar",
    exact_numbers=True, node="LerpBackward0", grads=_OF_ENDS, placement=laid_out_without_numbers,
)  # fmt: skip
LERP_NUMBER.numbers = ("weight",)
LERP = Row(
    "lerp", _interpolated, takes=INEXACT, torch_kernel="lerp_kernel_tensor", node="LerpBackward1",
    grads={**_OF_ENDS, "weight": lambda g, self, end: g * conj(end - self)},
)  # fmt: skip


@public(out=False)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """`input + weight * (end - input)`: a point between two tensors.

    Args:
        input: where the line starts
        end: where it ends; of the same dtype, broadcasts with `input`
        weight: how far to go: 0 is `input`, 1 is `end`; a number or a tensor

    Example:
        >>> clew.lerp(clew.tensor([0., 10.]), clew.tensor([10., 20.]), 0.5)
        tensor([ 5., 15.])
    """
    require_tensors("lerp", input=input)
    _require_end("lerp", end)
    if not isinstance(weight, (Tensor, *NUMBER)):
        raise errors.wrong_argument("lerp", "weight", 3, "Tensor or Number", weight)
    if isinstance(weight, Tensor) and not weight._array.ndim and weight.dtype is not input.dtype:
        # A tensor without dimensions is converted as a number is.
        both = result_type(input, weight)
        input, end, weight = input.to(both), end.to(both), weight.to(both)
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value.dtype is not input.dtype:
            raise RuntimeError(
                f"expected dtype {input.dtype.c_name} for `{name}` but got dtype "
                f"{value.dtype.c_name}" + errors.at_user_line()
            )
    op = LERP if isinstance(weight, Tensor) else LERP_NUMBER
    if isinstance(weight, complex) and not input.dtype.is_complex:
        scalar_as(weight, input._array.dtype)
    if input.dtype.category < dtypes.FLOAT:
        op.refuse(input.dtype, (input, end))
    return op(input, end, weight)


def _require_end(name: str, end: Any) -> None:
    if not isinstance(end, Tensor):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got a {type(end).__name__} "
            "for end, but expected a Tensor\n  Make one of the number: input.new_tensor(end)."
            + errors.at_user_line()
        )


_lerp_in_place = inplace_method(lerp, "lerp_", out_checks.same_or_apart)


def lerp_(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """In-place version of `lerp`."""
    _require_end("lerp_", end)
    if type(weight) is float and self.dtype is end.dtype and self._array.dtype in TYPES:
        return apply_inplace(LERP_NUMBER, self, end, weight)
    return _lerp_in_place(self, end, weight)


methods(lerp_=lerp_)


@functools.wraps(lerp)
def _lerp_function(input: Tensor, end: Tensor, weight: Any, *, out: Any = None) -> Tensor:
    # Only among tensors with dimensions must the dtype of `out=` be that of the result.
    exact = isinstance(weight, Tensor) and weight._array.ndim > 0
    form = out_form(lerp, SAME_OUT if exact else "")
    result: Tensor = form(input, end, weight, out=out)
    return result


_lerp_function.__doc__ = out_doc(lerp.__doc__)
FUNCTIONS["lerp"] = _lerp_function

# -- addcmul, addcdiv ------------------------------------------------------------------------


def _plus_product(self: Any, tensor1: Any, tensor2: Any, *, value: Any) -> Any:
    factor = np.asarray(value).astype(self.dtype) if self.dtype.kind in "biu" else value
    return self + factor * tensor1 * tensor2


def _plus_quotient(self: Any, tensor1: Any, tensor2: Any, *, value: Any) -> Any:
    return self + value * tensor1 / tensor2


ADDCMUL = Row(
    "addcmul", _plus_product, takes="ihfc", torch_kernel="addcmul_cpu_out",
    grads={
        "self": lambda g: g,
        "tensor1": lambda g, tensor2, value: g * conj(tensor2 * value),
        "tensor2": lambda g, tensor1, value: g * conj(tensor1 * value),
    },
)  # fmt: skip


def _of_dividend(g: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    """PyTorch divides in the dtype of the divisor, which integers refuse."""
    if tensor2.dtype.category < dtypes.FLOAT:
        have = dtypes.get_default_dtype()
        raise errors.in_place_dtype(have.scalar_name, tensor2.dtype.scalar_name)
    # One division, not a reciprocal times a number.
    dividend = wrap(np.asarray(value).astype(tensor2._array.dtype))
    return g * conj(dividend / tensor2)


ADDCDIV = Row(
    "addcdiv", _plus_quotient, takes=INEXACT, torch_kernel="addcdiv_cpu_out",
    grads={
        "self": lambda g: g,
        "tensor1": _of_dividend,
        "tensor2": lambda g, tensor1, tensor2, value: -g
        * conj(value * tensor1 / (tensor2 * tensor2)),
    },
)  # fmt: skip


@public(inplace=out_checks.same_or_apart, out=out_checks.same_or_apart)
@number_first("value")
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """`input + value * tensor1 * tensor2`.

    Args:
        input: the tensor to add to
        tensor1: the first factor
        tensor2: the second factor; all three broadcast
        value: a number to multiply the product by

    Example:
        >>> x = clew.ones(3)
        >>> clew.addcmul(x, clew.tensor([1., 2., 3.]), clew.tensor([10.]), value=0.5)
        tensor([ 6., 11., 16.])
    """
    require_tensors("addcmul", input=input, tensor1=tensor1, tensor2=tensor2)
    value = _fitting(ADDCMUL, (input, tensor1, tensor2), value)
    return ADDCMUL(input, tensor1, tensor2, value=value)


def _fitting(op: Row, inputs: tuple[Tensor, ...], value: Any) -> Any:
    """The factor as a number, which the result's dtype must be able to hold."""
    if isinstance(value, Tensor) and not value.requires_grad:
        value = value.item()
    if not fits_all(value):
        dtype = op.result_dtype(inputs)[1]
        scalar_as(value, dtypes.float32.np if dtype.np in dtypes.LOW_PRECISION else dtype.np)
        if isinstance(value, complex) and not dtype.is_complex:
            value = value.real
    return value


@public(inplace=out_checks.same_or_apart, out=out_checks.same_or_apart)
@number_first("value")
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """`input + value * tensor1 / tensor2`.

    Args:
        input: the tensor to add to
        tensor1: the dividend; dividend and divisor must not both be of integers
        tensor2: the divisor; all three broadcast
        value: a number to multiply the quotient by

    Example:
        >>> x = clew.ones(3)
        >>> clew.addcdiv(x, clew.tensor([1., 2., 3.]), clew.tensor([2.]), value=10)
        tensor([ 6., 11., 16.])
    """
    require_tensors("addcdiv", input=input, tensor1=tensor1, tensor2=tensor2)
    if tensor1.dtype.category < dtypes.FLOAT and tensor2.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2. Use div(tensor1, "
            "tensor2) and add it, with the rounding that is meant." + errors.at_user_line()
        )
    value = _fitting(ADDCDIV, (input, tensor1, tensor2), value)
    return ADDCDIV(input, tensor1, tensor2, value=value)


# -- nan_to_num ------------------------------------------------------------------------------


def _replaced(
    self: np.ndarray, *, nan: float | None, posinf: float | None, neginf: float | None,
    limit: float,
) -> Any:  # fmt: skip
    if self.dtype.kind in "biu":
        return self.copy()
    if self.dtype.kind in "cW":
        result = np.empty_like(self)
        for part in ("real", "imag"):
            replaced = _replaced(
                getattr(self, part), nan=nan, posinf=posinf, neginf=neginf, limit=limit
            )
            setattr(result, part, replaced)
        return result
    result = self.copy()
    # NaN and infinities are mostly not there at all.
    wrong = ~np.isfinite(self)
    if not wrong.any():
        return result
    values = self[wrong]
    replaced = np.where(values > 0, limit if posinf is None else posinf, values)
    replaced = np.where(values < 0, -limit if neginf is None else neginf, replaced)
    result[wrong] = np.where(np.isnan(values), 0.0 if nan is None else nan, replaced)
    return result


def _grad_of_nan_to_num(g: Tensor, self: Tensor) -> Tensor:
    # As a product: an infinite gradient of what was replaced is NaN.
    return g * self.isfinite()


NAN_TO_NUM = Row(
    "nan_to_num", _replaced, grads={"self": _grad_of_nan_to_num}, kinks="0 where replaced",
    placement=as_first,
)  # fmt: skip


@public(out=False)
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """NaN and infinities replaced by finite numbers.

    Args:
        input: a tensor
        nan: what replaces NaN; None is 0
        posinf: what replaces inf; None is the largest finite number of the dtype
        neginf: what replaces -inf; None is the lowest finite number of the dtype

    Example:
        >>> x = clew.tensor([float("nan"), float("inf"), 1.])
        >>> clew.nan_to_num(x, posinf=100.)
        tensor([  0., 100.,   1.])
    """
    require_tensors("nan_to_num", input=input)
    for position, (name, value) in enumerate(
        (("nan", nan), ("posinf", posinf), ("neginf", neginf))
    ):
        if value is not None and not is_real(value):
            raise errors.wrong_argument("nan_to_num", name, position + 2, "float", value)
    if input.dtype.is_complex and input.requires_grad and local.state.grad_enabled:
        raise RuntimeError(
            "nan_to_num does not support automatic differentiation for outputs with complex dtype."
            + errors.at_user_line()
        )
    return _finite(input, nan, posinf, neginf)


def _finite(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """The same also for complex numbers with a history: the in-place form takes them."""
    real = input.dtype.to_real()
    limit = float(dtypes.finfo(real).max) if real.is_floating_point else math.inf
    return NAN_TO_NUM(input, nan=nan, posinf=posinf, neginf=neginf, limit=limit)


_replace = inplace_method(_finite, "nan_to_num_")


def _nan_to_num_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    if self.dtype.category < dtypes.FLOAT:
        # A copy of itself, which may go to one place several times.
        return self.copy_(self)
    return _replace(self, *args, **kwargs)


methods(nan_to_num_=_nan_to_num_)
FUNCTIONS["nan_to_num"] = out_form(
    nan_to_num, "nan_to_num: dtype of out: {found} should be same as input: {expected}"
)
