"""Logical and bitwise operations, shifts, and tests of single elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import OPS
from clew.core.public import methods
from clew.core.tensor import Tensor
from clew.ops.define.rows import (
    BOOL,
    BOOL_OUT,
    EVERYTHING,
    INTEGERS,
    REALS,
    SAME_OUT,
    Row,
    binary_in_place,
    binary_row,
    unary_row,
)
from clew.ops.pointwise.arithmetic import binary_operator, reflected_operator

_BOOL, _INTEGER = "bool output", "integer output"


def _test(
    name: str,
    forward: Callable[[np.ndarray], Any],
    takes: str = EVERYTHING,
    out: bool = False,
    refusal: Exception | None = None,
) -> Callable[[Tensor], Tensor]:
    return unary_row(
        name, forward, rule=BOOL, takes=takes, in_place=False, out=out, non_differentiable=_BOOL,
        refusals=None if refusal is None else {"c": refusal}, out_text=BOOL_OUT,
    )  # fmt: skip


def _infinite_with_sign(sign: float) -> Callable[[np.ndarray], Any]:
    def forward(self: np.ndarray) -> Any:
        if self.dtype.kind != "f":
            return np.zeros(self.shape, np.bool_)
        return self == sign * np.inf

    return forward


isnan = _test("isnan", np.isnan)
isinf = _test("isinf", np.isinf)
isfinite = _test("isfinite", np.isfinite)
isposinf = _test(
    "isposinf", _infinite_with_sign(1.0), REALS, True,
    RuntimeError("isposinf does not support complex inputs."),
)  # fmt: skip
isneginf = _test(
    "isneginf", _infinite_with_sign(-1.0), REALS, True,
    RuntimeError("isneginf does not support complex inputs."),
)  # fmt: skip
isreal = _test("isreal", lambda self: np.equal(np.imag(self), 0))

logical_not = unary_row("logical_not", np.logical_not, rule=BOOL, non_differentiable=_BOOL)


def _logical(name: str, forward: Any) -> Any:
    return binary_row(name, forward, rule=BOOL, numbers=False, non_differentiable=_BOOL)


logical_and = _logical("logical_and", np.logical_and)
logical_or = _logical("logical_or", np.logical_or)
logical_xor = _logical("logical_xor", np.logical_xor)


# -- bits ------------------------------------------------------------------------------------


def _bitwise(name: str, forward: Any, takes: str = INTEGERS, kernel: str | None = None) -> Any:
    return binary_row(name, forward, takes=takes, kernel=kernel, non_differentiable=_INTEGER)


def _out_of_range(self: np.ndarray, other: np.ndarray) -> Any:
    """Where a shift leaves no bit of the number, which C leaves undefined."""
    return (other < 0) | (other >= self.dtype.itemsize * 8)


def _left_shift(self: Any, other: Any) -> Any:
    self, other = np.asarray(self), np.asarray(other)
    return np.where(_out_of_range(self, other), 0, np.left_shift(self, other)).astype(self.dtype)


def _right_shift(self: Any, other: Any) -> Any:
    self, other = np.asarray(self), np.asarray(other)
    bits = self.dtype.itemsize * 8
    largest = bits - 1 if self.dtype.kind == "i" else bits
    shift = np.where(_out_of_range(self, other), largest, other)
    # NumPy defines shifts by all bits of an unsigned number: nothing is left.
    return np.right_shift(self, shift.astype(self.dtype))


bitwise_not = unary_row(
    "bitwise_not",
    np.invert,
    takes=INTEGERS,
    out_text=SAME_OUT,
    non_differentiable=_INTEGER,
)
bitwise_and = _bitwise("bitwise_and", np.bitwise_and)
bitwise_or = _bitwise("bitwise_or", np.bitwise_or)
bitwise_xor = _bitwise("bitwise_xor", np.bitwise_xor)
bitwise_left_shift = _bitwise("bitwise_left_shift", _left_shift, "i", "lshift_cpu")
bitwise_right_shift = _bitwise("bitwise_right_shift", _right_shift, "i", "rshift_cpu")


def _in_place(name: str) -> Callable[[Tensor, Any], Any]:
    return binary_operator(binary_in_place(cast(Row, OPS[name])))


def _invert(self: Tensor) -> Tensor:
    if self.dtype.category >= dtypes.FLOAT:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
            + errors.at_user_line()
        )
    return bitwise_not(self)


methods(
    __invert__=_invert,
    __and__=binary_operator(bitwise_and), __rand__=reflected_operator(bitwise_and),
    __iand__=_in_place("bitwise_and"),
    __or__=binary_operator(bitwise_or), __ror__=reflected_operator(bitwise_or),
    __ior__=_in_place("bitwise_or"),
    __xor__=binary_operator(bitwise_xor), __rxor__=reflected_operator(bitwise_xor),
    __ixor__=_in_place("bitwise_xor"),
    __lshift__=binary_operator(bitwise_left_shift),
    __rlshift__=reflected_operator(bitwise_left_shift),
    __ilshift__=_in_place("bitwise_left_shift"),
    __rshift__=binary_operator(bitwise_right_shift),
    __rrshift__=reflected_operator(bitwise_right_shift),
    __irshift__=_in_place("bitwise_right_shift"),
)  # fmt: skip
