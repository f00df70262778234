"""Division: div in its roundings, floor_divide, remainders, and the operators.

Gradients save what PyTorch's save (the inputs, not the output), so that the same programs raise
when a saved tensor is overwritten.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import NUMBER, binary, operands, operator, rounded_numbers
from clew.core.inplace import apply_inplace
from clew.core.op import OPS, Formula
from clew.core.overrides import first_met, unseen
from clew.core.public import FUNCTIONS, methods, public
from clew.core.recording import NOT_IMPLEMENTED
from clew.core.result_layout import visiting_order
from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import F32, F64, where
from clew.kernels.codegen.ufunc import Elementwise, elementwise
from clew.kernels.compiled import complex_parts
from clew.kernels.compiled.threaded_ufuncs import THREADED
from clew.kernels.numpy.arrays import widened
from clew.kernels.numpy.conversion import converted
from clew.ops.define import out_checks
from clew.ops.define.rows import (
    FLOAT,
    NativeRow,
    Row,
    binary_in_place,
    binary_row,
    out_form,
    require_tensors,
    write_binary,
)
from clew.ops.pointwise.arithmetic import (
    binary_operator,
    conj,
    no_derivative,
    reflected_operator,
    zeros_of,
)

_ABSENT: Any = object()
_GRADS: dict[str, Formula] = {
    "self": lambda g, other: g / conj(other),
    "other": lambda g, self, other: -g * conj((self / other) / other),
}
DIV = Row(
    "div", np.divide, inputs=("self", "other"), rule=FLOAT, exact_numbers=True,
    bare=True, grads=_GRADS,
)  # fmt: skip
# The same for `rounding_mode=None`, which PyTorch's nodes tell from none at all.
DIV_UNROUNDED = Row(
    "div.unrounded", np.divide, inputs=("self", "other"), rule=FLOAT, exact_numbers=True,
    bare=True, grads=_GRADS, node="DivBackward2",
)  # fmt: skip
DIV.complex_forward = DIV_UNROUNDED.complex_forward = complex_parts.quotients
_plain_div = binary(DIV)


def refuse_zero_divisor(result: Any, other: Any) -> None:
    """Integers have no infinity to give for a division by zero.

    Called after the division, whose own complaint about shapes comes first.
    """
    if result.dtype.kind in "iu" and result.size and not np.asarray(other).all():
        raise RuntimeError("ZeroDivisionError" + errors.at_user_line())


class _DivisionRow(Row):
    """A division that integers may fail at: in place, PyTorch goes on until it meets a zero."""

    def write_first_part(
        self, target: np.ndarray, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> None:
        divisor = inputs[1]._array if isinstance(inputs[1], Tensor) else np.asarray(inputs[1])
        # Numbers of two dtypes are computed in memory of its own, which is then dropped.
        if target.dtype.kind not in "iu" or (divisor.ndim and divisor.dtype != target.dtype):
            return
        if errors.broadcast_mismatch(self.name, target.shape, divisor.shape) or divisor.all():
            return
        shape = np.broadcast_shapes(target.shape, divisor.shape)
        if shape != target.shape:
            raise errors.in_place_shape(target.shape, shape)  # said before that there is a zero
        divisor = np.broadcast_to(divisor, target.shape)
        order = visiting_order([target.strides, divisor.strides], target.shape)
        places, divisor = target.transpose(order), divisor.transpose(order)
        is_zero = divisor == 0
        result = self.forward(places, np.where(is_zero, 1, divisor).astype(target.dtype))
        before = np.arange(target.size) < np.argmax(is_zero)
        np.copyto(places, result, where=before.reshape(places.shape))


class _TruncatingRow(_DivisionRow, NativeRow):
    """The one that PyTorch computes in half precision itself."""


class _FlooringRow(_DivisionRow):
    """The one by which halves are divided by the very number, in float32."""

    def prepared(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        is_divided = not isinstance(inputs[0], Tensor)
        return rounded_numbers(inputs) if is_divided else super().prepared(inputs)


def _floor_quotient(self: Any, other: Any) -> Any:
    quotient = np.floor_divide(self, other)
    refuse_zero_divisor(quotient, other)
    return quotient


_TRUNC_KERNEL = elementwise("truncated", 1, half=True)(lambda x: x.trunc())


def _truncated_quotient(self: Any, other: Any) -> Any:
    array = self if isinstance(self, np.ndarray) else other
    if array.dtype in dtypes.HALVES:
        if self is array and array.ndim and not np.ndim(other):
            # By one number, which need not be a half, PyTorch divides in float32.
            quotient = np.trunc(widened(array) / np.float32(other))
            return converted(quotient, array.dtype)
        # The quotient is rounded first: it may become a whole number.
        given = [np.asarray(each, array.dtype) for each in (self, other)]
        quotient = THREADED[np.divide].specialize(array)(*given)
        return _TRUNC_KERNEL.specialize(array)(quotient)
    if array.dtype.kind in "iu":
        quotient = _floor_quotient(self, other)
        # Rounding down and towards zero differ where signs differ and something remains.
        return quotient + ((quotient < 0) & (quotient * other != self))
    return np.trunc(np.divide(self, other))


_ROUNDED_GRADS: dict[str, Formula] = {
    "self": lambda g, other: zeros_of(g),
    "other": lambda g, self, other: zeros_of(g),
}
DIV_FLOOR = _FlooringRow(
    "div.floor", _floor_quotient, takes="ihf", torch_kernel="div_floor_cpu",
    exact_numbers=True, node="DivBackward2", grads=_ROUNDED_GRADS,
)  # fmt: skip
DIV_TRUNC = _TruncatingRow(
    "div.trunc", _truncated_quotient, takes="ihf", torch_kernel="div_trunc_cpu",
    exact_numbers=True, node="DivBackward2", grads=_ROUNDED_GRADS,
)  # fmt: skip
floor_divide = binary_row(
    "floor_divide", _floor_quotient, no_derivative("floor_divide"), no_derivative("floor_divide"),
    takes="ihf", torch_kernel="div_floor_cpu", node=NOT_IMPLEMENTED, row=_FlooringRow,
    exact_numbers=True, doc="`input / other` rounded down, in the dtype of the operands.",
    example=(
        ">>> clew.floor_divide(clew.tensor([7, -7]), 2)\n"
        "tensor([ 3, -4])\n"
        ">>> clew.floor_divide(clew.tensor([7., -7.]), 2)\n"
        "tensor([ 3., -4.])"
    ),
)  # fmt: skip
FUNCTIONS["floor_divide"] = out_form(floor_divide, differentiable=None)


def _division(rounding_mode: str | None) -> Row:
    if rounding_mode is _ABSENT:
        return DIV
    if rounding_mode is None:
        return DIV_UNROUNDED
    if rounding_mode == "floor":
        return DIV_FLOOR
    if rounding_mode == "trunc":
        return DIV_TRUNC
    raise RuntimeError(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"'{rounding_mode}'" + errors.at_user_line()
    )


@public(aliases=("divide",), out=out_checks.same_or_apart)
def div(input: Tensor, other: Any, *, rounding_mode: str | None = _ABSENT) -> Tensor:
    """`input / other`, rounded if asked. Without rounding, integers give the default float.

    Args:
        input: the dividend, a tensor
        other: the divisor, a tensor or a number; broadcasts with `input`
        rounding_mode: None: as it is; "trunc": towards zero; "floor": down

    Example:
        >>> clew.div(clew.tensor([7, -7]), 2)
        tensor([ 3.5000, -3.5000])
        >>> clew.div(clew.tensor([7, -7]), 2, rounding_mode="trunc")
        tensor([ 3, -3])
        >>> clew.div(clew.tensor([7, -7]), 2, rounding_mode="floor")
        tensor([ 3, -4])
    """
    if rounding_mode is _ABSENT:
        try:
            return _plain_div(input, other)
        except TypeError:
            if first_met(input, other):
                return div(input, other)
            raise
    op = _division(rounding_mode)
    return op(*operands(op, input, other))


@public(out=out_checks.same_or_apart)
def true_divide(input: Tensor, other: Any) -> Tensor:
    """`input / other`; integers give the default float.

    Args:
        input: the dividend, a tensor
        other: the divisor, a tensor or a number; broadcasts with `input`

    Example:
        >>> clew.true_divide(clew.tensor([1, 2]), 4)
        tensor([0.2500, 0.5000])
    """
    return _plain_div(input, other)


def _div_(self: Tensor, other: Any, *, rounding_mode: str | None = _ABSENT) -> Tensor:
    op = _division(rounding_mode)
    return apply_inplace(op, *operands(op, self, other))


def _reciprocal_times(self: Tensor, other: Any) -> Any:
    # PyTorch's `2 / x` is `x.reciprocal() * 2`: the same rounding, the same saved tensors.
    if isinstance(other, (*NUMBER, np.ndarray, Tensor)):
        return self.reciprocal() * other
    return _reciprocal_times(self, other) if unseen(other) else NotImplemented


# -- remainders ------------------------------------------------------------------------------


# Below these, a quotient that is rounded is at most 1 above the integer part of the exact one.
_LARGEST_QUOTIENT = {F32: 2.0**23, F64: 2.0**52}


def _fmod_formula(x: Any, y: Any) -> Any:
    """C's fmod, exact as that is; NaN if the quotient is too large for one step."""
    size, divisor = x.abs(), y.abs()
    quotient = (size / divisor).trunc()
    rest = (-quotient).fma(divisor, size)
    rest = where(rest < 0.0, rest + divisor, rest)
    return where(quotient < _LARGEST_QUOTIENT[x.dtype], rest, math.nan).copysign(x)


