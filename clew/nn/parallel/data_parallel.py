"""`DataParallel`: a batch split over GPUs. Without GPUs the module gets the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from clew.nn.modules.module import Module

__all__ = ["DataParallel"]

T = TypeVar("T", bound=Module)


class DataParallel(Module, Generic[T]):
    """Calls `module`, whose parameters it has under the name `module.`, as PyTorch's on the CPU.

    Args:
        module: the module
        device_ids, output_device: taken as in PyTorch; there is one device
        dim: the dimension along which a batch would be split

    Example:
        >>> model = nn.DataParallel(nn.Linear(2, 3))
        >>> sorted(model.state_dict())
        ['module.bias', 'module.weight']
    """

    module: T

    def __init__(
        self,
        module: T,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
