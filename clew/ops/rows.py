"""Rows of the elementwise table: one call defines an operation and all its public forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import (
    BOOL,
    FLOAT,
    REAL,
    SAME,
    Elementwise,
    binary,
    operands,
    unary,
)
from clew.core.inplace import apply_inplace
from clew.core.op import Formula
from clew.core.public import FUNCTIONS, with_out
from clew.core.tensor import Tensor

__all__ = ["BOOL", "FLOAT", "REAL", "SAME", "Row", "binary_row", "unary_row"]

# What a row takes, as letters: bool, integer, low-precision float, float, complex.
EVERYTHING = "bihfc"
REALS = "bihf"
INEXACT = "hfc"
FLOATS = "hf"
WIDE_FLOATS = "f"
INTEGERS = "bi"

# For a letter that a row refuses: the exception, where it is not the usual one.
Refusals = Mapping[str, Exception]


def kind_letter(dtype: dtypes.dtype) -> str:
    """The letter of a dtype in what a row `takes`."""
    if dtype.np in dtypes.LOW_PRECISION:
        return "h"
    return "bifc"[dtype.category]


class Row(Elementwise):
    """An elementwise operation that knows which dtypes it takes.

    `takes` lists kinds of the promoted dtype; others raise as PyTorch does, which names its kernel.
    """

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        *,
        grads: Mapping[str, Formula] | None = None,
        inputs: tuple[str, ...] | None = None,
        rule: str = SAME,
        takes: str = EVERYTHING,
        kernel: str | None = None,
        refusals: Refusals | None = None,
        node: str | None = None,
        jvp: Formula | None = None,
        bare: bool = False,
        kinks: str = "",
        non_differentiable: str = "",
    ) -> None:
        super().__init__(
            name, forward, grads=grads, inputs=inputs, rule=rule, node=node, jvp=jvp, bare=bare,
            kinks=kinks, non_differentiable=non_differentiable,
        )  # fmt: skip
        self.takes = takes
        self.kernel = kernel or f"{name}_cpu"
        self.refusals = refusals or {}

    def result_dtype(self, inputs: tuple[Any, ...]) -> tuple[dtypes.dtype, dtypes.dtype]:
        compute, result = super().result_dtype(inputs)
        if self.takes != EVERYTHING:
            self.check_dtype(compute, result)
        return compute, result

    def check_dtype(self, compute: dtypes.dtype, result: dtypes.dtype) -> None:
        promoted = compute if self.rule in (BOOL, REAL) else result
        letter = kind_letter(promoted)
        if letter in self.takes:
            return
        special = self.refusals.get(letter)
        if special is not None:
            raise type(special)(str(special) + errors.at_user_line())
        raise NotImplementedError(
            f"\"{self.kernel}\" not implemented for '{promoted.scalar_name}'"
            + errors.at_user_line()
        )


def unary_row(
    name: str,
    forward: Callable[[np.ndarray], Any],
    grad: Formula | None = None,
    *,
    rule: str = SAME,
    takes: str = EVERYTHING,
    kernel: str | None = None,
    refusals: Refusals | None = None,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    out: bool = True,
    function: bool = True,
    method: bool = True,
    node: str | None = None,
    jvp: Formula | None = None,
    bare: bool = False,
    kinks: str = "",
    non_differentiable: str = "",
) -> Callable[[Tensor], Tensor]:
    """Define `clew.name(input)`, `Tensor.name()` and `Tensor.name_()`.

    `forward` maps an array of one dtype to an array; `grad` is the gradient of the input. `bare`
    says that the formula uses nothing but operators, so that it holds for bare arrays too.
    """
    op = Row(
        name, forward, inputs=("self",), grads={"self": grad} if grad else None, rule=rule,
        takes=takes, kernel=kernel, refusals=refusals, node=node, jvp=jvp, bare=bare,
        kinks=kinks, non_differentiable=non_differentiable,
    )  # fmt: skip
    # Operations that refuse floats have no short path: their checks are in `op` itself.
    implementation = unary(op) if "f" in takes else _named(lambda input: op(input), name)
    if function:
        _export(op.name, aliases, _checked_unary(name, implementation), True, False, out)
    _export(op.name, aliases, implementation, False, method, out)
    if in_place:
        _export_in_place(op.name, aliases, _unary_in_place(op))
    return implementation


def _checked_unary(name: str, implementation: Callable[[Tensor], Tensor]) -> Any:
    def function(input: Tensor) -> Tensor:
        if not isinstance(input, Tensor):
            raise errors.wrong_argument(name, "input", 1, "Tensor", input)
        return implementation(input)

    return _named(function, name)


def _unary_in_place(op: Row) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return apply_inplace(op, self)

    return _named(method, op.name + "_")


def binary_row(
    name: str,
    forward: Callable[[np.ndarray, np.ndarray], Any],
    self_grad: Formula | None = None,
    other_grad: Formula | None = None,
    *,
    rule: str = SAME,
    takes: str = EVERYTHING,
    kernel: str | None = None,
    refusals: Refusals | None = None,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    numbers: bool = True,
    function: bool = True,
    method: bool = True,
    node: str | None = None,
    jvp: Formula | None = None,
    bare: bool = False,
    kinks: str = "",
    non_differentiable: str = "",
) -> Callable[[Any, Any], Tensor]:
    """Define `clew.name(input, other)`, `Tensor.name(other)` and `Tensor.name_(other)`.

    `numbers` says whether either side may be a Python number.
    """
    formulas = {"self": self_grad, "other": other_grad}
    op = Row(
        name, forward, inputs=("self", "other"),
        grads={key: formula for key, formula in formulas.items() if formula is not None},
        rule=rule, takes=takes, kernel=kernel, refusals=refusals, node=node, jvp=jvp, bare=bare,
        kinks=kinks, non_differentiable=non_differentiable,
    )  # fmt: skip
    implementation = binary_function(op, numbers)
    _export(op.name, aliases, implementation, function, method, True)
    if in_place:
        _export_in_place(op.name, aliases, binary_in_place(op, numbers))
    return implementation


def binary_function(op: Row, numbers: bool = True) -> Callable[[Any, Any], Tensor]:
    """The function of a binary row, with the short path where floats are taken."""
    fast = binary(op)
    if "f" in op.takes and numbers:
        return fast

    def function(input: Any, other: Any) -> Tensor:
        if numbers:
            result: Tensor = op(*operands(op, input, other))
            return result
        require_tensors(op.name, input=input, other=other)
        return fast(input, other)

    return _named(function, op.name)


def binary_in_place(op: Row, numbers: bool = True) -> Callable[[Tensor, Any], Tensor]:
    """The method `x.name_(other)` of a binary row."""

    def method(self: Tensor, other: Any) -> Tensor:
        if not numbers:
            require_tensors(op.name + "_", other=other)
        _, other = operands(op, self, other)
        return apply_inplace(op, self, other)

    return _named(method, op.name + "_")


def require_tensors(name: str, **values: Any) -> None:
    """Refuse numbers and everything else that is not a tensor."""
    for position, (argument, value) in enumerate(values.items()):
        if not isinstance(value, Tensor):
            raise errors.wrong_argument(name, argument, position + 1, "Tensor", value)


def _export(
    name: str,
    aliases: tuple[str, ...],
    implementation: Callable[..., Tensor],
    function: bool,
    method: bool,
    out: bool,
) -> None:
    for each in (name, *aliases):
        if function:
            FUNCTIONS[each] = with_out(implementation) if out else implementation
        if method:
            setattr(Tensor, each, implementation)


def _export_in_place(
    name: str, aliases: tuple[str, ...], method: Callable[..., Tensor]
) -> None:
    for each in (name, *aliases):
        setattr(Tensor, each + "_", method)


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function
