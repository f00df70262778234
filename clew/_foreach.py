"""`_foreach_add_(tensors, ...)` and its family: one operation on each tensor of a list.

A list among the other arguments gives each tensor its own; everything else is given to all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor

# Names of operations that are methods of tensors; most have an in-place form as well.
_OPERATIONS = (
    "abs", "acos", "add", "addcdiv", "addcmul", "asin", "atan", "ceil", "clamp_max", "clamp_min",
    "clone", "cos", "cosh", "div", "erf", "erfc", "exp", "expm1", "floor", "frac", "lerp", "lgamma",
    "log", "log10", "log1p", "log2", "max", "mm", "mul", "neg", "pow", "reciprocal",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "sub", "tan", "tanh", "trunc",
    "copy", "zero",
)  # fmt: skip
# Bounds by an element or a number: the methods of tensors take only tensors.
_RENAMED = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _with_value(method: Callable[..., Any]) -> Callable[..., Any]:
    """`addcmul` and `addcdiv` of a list take `value` without its name, too."""

    @functools.wraps(method)
    def positional(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
        result: Tensor = method(self, tensor1, tensor2, value=value)
        return result

    return positional


def _norm(self: Tensor, ord: float = 2, dtype: Any = None) -> Tensor:
    return self.norm(ord, dtype=dtype)


def _rows(tensors: Sequence[Tensor], others: Sequence[Any]) -> list[tuple[Any, ...]]:
    """For each tensor the values that belong to it."""
    columns = []
    for other in others:
        if isinstance(other, list | tuple):
            if len(other) != len(tensors):
                raise RuntimeError(
                    "Tensor lists must have the same number of tensors, got "
                    f"{len(tensors)} and {len(other)}" + errors.at_user_line()
                )
            columns.append(list(other))
        else:
            columns.append([other] * len(tensors))
    return list(zip(*columns)) if columns else [()] * len(tensors)


def _each(name: str, method: Callable[..., Any], in_place: bool) -> Callable[..., Any]:
    def function(self: Sequence[Tensor], *others: Any, **named: Any) -> Any:
        if not self:
            raise RuntimeError("Tensor list must have at least one tensor." + errors.at_user_line())
        rows = _rows(self, [*others, *named.values()])
        split = len(others)
        results = [
            method(tensor, *row[:split], **dict(zip(named, row[split:])))
            for tensor, row in zip(self, rows)
        ]
        return self if in_place else tuple(results)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`Tensor.{method.__name__}` for each tensor of a list."
    return function


def _family() -> dict[str, Callable[..., Any]]:
    sources = {**{name: name for name in _OPERATIONS}, **_RENAMED}
    made = {}
    for name, source in sources.items():
        for ending in ("", "_"):
            method = getattr(Tensor, source + ending, None)
            if method is None:
                continue
            if source in ("addcmul", "addcdiv"):
                method = _with_value(method)
            public = f"_foreach_{name}{ending}"
            made[public] = _each(public, method, in_place=ending == "_")
    made["_foreach_norm"] = _each("_foreach_norm", _norm, in_place=False)
    return made


FUNCTIONS = _family()
globals().update(FUNCTIONS)