@elementwise("fmod", 2, cost=2)
def _FMOD_KERNEL(x: Any, y: Any) -> Any:
    return _fmod_formula(x, y)


@elementwise("remainder", 2, cost=2)
def _REMAINDER_KERNEL(x: Any, y: Any) -> Any:
    rest = _fmod_formula(x, y)
    differs = ((rest < 0.0) & (y > 0.0)) | ((rest > 0.0) & (y < 0.0))
    return where(differs, rest + y, rest)


def _in_one_step(kernel: Elementwise, otherwise: Any, self: Any, other: Any) -> Any:
    """What a kernel makes of two floats; where it gives NaN, what `otherwise` does."""
    dtype = np.result_type(self, other)
    first, second = np.asarray(self, dtype), np.asarray(other, dtype)
    result = np.asarray(kernel.specialize(first)(first, second))
    rest = np.isnan(result)
    if rest.any():
        first, second = np.broadcast_arrays(first, second)
        result[rest] = otherwise(first[rest], second[rest])
    return result


def _float_remainder(self: Any, other: Any) -> Any:
    result = np.remainder(self, other)
    # Nothing remains: the zero has the sign of the dividend, as from C's fmod.
    return np.where(result == 0, np.copysign(result, self), result)


def _remainder(self: Any, other: Any) -> Any:
    if np.result_type(self, other).kind == "f":
        return _in_one_step(_REMAINDER_KERNEL, _float_remainder, self, other)
    result = np.remainder(self, other)
    refuse_zero_divisor(result, other)
    return result


