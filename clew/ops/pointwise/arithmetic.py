"""Arithmetic: add, sub, mul, neg, abs, and the operators. (Division is in `division.py`.)

Gradients save what PyTorch's save (the inputs, not the output), so that the same programs raise
when a saved tensor is overwritten.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import NUMBER, binary, operands, operator
from clew.core.inplace import apply_inplace, refuse_leaf
from clew.core.op import OPS
from clew.core.overrides import first_met, unseen
from clew.core.public import FUNCTIONS, methods, public
from clew.core.tensor import Tensor
from clew.kernels.compiled import complex_parts
from clew.kernels.compiled.threaded_ufuncs import threaded
from clew.kernels.numpy.arrays import redo_single_elements, rounded, widened
from clew.kernels.numpy.conversion import converted
from clew.ops.define import out_checks
from clew.ops.define.deprecated_forms import number, sorted_out
from clew.ops.define.memory_layout import as_first, for_kinds
from clew.ops.define.rows import (
    REAL,
    SAME_OUT,
    Row,
    binary_in_place,
    binary_row,
    out_form,
    require_tensors,
    unary_row,
)
from clew.ops.tensor.copying import scalar_as


def conj(value: Any) -> Any:
    """The complex conjugate; real tensors and numbers pass unchanged."""
    if type(value) is np.ndarray:
        return value.conj() if value.dtype.kind in "cW" else value
    if isinstance(value, Tensor):
        return value.conj() if value._array.dtype.kind in "cW" else value
    if isinstance(value, np.generic):
        # What NumPy makes of arrays without dimensions.
        return np.conjugate(value) if value.dtype.kind in "cW" else value
    return value.conjugate() if isinstance(value, complex) else value


ZEROS = Row("_zeros_of", np.zeros_like, inputs=("self",), non_differentiable="constant")


def zeros_of(g: Any) -> Any:
    """A gradient of zeros: the result moves in steps, so its slope is 0 wherever it has one."""
    return ZEROS.over(g)


def no_derivative(name: str) -> Callable[[Tensor], Tensor]:
    """The formula of an operation that PyTorch lets into a graph but not through backward."""

    def refuse(g: Tensor) -> Tensor:
        raise RuntimeError(
            f"derivative for aten::{name} is not implemented\n"
            "  Where its gradient is not wanted, detach its inputs." + errors.at_user_line()
        )

    return refuse


# -- add and sub -----------------------------------------------------------------------------


def _is_bool(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._array.dtype.kind == "b"
    return isinstance(value, (bool, np.bool_))


class Subtraction(Row):
    """Bools have no difference: neither two of them nor one beside a number."""

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        bools = [_is_bool(value) for value in inputs]
        if all(bools):
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
                "`^` or `logical_xor()` operator instead." + errors.at_user_line()
            )
        if any(bools):
            raise RuntimeError(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                "trying to invert a mask, use the `~` or `logical_not()` operator instead."
                + errors.at_user_line()
            )
        return super().result_dtype(inputs)


def _is_half(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in dtypes.HALVES


def _scaled(value: Any, alpha: Any, like: Any) -> Any:
    # In integers (and bools) the factor is first converted to their type.
    factor = np.asarray(alpha).astype(like.dtype) if like.dtype.kind in "biu" else alpha
    return np.multiply(value, factor)


def _combine_halves(combine: np.ufunc, self: Any, other: Any, alpha: Any) -> Any:
    """A sum or difference with a multiple: its factor is rounded to the dtype as well."""
    dtype = self.dtype
    factor = rounded(np.asarray(alpha), dtype)

    def step_by_step(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return converted(combine(widened(x), rounded(widened(y) * factor, dtype)), dtype)

    if self.size < 32 and other.size < 32 and self.shape == other.shape:
        return step_by_step(self, other)
    result = np.asarray(converted(combine(widened(self), widened(other) * factor), dtype))
    redo_single_elements(result, 32, step_by_step, self, other)
    return result


def _add_scaled(self: Any, other: Any, *, alpha: Any) -> Any:
    if _is_half(self):
        return _combine_halves(np.add, self, other, alpha)
    return np.add(self, _scaled(other, alpha, self if isinstance(self, np.ndarray) else other))


def _sub_scaled(self: Any, other: Any, *, alpha: Any) -> Any:
    if _is_half(self):
        return _combine_halves(np.subtract, self, other, alpha)
    return np.subtract(self, _scaled(other, alpha, self if isinstance(self, np.ndarray) else other))


def _rsub(self: Any, other: Any) -> Any:
    return np.subtract(other, self)


def _rsub_scaled(self: Any, other: Any, *, alpha: Any) -> Any:
    return _sub_scaled(other, self, alpha=alpha)


_SAME = {"self": lambda g: g, "other": lambda g: g}
_MINUS = {"self": lambda g: g, "other": lambda g: -g}
_REVERSED = {"self": lambda g: -g, "other": lambda g: g}
ADD = Row("add", np.add, inputs=("self", "other"), grads=_SAME, bare=True)
SUB = Subtraction("sub", np.subtract, inputs=("self", "other"), grads=_MINUS, bare=True)
RSUB = Subtraction("rsub", _rsub, grads=_REVERSED, bare=True)
RSUB_NUMBER = Subtraction("rsub.number", _rsub, grads=_REVERSED, node="RsubBackward1", bare=True)
ADD_SCALED = Row(
    "add.scaled", _add_scaled, node="AddBackward0", bare=True, takes_halves=True,
    grads={"self": lambda g: g, "other": lambda g, alpha: g * conj(alpha)},
)  # fmt: skip
SUB_SCALED = Subtraction(
    "sub.scaled", _sub_scaled, node="SubBackward0", bare=True, takes_halves=True,
    grads={"self": lambda g: g, "other": lambda g, alpha: -g * conj(alpha)},
)  # fmt: skip
RSUB_SCALED = Subtraction(
    "rsub.scaled", _rsub_scaled, node="RsubBackward1", bare=True, takes_halves=True,
    grads={"self": lambda g, alpha: -g * conj(alpha), "other": lambda g: g},
)  # fmt: skip

_plain_add, _plain_sub = binary(ADD), binary(SUB)
_rsub_tensor, _rsub_number = binary(RSUB), binary(RSUB_NUMBER)


def _check_alpha(op: Row, alpha: Any, *values: Any) -> tuple[Any, ...]:
    """The operands, once the factor fits the dtype of the result."""
    if type(alpha) is float and abs(alpha) < 1e38 and _are_floats(*values):
        return values
    values = operands(op, *values)
    _, result = op.result_dtype(values)
    wrong = ""
    if isinstance(alpha, bool) and result.category != dtypes.BOOL:
        wrong = "Boolean alpha only supported for Boolean results."
    if isinstance(alpha, (float, np.floating)) and result.category < dtypes.FLOAT:
        wrong = "For integral input tensors, argument alpha must not be a floating point number."
    if isinstance(alpha, (complex, np.complexfloating)) and result.category < dtypes.COMPLEX:
        wrong = "For non-complex input tensors, argument alpha must not be a complex number."
    if wrong:
        shapes = [value._array.shape for value in values if isinstance(value, Tensor)]
        mismatch = errors.broadcast_mismatch(op.name, shapes[0], shapes[-1])
        raise mismatch or RuntimeError(wrong + errors.at_user_line())
    scalar_as(alpha, result.np)
    return values


def _are_floats(input: Any, other: Any) -> bool:
    """Whether both are tensors of one type of floats that NumPy has."""
    if type(input) is not Tensor or type(other) is not Tensor:
        return False
    dtype = input._array.dtype
    return dtype is other._array.dtype and dtype.kind == "f" and dtype.itemsize > 2


def _read_old(name: str, alpha: Any, *args: Any) -> tuple[Tensor, Tensor, Any]:
    """A call such as `x.add_(alpha, other)`, in which alpha is not given by name, too."""
    (input, other), given = sorted_out(name, args, 2, ("alpha",) if alpha == 1 else ())
    return input, other, given["alpha"]


@public(out=out_checks.same_or_apart)
def add(input: Any, other: Any, *old: Any, alpha: complex = 1) -> Tensor:
    """`input + alpha * other`.

    Args:
        input: a tensor
        other: a tensor or a number; broadcasts with `input`
        alpha: a factor for `other`; an integer where the result is of integers
        old: deprecated: a factor before `other` (`add(input, alpha, other)`)

    Example:
        >>> clew.add(clew.tensor([1, 2]), clew.tensor([[10], [20]]))
        tensor([[11, 12],
                [21, 22]])
        >>> clew.add(clew.tensor([1., 2.]), 10, alpha=0.5)
        tensor([6., 7.])
    """
    if old:
        input, other, alpha = _read_old("add", alpha, input, other, *old)
    if type(alpha) is int and alpha == 1:
        try:
            return _plain_add(input, other)
        except TypeError:
            if first_met(input, other):
                return add(input, other)
            raise
    alpha = number("add", "alpha", alpha)
    return ADD_SCALED(*_check_alpha(ADD, alpha, input, other), alpha=alpha)


@public(out=out_checks.same_or_apart, aliases=("subtract",))
def sub(input: Any, other: Any, *old: Any, alpha: complex = 1) -> Tensor:
    """`input - alpha * other`.

    Args:
        input: a tensor
        other: a tensor or a number; broadcasts with `input`
        alpha: a factor for `other`; an integer where the result is of integers
        old: deprecated: a factor before `other` (`sub(input, alpha, other)`)

    Example:
        >>> clew.sub(clew.tensor([5., 6.]), clew.tensor([1., 2.]), alpha=2)
        tensor([3., 2.])
    """
    if old:
        input, other, alpha = _read_old("sub", alpha, input, other, *old)
    if type(alpha) is int and alpha == 1:
        try:
            return _plain_sub(input, other)
        except TypeError:
            if first_met(input, other):
                return sub(input, other)
            raise
    alpha = number("sub", "alpha", alpha)
    return SUB_SCALED(*_check_alpha(SUB, alpha, input, other), alpha=alpha)


@public(method=False, out=False)
def rsub(input: Tensor, other: Any, *, alpha: complex = 1) -> Tensor:
    """`other - alpha * input`: a subtraction with its operands exchanged.

    Args:
        input: the tensor to subtract
        other: a tensor or a number to subtract it from
        alpha: a factor for `input`

    Example:
        >>> clew.rsub(clew.tensor([1., 2.]), 10)
        tensor([9., 8.])
    """
    require_tensors("rsub", input=input)
    if type(alpha) is int and alpha == 1:
        return (_rsub_tensor if isinstance(other, Tensor) else _rsub_number)(input, other)
    alpha = number("rsub", "alpha", alpha)
    return RSUB_SCALED(*_check_alpha(RSUB, alpha, input, other), alpha=alpha)


def _rsub_operator(self: Tensor, other: Any) -> Any:
    if isinstance(other, NUMBER):
        return _rsub_number(self, other)
    if isinstance(other, (np.ndarray, Tensor)):
        return _plain_sub(other, self)
    return _rsub_operator(self, other) if unseen(other) else NotImplemented


def _add_(self: Tensor, other: Any, *old: Any, alpha: complex = 1) -> Tensor:
    if old:
        self, other, alpha = _read_old("add_", alpha, self, other, *old)
    if type(alpha) is int and alpha == 1:
        if type(other) is Tensor:
            return apply_inplace(ADD, self, other)
        return apply_inplace(ADD, *operands(ADD, self, other))
    alpha = number("add_", "alpha", alpha)
    return apply_inplace(ADD_SCALED, *_check_alpha(ADD, alpha, self, other), alpha=alpha)


def _sub_(self: Tensor, other: Any, *old: Any, alpha: complex = 1) -> Tensor:
    if old:
        self, other, alpha = _read_old("sub_", alpha, self, other, *old)
    if type(alpha) is int and alpha == 1:
        if type(other) is Tensor:
            return apply_inplace(SUB, self, other)
        return apply_inplace(SUB, *operands(SUB, self, other))
    refuse_leaf(self, "sub_")
    alpha = number("sub_", "alpha", alpha)
    return apply_inplace(SUB_SCALED, *_check_alpha(SUB, alpha, self, other), alpha=alpha)


# -- mul -----------------------------------------------------------------------------

mul = binary_row(
    "mul", np.multiply, lambda g, other: g * conj(other), lambda g, self: g * conj(self),
    aliases=("multiply",), exact_numbers=True, bare=True,
    doc="`input * other`.",
    example=(
        ">>> clew.mul(clew.tensor([1, 2]), clew.tensor([[10], [20]]))\n"
        "tensor([[10, 20],\n"
        "        [20, 40]])\n"
        ">>> clew.mul(clew.tensor([1, 2]), 0.5)\n"
        "tensor([0.5000, 1.0000])"
    ),
)  # fmt: skip
MUL = cast(Row, OPS["mul"])
# What PyTorch's own functions multiply by numbers with.
MUL_NUMBER = Row(
    "mul.number", MUL.forward, inputs=("self", "other"), takes=MUL.takes,
    grads={"self": MUL.grads["self"]}, exact_numbers=MUL.exact_numbers, node="MulBackward1",
)  # fmt: skip
MUL_NUMBER.numbers = ("other",)


# -- one operand -----------------------------------------------------------------------------


class Negative(Row):
    """Of complex numbers both parts are negated as floats, for which there is a kernel."""

    def compute(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> np.ndarray:
        array = inputs[0]._array
        if array.dtype.kind != "c" or not array.ndim or not array.flags.c_contiguous:
            return super().compute(inputs, params)
        parts = np.asarray(threaded(np.negative, array.view(array.real.dtype)))
        return parts.view(array.dtype)


neg = unary_row(
    "neg", np.negative, lambda g: -g, aliases=("negative",), bare=True, takes="ihfc",
    out_text=SAME_OUT, kind=Negative,
    refusals={"b": RuntimeError(
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
        "invert a mask, use the `~` or `logical_not()` operator instead."
    )},
    doc="The negative of each element: `-input`.",
    example=">>> clew.neg(clew.tensor([1., -2.]))\ntensor([-1.,  2.])",
)  # fmt: skip
abs_ = unary_row(
    "abs", np.absolute, lambda g, self: g * self.sgn(), rule=REAL, aliases=("absolute",),
    takes="ihfc", out=False, kinks="0 at 0", placement=for_kinds("cW", as_first),
    doc="The absolute value; of complex numbers, their distance from 0.",
    example=(
        ">>> clew.abs(clew.tensor([-1, 2]))\n"
        "tensor([1, 2])\n"
        ">>> clew.abs(clew.tensor([3 + 4j]))\n"
        "tensor([5.])"
    ),
)  # fmt: skip


cast(Row, OPS["abs"]).complex_forward = complex_parts.lengths
_EXACT_ABS, _ANY_ABS = out_form(FUNCTIONS["abs"], SAME_OUT), out_form(FUNCTIONS["abs"])


def _abs_function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    # Complex numbers may go to floats of any width, or to complex numbers of their own.
    if out is not None and isinstance(input, Tensor) and input.dtype.is_complex:
        if out.dtype.is_complex and out.dtype is not input.dtype:
            raise RuntimeError(
                f"Found dtype {out.dtype.scalar_name} but expected {input.dtype.scalar_name}"
                + errors.at_user_line()
            )
        return _ANY_ABS(input, out=out)
    return _EXACT_ABS(input, out=out)


FUNCTIONS["abs"] = FUNCTIONS["absolute"] = functools.wraps(_EXACT_ABS)(_abs_function)


@public(out=False)
def positive(input: Tensor) -> Tensor:
    """`+input`: the tensor itself, which must not be of bools.

    Example:
        >>> x = clew.tensor([1., -2.])
        >>> clew.positive(x) is x
        True
    """
    if input.dtype is dtypes.bool_:
        raise RuntimeError(
            "The `+` operator, on a bool tensor is not supported." + errors.at_user_line()
        )
    return input


# -- operators -------------------------------------------------------------------------------


_OPERANDS = (Tensor, *NUMBER, np.ndarray)


def binary_operator(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """A dunder method: unknown operand types are left to the other side."""

    def method(self: Tensor, other: Any) -> Any:
        if isinstance(other, _OPERANDS):
            return function(self, other)
        return method(self, other) if unseen(other) else NotImplemented

    return method


def reflected_operator(function: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """The reflected dunder method of `function(other, self)`."""

    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(self, Tensor):
            raise errors.operator_of_other(function.__name__, self)
        if isinstance(other, _OPERANDS):
            return function(other, self)
        return method(self, other) if unseen(other) else NotImplemented

    return method


methods(
    add_=_add_, sub_=_sub_, subtract_=_sub_,
    __add__=operator(ADD), __radd__=operator(ADD), __iadd__=binary_operator(_add_),
    __sub__=operator(SUB), __rsub__=_rsub_operator, __isub__=binary_operator(_sub_),
    __mul__=operator(MUL), __rmul__=operator(MUL), __imul__=binary_operator(binary_in_place(MUL)),
    __neg__=neg, __pos__=positive, __abs__=abs_,
)  # fmt: skip
