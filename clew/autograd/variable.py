"""`Variable`: the old name for a tensor that may require grad."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor, alias


class _AnyTensor(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_AnyTensor):
    """`Variable(tensor)` is a leaf over the same memory; the name is kept for old programs."""

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:  # type: ignore[misc]
        result = alias(data)
        return result.requires_grad_() if requires_grad else result
