"""The tables of lowering rules: which kernels an operation calls, on which memory.

A rule gets the layouts of the results and of the operands, and the parameters of the operation. It
raises `Declined` where a case is not its own: that instruction runs in Python, as it always could.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from clew.compiler.native.layouts import Declined, Layout

Rule = Callable[..., None]
# By the name of an operation: its forward, its gradients, its in-place form.
FORWARD: dict[str, Rule] = {}
GRADIENT: dict[str, Rule] = {}
WRITE_RULES: dict[str, Rule] = {}
# Operations that draw random numbers, from the default generator.
DRAWS: dict[str, Rule] = {}

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
INT64 = np.dtype(np.int64)


def _register(table: dict[str, Rule], names: Sequence[str]) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        table.update(dict.fromkeys(names, function))
        return function

    return register


def forward(*names: str) -> Callable[[Rule], Rule]:
    """The rule of operations."""
    return _register(FORWARD, names)


def gradient(*names: str) -> Callable[[Rule], Rule]:
    """The rule of the gradients of operations."""
    return _register(GRADIENT, names)


def in_place(*names: str) -> Callable[[Rule], Rule]:
    """The rule of operations that write to their first operand."""
    return _register(WRITE_RULES, names)


def drawing(*names: str) -> Callable[[Rule], Rule]:
    """The rule of operations that draw random numbers."""
    return _register(DRAWS, names)


def require(condition: bool, reason: str) -> None:
    """Decline a case, unless the condition holds."""
    if not condition:
        raise Declined(reason)


def present(outs: Sequence[Layout | None]) -> list[Layout]:
    """All results, if all are used."""
    if any(out is None for out in outs):
        raise Declined("a result that nobody uses")
    return [out for out in outs if out is not None]
