"""Rows of the elementwise table: one call defines an operation and all its public forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew.core.elementwise import BOOL, FLOAT, REAL, SAME, Elementwise, binary, inplace, unary
from clew.core.op import Formula
from clew.core.public import FUNCTIONS, with_out
from clew.core.tensor import Tensor

__all__ = ["BOOL", "FLOAT", "REAL", "SAME", "binary_row", "unary_row"]


def unary_row(
    name: str,
    forward: Callable[[np.ndarray], Any],
    grad: Formula | None = None,
    *,
    rule: str = SAME,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    function: bool = True,
    method: bool = True,
    node: str | None = None,
    kinks: str = "",
    non_differentiable: str = "",
) -> Callable[[Tensor], Tensor]:
    """Define `clew.name(input)`, `Tensor.name()` and `Tensor.name_()`.

    `forward` maps an array of one dtype to an array; `grad` is the gradient of the input.
    """
    op = Elementwise(
        name, forward, inputs=("self",), grads={"self": grad} if grad else None, rule=rule,
        node=node, kinks=kinks, non_differentiable=non_differentiable,
    )  # fmt: skip
    return _export(op, unary(op), aliases, in_place, function, method)


def binary_row(
    name: str,
    forward: Callable[[np.ndarray, np.ndarray], Any],
    self_grad: Formula | None = None,
    other_grad: Formula | None = None,
    *,
    rule: str = SAME,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    function: bool = True,
    method: bool = True,
    node: str | None = None,
    kinks: str = "",
    non_differentiable: str = "",
) -> Callable[[Any, Any], Tensor]:
    """Define `clew.name(input, other)`, `Tensor.name(other)` and `Tensor.name_(other)`."""
    formulas = {"self": self_grad, "other": other_grad}
    op = Elementwise(
        name, forward, inputs=("self", "other"),
        grads={key: formula for key, formula in formulas.items() if formula is not None},
        rule=rule, node=node, kinks=kinks, non_differentiable=non_differentiable,
    )  # fmt: skip
    return _export(op, binary(op), aliases, in_place, function, method)


def _export(
    op: Elementwise,
    implementation: Callable[..., Tensor],
    aliases: tuple[str, ...],
    in_place: bool,
    function: bool,
    method: bool,
) -> Callable[..., Tensor]:
    in_place_method = inplace(op)
    for name in (op.name, *aliases):
        if function:
            FUNCTIONS[name] = with_out(implementation)
        if method:
            setattr(Tensor, name, implementation)
            if in_place:
                setattr(Tensor, name + "_", in_place_method)
    return implementation
