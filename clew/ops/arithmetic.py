"""Arithmetic: add, sub, mul, div, pow, neg, abs, and the operators.

Gradients save what PyTorch's save (the inputs, not the output), so that the same programs raise
when a saved tensor is overwritten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import NUMBER, Elementwise, binary, operands
from clew.core.inplace import apply_inplace, become
from clew.core.op import OPS
from clew.core.public import methods, public
from clew.core.tensor import Tensor
from clew.ops.rows import FLOAT, REAL, binary_row, unary_row


def conj(value: Any) -> Any:
    """The complex conjugate; real tensors and numbers pass unchanged."""
    if isinstance(value, Tensor):
        return value.conj() if value._array.dtype.kind == "c" else value
    if type(value) is np.ndarray:
        return value.conj() if value.dtype.kind == "c" else value
    return value.conjugate() if isinstance(value, complex) else value


def _subtract(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    if self.dtype.kind == "b":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead." + errors.at_user_line()
        )
    return np.subtract(self, other)


ADD = Elementwise(
    "add", np.add, inputs=("self", "other"), grads={"self": lambda g: g, "other": lambda g: g},
    bare=True,
)
SUB = Elementwise("sub", _subtract, grads={"self": lambda g: g, "other": lambda g: -g}, bare=True)
DIV = Elementwise(
    "div", np.divide, inputs=("self", "other"), rule=FLOAT, bare=True,
    grads={
        "self": lambda g, other: g / conj(other),
        "other": lambda g, self, other: -g * conj((self / other) / other),
    },
)  # fmt: skip

mul = binary_row(
    "mul", np.multiply, lambda g, other: g * conj(other), lambda g, self: g * conj(self),
    aliases=("multiply",), bare=True,
)  # fmt: skip
MUL = OPS["mul"]
neg = unary_row("neg", np.negative, lambda g: -g, aliases=("negative",), bare=True)
abs_ = unary_row(
    "abs", np.absolute, lambda g, self: g * self.sgn(), rule=REAL, aliases=("absolute",),
    kinks="0 at 0",
)  # fmt: skip

_plain_add, _plain_sub, _plain_div = binary(ADD), binary(SUB), binary(DIV)


def _scaled(name: str, other: Any, alpha: Any) -> Any:
    """`alpha * other`, as `add` and `sub` take it."""
    if isinstance(alpha, float) and not (
        isinstance(other, (float, complex))
        or (isinstance(other, Tensor) and other.dtype.category >= dtypes.FLOAT)
    ):
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
            + errors.at_user_line()
        )
    return other * alpha


@public()
def add(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`input + alpha * other`."""
    return _plain_add(input, other if alpha == 1 else _scaled("add", other, alpha))


@public(aliases=("subtract",))
def sub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`input - alpha * other`."""
    return _plain_sub(input, other if alpha == 1 else _scaled("sub", other, alpha))


@public()
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`other - alpha * input`."""
    return _plain_sub(other, input if alpha == 1 else _scaled("rsub", input, alpha))


def _add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    operands(ADD, self, other)
    return apply_inplace(ADD, self, other if alpha == 1 else _scaled("add", other, alpha))


def _sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    operands(SUB, self, other)
    return apply_inplace(SUB, self, other if alpha == 1 else _scaled("sub", other, alpha))


@public(aliases=("divide",))
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`input / other`, rounded towards zero ("trunc") or down ("floor") if asked."""
    if rounding_mode is None:
        return _plain_div(input, other)
    if rounding_mode == "floor":
        return input.floor_divide(other)
    if rounding_mode == "trunc":
        return input.trunc_divide(other)
    raise RuntimeError(
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"'{rounding_mode}'" + errors.at_user_line()
    )


@public()
def true_divide(input: Tensor, other: Any) -> Tensor:
    """`input / other`; integers give the default float."""
    return _plain_div(input, other)


def _div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None:
        operands(DIV, self, other)
        return apply_inplace(DIV, self, other)
    return become(self, lambda x: div(x, other, rounding_mode=rounding_mode), "div_")


def _in_place_operator(method: Any) -> Any:
    def operator_method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, *NUMBER, np.ndarray)):
            return NotImplemented
        return method(self, other)

    return operator_method


methods(
    add_=_add_, sub_=_sub_, subtract_=_sub_, div_=_div_, divide_=_div_, true_divide_=_div_,
    __add__=binary(ADD, "operator"), __radd__=binary(ADD, "reflected"), __iadd__=_in_place_operator(_add_),
    __sub__=binary(SUB, "operator"), __rsub__=binary(SUB, "reflected"), __isub__=_in_place_operator(_sub_),
    __mul__=binary(MUL, "operator"), __rmul__=binary(MUL, "reflected"),
    __imul__=_in_place_operator(Tensor.mul_),
    __truediv__=binary(DIV, "operator"), __rtruediv__=binary(DIV, "reflected"), __itruediv__=_in_place_operator(_div_),
    __neg__=neg, __abs__=abs_,
)  # fmt: skip
