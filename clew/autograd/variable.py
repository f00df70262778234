"""`Variable`: the old name for a tensor that may require grad."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.state import local
from clew.core.tensor import Tensor, alias


class _AnyTensor(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class _Engine:
    """What programs reach as `Variable._execution_engine`."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Have a function called at the end of the backward that is running."""
        runs = local.state.backward_runs
        if not runs:
            raise RuntimeError(
                "Final callbacks can only be installed during backward pass."
                + errors.at_user_line()
            )
        runs[-1].callbacks.append(callback)


class Variable(metaclass=_AnyTensor):
    """`Variable(tensor)` is a leaf over the same memory; the name is kept for old programs."""

    _execution_engine = _Engine()

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
