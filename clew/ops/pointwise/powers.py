"""Powers: pow in all its combinations of tensors and numbers, float_power, square."""

from __future__ import annotations

import cmath
import functools
import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import Elementwise, binary, operands
from clew.core.inplace import apply_inplace
from clew.core.public import FUNCTIONS, methods, public
from clew.core.result_layout import laid_out_without_numbers
from clew.core.tensor import Tensor
from clew.kernels.compiled.threaded_ufuncs import THRESHOLDS, threaded
from clew.kernels.numpy.arrays import reciprocals, redo_single_elements, widened
from clew.kernels.numpy.conversion import converted
from clew.ops.define import out_checks
from clew.ops.define.memory_layout import in_rows
from clew.ops.define.rows import Row, out_form
from clew.ops.pointwise.arithmetic import binary_operator, conj, reflected_operator, zeros_of
from clew.ops.pointwise.clamping import WHERE
from clew.ops.pointwise.transcendental import reciprocal_of_rounded_root
from clew.ops.tensor.copying import scalar_as

_TAKES = "ihfc"
# Fewer elements than these are left to NumPy anyway, which need not be looked up.
_FEW = THRESHOLDS[np.power]


def _raise_number(self: Any, exponent: Any) -> Any:
    """A number to any array; 1 stays 1, whatever the exponent. (To PyTorch, True is not 1.)"""
    if self == 1 and self is not True:
        return np.ones_like(exponent)
    base_kind = np.asarray(self).dtype.kind
    if base_kind in "iu" and np.asarray(exponent).dtype.kind in "iu":
        return _integer_power(np.asarray(self), np.asarray(exponent))
    if np.asarray(exponent).dtype.kind in "cW":
        return _complex_power(np.asarray(self).astype(exponent.dtype), exponent)
    return np.power(self, exponent)


def _raise_tensor(self: np.ndarray, exponent: np.ndarray) -> Any:
    """Any array to another of its dtype."""
    if self.dtype.kind in "iu":
        return _integer_power(self, exponent)
    if self.dtype.kind in "cW":
        return _complex_power(self, exponent)
    if self.size < _FEW:
        return np.power(self, exponent)
    return threaded(np.power, self, exponent)


def _complex_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """exp(y log x), also where y is 0 and log x is infinite: that is NaN.

    NumPy multiplies where y is a whole number. That is rounded otherwise, which shows where parts
    are near 0: on which side of a branch cut the result lies.
    """
    result = np.asarray(threaded(np.power, base, exponent))
    whole = (exponent.imag == 0) & (exponent.real % 1 == 0) & (base != 0) & np.isfinite(base)
    if whole.any():
        base, exponent = np.broadcast_arrays(base, exponent)
        result[whole] = np.exp(exponent[whole] * np.log(base[whole]))
    undefined = (exponent == 0) & ((base == 0) | ~np.isfinite(base))
    if undefined.any():
        result[undefined] = complex(np.nan, np.nan)
    return result


