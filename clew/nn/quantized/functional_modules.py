"""Operations between tensors as methods of a module that an observer can be attached to."""

from __future__ import annotations

from typing import Any

from clew.core.public import FUNCTIONS
from clew.core.tensor import Tensor
from clew.nn.modules.linear import Identity
from clew.nn.modules.module import Module

__all__ = ["FloatFunctional", "QFunctional"]


class FloatFunctional(Module):
    """Sums, products and concatenations, whose results an observer sees."""

    activation_post_process: Module

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying "
            "operation"
        )

    def _seen(self, result: Tensor) -> Tensor:
        seen: Tensor = self.activation_post_process(result)
        return seen

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """`x + y`."""
        return self._seen(x + y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """`x + y` with a number."""
        return x + y

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """`x * y`."""
        return self._seen(x * y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """`x * y` with a number."""
        return x * y

    def cat(self, x: list[Tensor], dim: int = 0) -> Tensor:
        """The tensors, one after the other."""
        return self._seen(FUNCTIONS["cat"](x, dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """`relu(x + y)`."""
        return self._seen((x + y).relu())

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """`x @ y`."""
        return self._seen(x @ y)


class QFunctional(FloatFunctional):
    """The same after `convert`."""