def _fmod(self: Any, other: Any) -> Any:
    if np.result_type(self, other).kind == "f":
        return _in_one_step(_FMOD_KERNEL, np.fmod, self, other)
    result = np.fmod(self, other)
    refuse_zero_divisor(result, other)
    return result


REMAINDER_NUMBER = _DivisionRow(
    "remainder.number", _remainder, node="RemainderBackward0", takes="ihf",
    torch_kernel="remainder_cpu", bare=True, grads={"self": lambda g: g},
)  # fmt: skip
REMAINDER_OF_NUMBER = Row(
    "remainder.of_number", _remainder, node=NOT_IMPLEMENTED, takes="ihf",
    torch_kernel="remainder_cpu", grads={"other": no_derivative("remainder")},
)  # fmt: skip
REMAINDER = _DivisionRow(
    "remainder", _remainder, node="RemainderBackward1", takes="ihf",
    grads={
        "self": lambda g: g,
        "other": lambda g, self, other: -g * self.div(other, rounding_mode="floor"),
    },
)  # fmt: skip
FMOD_NUMBER = _DivisionRow(
    "fmod.number", _fmod, node="FmodBackward0", takes="ihf", torch_kernel="fmod_cpu", bare=True,
    grads={"self": lambda g: g},
)  # fmt: skip
FMOD = _DivisionRow(
    "fmod", _fmod, node="FmodBackward1", takes="ihf",
    grads={
        "self": lambda g: g,
        "other": lambda g, self, other: -g * self.div(other, rounding_mode="trunc"),
    },
)  # fmt: skip


@public(out=out_checks.same_or_apart)
def remainder(input: Any, other: Any) -> Tensor:
    """The remainder of a division that rounds down, as Python's `%`.

    It has the sign of the divisor.

    Args:
        input: the dividend, a tensor or a number
        other: the divisor, a tensor or a number; broadcasts with `input`

    Example:
        >>> clew.remainder(clew.tensor([-3., -1., 1., 3.]), 2)
        tensor([1., 1., 1., 1.])
    """
    if not isinstance(input, Tensor):
        op = REMAINDER_OF_NUMBER
    else:
        op = REMAINDER if isinstance(other, Tensor) else REMAINDER_NUMBER
    return op(*operands(op, input, other))


@public(out=out_checks.same_or_apart)
def fmod(input: Tensor, other: Any) -> Tensor:
    """The remainder of a division that rounds towards zero, as C's `%`.

    It has the sign of the dividend.

    Args:
        input: the dividend, a tensor
        other: the divisor, a tensor or a number; broadcasts with `input`

    Example:
        >>> clew.fmod(clew.tensor([-3., -1., 1., 3.]), 2)
        tensor([-1., -1.,  1.,  1.])
    """
    require_tensors("fmod", input=input)
    op = FMOD if isinstance(other, Tensor) else FMOD_NUMBER
    return op(*operands(op, input, other))


def _remainder_(self: Tensor, other: Any) -> Tensor:
    op = REMAINDER if isinstance(other, Tensor) else REMAINDER_NUMBER
    return write_binary(op, self, other)


def _fmod_(self: Tensor, other: Any) -> Tensor:
    op = FMOD if isinstance(other, Tensor) else FMOD_NUMBER
    return write_binary(op, self, other)


# -- operators -------------------------------------------------------------------------------

_floor_divide_ = binary_in_place(cast(Row, OPS["floor_divide"]))

methods(
    div_=_div_, divide_=_div_, true_divide_=_div_, remainder_=_remainder_, fmod_=_fmod_,
    __truediv__=operator(DIV), __rtruediv__=_reciprocal_times, __rdiv__=_reciprocal_times,
    __itruediv__=binary_operator(_div_), __div__=operator(DIV), __idiv__=binary_operator(_div_),
    __floordiv__=binary_operator(floor_divide), __rfloordiv__=reflected_operator(floor_divide),
    __ifloordiv__=binary_operator(_floor_divide_),
    __mod__=binary_operator(remainder), __rmod__=reflected_operator(remainder),
    __imod__=binary_operator(_remainder_),
)  # fmt: skip
