"""Logical and bitwise operations, shifts, and tests of single elements."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import NUMBER
from clew.core.op import OPS
from clew.core.public import methods
from clew.core.result_layout import laid_out
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.numpy.arrays import real_part
from clew.ops.define.memory_layout import as_first, for_kinds, in_memory_as
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
    **docs: Any,
) -> Callable[[Tensor], Tensor]:
    return unary_row(
        name, forward, rule=BOOL, takes=takes, in_place=False, out=out, non_differentiable=_BOOL,
        refusals=None if refusal is None else {"c": refusal}, out_text=BOOL_OUT,
        **docs,
    )  # fmt: skip


def _as_tested(operands: Sequence[Any], result: np.ndarray) -> np.ndarray:
    """PyTorch tests a part of complex numbers, a view with gaps; of others it knows the result."""
    array = operands[0]
    if array.dtype.kind in "cW":
        return laid_out((real_part(array),), result)
    return in_memory_as(array, result)


def _infinite_with_sign(sign: float) -> Callable[[np.ndarray], Any]:
    def forward(self: np.ndarray) -> Any:
        if self.dtype.kind != "f":
            return np.zeros(self.shape, np.bool_)
        return self == sign * np.inf

    return forward


isnan = _test(
    "isnan", np.isnan,
    doc="Where elements are NaN, as a tensor of bools.",
    example=">>> clew.isnan(clew.tensor([1., float(\"nan\")]))\ntensor([False,  True])",
)  # fmt: skip
isinf = _test(
    "isinf", np.isinf, placement=for_kinds("biucW", _as_tested),
    doc="Where elements are inf or -inf, as a tensor of bools.",
    example=(
        ">>> clew.isinf(clew.tensor([1., float(\"inf\"), float(\"-inf\"), float(\"nan\")]))\n"
        "tensor([False,  True,  True, False])"
    ),
)  # fmt: skip
isfinite = _test(
    "isfinite", np.isfinite, placement=for_kinds("biu", as_first),
    doc="Where elements are neither infinite nor NaN, as a tensor of bools.",
    example=(
        ">>> clew.isfinite(clew.tensor([1., float(\"inf\"), float(\"nan\")]))\n"
        "tensor([ True, False, False])"
    ),
)  # fmt: skip
isposinf = _test(
    "isposinf", _infinite_with_sign(1.0), REALS, True,
    RuntimeError("isposinf does not support complex inputs."),
    doc="Where elements are inf, as a tensor of bools.",
    example=(
        ">>> clew.isposinf(clew.tensor([float(\"inf\"), float(\"-inf\")]))\n"
        "tensor([ True, False])"
    ),
)  # fmt: skip
isneginf = _test(
    "isneginf", _infinite_with_sign(-1.0), REALS, True,
    RuntimeError("isneginf does not support complex inputs."),
    doc="Where elements are -inf, as a tensor of bools.",
    example=(
        ">>> clew.isneginf(clew.tensor([float(\"inf\"), float(\"-inf\")]))\n"
        "tensor([False,  True])"
    ),
)  # fmt: skip
isreal = _test(
    "isreal", lambda self: np.equal(np.imag(self), 0), placement=_as_tested,
    doc="Where the imaginary part is 0, as a tensor of bools.",
    example=">>> clew.isreal(clew.tensor([1 + 0j, 1 + 2j]))\ntensor([ True, False])",
)  # fmt: skip

logical_not = unary_row(
    "logical_not", np.logical_not, rule=BOOL, non_differentiable=_BOOL,
    doc="Where elements are zero, as a tensor of bools.",
    example=">>> clew.logical_not(clew.tensor([0, 1, 2]))\ntensor([ True, False, False])",
)  # fmt: skip


def _logical(name: str, forward: Any, **docs: Any) -> Any:
    return binary_row(name, forward, rule=BOOL, numbers=False, non_differentiable=_BOOL, **docs)


logical_and = _logical(
    "logical_and", np.logical_and,
    doc="Where both elements are nonzero, as a tensor of bools.",
    example=(
        ">>> clew.logical_and(clew.tensor([0, 1, 2]), clew.tensor([3, 0, 4]))\n"
        "tensor([False, False,  True])"
    ),
)  # fmt: skip
logical_or = _logical(
    "logical_or", np.logical_or,
    doc="Where at least one of two elements is nonzero, as a tensor of bools.",
    example=(
        ">>> clew.logical_or(clew.tensor([0, 1, 0]), clew.tensor([3, 0, 0]))\n"
        "tensor([ True,  True, False])"
    ),
)  # fmt: skip
logical_xor = _logical(
    "logical_xor", np.logical_xor,
    doc="Where exactly one of two elements is nonzero, as a tensor of bools.",
    example=(
        ">>> clew.logical_xor(clew.tensor([0, 1, 2]), clew.tensor([3, 0, 4]))\n"
        "tensor([ True,  True, False])"
    ),
)  # fmt: skip


# -- bits ------------------------------------------------------------------------------------


def _bitwise(
    name: str, forward: Any, takes: str = INTEGERS, torch_kernel: str | None = None, **docs: Any
) -> Any:
    return binary_row(
        name, forward, takes=takes, torch_kernel=torch_kernel, non_differentiable=_INTEGER, **docs
    )


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
    doc="All bits inverted: `~input`. For bools, the logical not.",
    example=(
        ">>> clew.bitwise_not(clew.tensor([0, 5, -1]))\n"
        "tensor([-1, -6,  0])\n"
        ">>> clew.bitwise_not(clew.tensor([True, False]))\n"
        "tensor([False,  True])"
    ),
)  # fmt: skip
bitwise_and = _bitwise(
    "bitwise_and", np.bitwise_and,
    doc="The bits that are set in both operands: `input & other`.",
    example=">>> clew.bitwise_and(clew.tensor([0b1100, 0b1010]), 0b0110)\ntensor([4, 2])",
)  # fmt: skip
bitwise_or = _bitwise(
    "bitwise_or", np.bitwise_or,
    doc="The bits that are set in at least one operand: `input | other`.",
    example=">>> clew.bitwise_or(clew.tensor([0b1100, 0b1010]), 0b0110)\ntensor([14, 14])",
)  # fmt: skip
bitwise_xor = _bitwise(
    "bitwise_xor", np.bitwise_xor,
    doc="The bits that are set in exactly one operand: `input ^ other`.",
    example=">>> clew.bitwise_xor(clew.tensor([0b1100, 0b1010]), 0b0110)\ntensor([10, 12])",
)  # fmt: skip
bitwise_left_shift = _bitwise(
    "bitwise_left_shift", _left_shift, "i", "lshift_cpu",
    doc="The bits moved to the left: `input << other`, which is `input * 2**other`.",
    example=(
        ">>> clew.bitwise_left_shift(clew.tensor([1, 3]), clew.tensor([4, 1]))\n"
        "tensor([16,  6])"
    ),
)  # fmt: skip
bitwise_right_shift = _bitwise(
    "bitwise_right_shift", _right_shift, "i", "rshift_cpu",
    doc="The bits moved to the right: `input >> other`, which is `input // 2**other`.",
    example=(
        ">>> clew.bitwise_right_shift(clew.tensor([16, -5]), clew.tensor([2, 1]))\n"
        "tensor([ 4, -3])"
    ),
)  # fmt: skip


def _without_grad(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """An in-place form that writes to leaves, too: PyTorch has no derivative to ask for here."""

    @functools.wraps(method)
    def write(self: Tensor, *other: Any) -> Tensor:
        state = local.state
        grad_enabled, state.grad_enabled = state.grad_enabled, False
        try:
            return method(self, *other)
        finally:
            state.grad_enabled = grad_enabled

    return write


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
for _name in ("logical_not_", "logical_and_", "logical_or_", "logical_xor_"):
    setattr(Tensor, _name, _without_grad(getattr(Tensor, _name)))


def check_where(condition: Any, input: Any, other: Any) -> None:
    """Refuse what `where` cannot take as a condition or to choose between."""
    if not isinstance(condition, Tensor):
        raise errors.wrong_argument("where", "condition", 1, "Tensor", condition)
    for position, (name, value) in enumerate((("input", input), ("other", other))):
        if not isinstance(value, (Tensor, *NUMBER)):
            raise errors.wrong_argument("where", name, position + 2, "Tensor", value)
    if condition.dtype not in (dtypes.bool_, dtypes.uint8):
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{condition.dtype.scalar_name}" + errors.at_user_line()
        )
    if condition.dtype is dtypes.uint8:
        errors.warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
