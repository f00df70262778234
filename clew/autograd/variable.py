"""`Variable`: the old name for a tensor that may require grad."""

from __future__ import annotations

import warnings
from typing import Any

from clew.core.tensor import Tensor, alias


class _AnyTensor(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_AnyTensor):
    """`Variable(tensor)` is a leaf over the same memory; the name is kept for old programs."""

    def __new__(  # type: ignore[misc]  # a tensor, and no Variable, comes out
        cls, data: Tensor, requires_grad: bool = False, volatile: bool | None = None
    ) -> Tensor:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
        result = alias(data)
        return result.requires_grad_() if requires_grad else result