def _integer_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Integers to integer powers; to a negative power only 1 and -1 do not vanish."""
    negative = exponent < 0
    result = np.power(base, np.where(negative, 0, exponent).astype(exponent.dtype))
    if negative.any():
        of_minus_one = np.where(exponent % 2 == 0, 1, -1)
        vanishing = np.where(base == 1, 1, np.where(base == -1, of_minus_one, 0))
        result = np.where(negative, vanishing, result).astype(result.dtype)
    return result


def _raise_to_number(self: np.ndarray, exponent: Any) -> Any:
    """An array to a number: the usual exponents by multiplications, which are far faster."""
    if self.dtype.kind in "iu":
        return np.power(self, exponent)
    if exponent == 2:
        return threaded(np.square, self)
    if exponent == 1:
        return self.copy("K")
    if exponent == 0.5:
        return threaded(np.sqrt, self)
    if exponent == 3:
        return threaded(np.square, self) * self
    if exponent == -1:
        return reciprocals(self)
    if exponent == -2:
        return reciprocals(threaded(np.square, self))
    if exponent == -0.5:
        result = reciprocals(threaded(np.sqrt, widened(self)))
        if self.dtype in dtypes.HALVES:
            result = np.asarray(converted(result, self.dtype))
            redo_single_elements(result, 64, reciprocal_of_rounded_root, self)
        return result
    if self.dtype.kind in "cW" and exponent != 0:
        return _complex_power(self, np.asarray(exponent, self.dtype))
    return threaded(np.power, self, exponent)


def _grad_for_number(g: Any, self: Any, exponent: Any) -> Any:
    """The gradient of a base whose exponent is a number; of tensors or bare arrays."""
    if exponent == 0:
        return zeros_of(g)
    return g * conj(exponent * POW_NUMBER.over(self, exponent - 1))


def _grad_of_base(g: Tensor, self: Tensor, exponent: Tensor) -> Tensor:
    """x^0 is constant, also at x = 0, where the general formula would give 0 · inf."""
    slope = g * conj(exponent * self.pow(exponent - 1))
    return WHERE(exponent == 0, 0, slope)


def _grad_of_exponent(g: Tensor, self: Any, exponent: Tensor, out: Tensor) -> Tensor:
    """0^y is constant for y >= 0, where the general formula would give 0 · -inf."""
    if exponent.dtype.is_complex:
        constant = (exponent.imag == 0) & (exponent.real >= 0)
    else:
        constant = exponent >= 0
    if isinstance(self, Tensor):
        # In the dtype that both have together. (Of a negative real number the logarithm is complex,
        # where the power is.)
        logarithm = self.to(POW.result_dtype((self, exponent))[1]).log()
        return g * conj(WHERE((self == 0) & constant, 0, out * logarithm))
    if isinstance(self, bool) and not exponent.dtype.is_complex:
        raise RuntimeError(
            "false INTERNAL ASSERT FAILED: a power of a bool has no gradient, because PyTorch "
            f"cannot keep its base\n  Write {float(self)} ** x instead." + errors.at_user_line()
        )
    if self == 0:
        return g * conj(WHERE(constant, 0, out * -math.inf))
    return g * conj(out * _log_of_number(complex(self) if out.dtype.is_complex else self))


def _log_of_number(value: float | complex) -> float | complex:
    if isinstance(value, complex):
        return cmath.log(value)
    return math.log(value) if value > 0 else math.nan


class IntegerPower(Row):
    """A whole tensor of integers to one negative power would vanish: PyTorch refuses."""

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        base, exponent = inputs
        if type(exponent) is bool and base.dtype is dtypes.bool_:
            return dtypes.bool_, dtypes.bool_
        compute, result = super().result_dtype(inputs)
        if result.category < dtypes.FLOAT and exponent < 0:
            raise RuntimeError(
                "Integers to negative integer powers are not allowed." + errors.at_user_line()
            )
        if result.category == dtypes.INTEGER:
            scalar_as(exponent, result.np)
        if result is dtypes.bfloat16 and exponent in (3, -2, -0.5):
            # PyTorch computes with bfloat16 itself here, and rounds after each step.
            return result, result
        return compute, result


POW_NUMBER: Row = IntegerPower(
    "pow", _raise_to_number, inputs=("self", "exponent"), takes=_TAKES, torch_kernel="pow",
    bare=True, grads={"self": _grad_for_number}, kinks="0 at x^0",
    placement=laid_out_without_numbers,
)  # fmt: skip
POW = Row(
    "pow.tensor", _raise_tensor, inputs=("self", "exponent"), takes=_TAKES, torch_kernel="pow",
    node="PowBackward1", grads={"self": _grad_of_base, "exponent": _grad_of_exponent},
    kinks="0 at x^0 for the base, 0 at 0^y for the exponent",
)  # fmt: skip


class PowerOfNumber(Row):
    """1 to any power is 1, also in dtypes that have no other powers."""

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        if type(inputs[0]) is not bool and inputs[0] == 1:
            return Elementwise.result_dtype(self, inputs)
        return super().result_dtype(inputs)


POW_OF_NUMBER = PowerOfNumber(
    "pow.of_number", _raise_number, inputs=("self", "exponent"), takes=_TAKES, torch_kernel="pow",
    node="PowBackward2", grads={"exponent": _grad_of_exponent}, placement=in_rows,
)  # fmt: skip


def _pow_op(input: Any, exponent: Any) -> Row:
    if not isinstance(exponent, Tensor):
        return POW_NUMBER
    return POW if isinstance(input, Tensor) else POW_OF_NUMBER


_to_number, _to_tensor = binary(POW_NUMBER), binary(POW)


@public(out=False)
def pow(input: Any, exponent: Any) -> Tensor:
    """`input ** exponent`; either may be a number, but not both.

    Args:
        input: the base, a tensor or a number
        exponent: a tensor or a number; broadcasts with `input`

    Example:
        >>> clew.pow(clew.tensor([1., 2., 3.]), 2)
        tensor([1., 4., 9.])
        >>> clew.pow(2, clew.tensor([1., 2., 3.]))
        tensor([2., 4., 8.])
    """
    if isinstance(input, Tensor):
        return (_to_tensor if isinstance(exponent, Tensor) else _to_number)(input, exponent)
    op = _pow_op(input, exponent)
    return op(*operands(op, input, exponent))


_pow_out_form = out_form(pow)


@functools.wraps(pow)
def _pow_function(input: Any, exponent: Any, *, out: Tensor | None = None) -> Tensor:
    if out is None and isinstance(input, Tensor) and isinstance(exponent, Tensor):
        return _to_tensor(input, exponent)
    if out is not None and not isinstance(input, Tensor) and input == 1:
        # Powers of one are ones, whatever `out` holds.
        exponent = exponent.to(out.dtype)
    return _pow_out_form(input, exponent, out=out)


_pow_function.__doc__ = _pow_out_form.__doc__
FUNCTIONS["pow"] = _pow_function


def _pow_(self: Tensor, exponent: Any) -> Tensor:
    op = _pow_op(self, exponent)
    return apply_inplace(op, *operands(op, self, exponent))


@public(inplace=out_checks.same_or_apart, out=out_checks.same_or_apart)
def square(input: Tensor) -> Tensor:
    """`input ** 2`.

    Args:
        input: a tensor

    Example:
        >>> clew.square(clew.tensor([1., -3.]))
        tensor([1., 9.])
    """
    return POW_NUMBER(input, 2)


def _double(value: Any, dtype: dtypes.dtype) -> Any:
    if isinstance(value, Tensor):
        return value.to(dtype)
    return float(value) if isinstance(value, int) else value


def _is_complex(value: Any) -> bool:
    return value.dtype.is_complex if isinstance(value, Tensor) else isinstance(value, complex)


def _float_power_dtype(input: Any, exponent: Any) -> dtypes.dtype:
    if _is_complex(input) or _is_complex(exponent):
        return dtypes.complex128
    return dtypes.float64


@public(out=False)
def float_power(input: Any, exponent: Any) -> Tensor:
    """`input ** exponent` in double precision, whatever the dtypes of the operands.

    Args:
        input: the base, a tensor or a number
        exponent: a tensor or a number; broadcasts with `input`

    Example:
        >>> clew.float_power(clew.tensor([2, 3]), -1)
        tensor([0.5000, 0.3333], dtype=torch.float64)
    """
    dtype = _float_power_dtype(input, exponent)
    return pow(_double(input, dtype), _double(exponent, dtype))


def _float_power_(self: Tensor, exponent: Any) -> Tensor:
    dtype = _float_power_dtype(self, exponent)
    if self.dtype is not dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the "
            f"operation's result requires dtype {dtype.scalar_name}" + errors.at_user_line()
        )
    return _pow_(self, _double(exponent, dtype))


FUNCTIONS["float_power"] = out_form(
    float_power,
    "the output given to float_power has dtype {found} but the operation's result requires dtype "
    "{expected}",
)

methods(
    pow_=_pow_, float_power_=_float_power_, __pow__=binary_operator(pow),
    __rpow__=reflected_operator(pow), __ipow__=binary_operator(_pow_),
)  # fmt: skip
