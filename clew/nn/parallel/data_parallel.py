"""`DataParallel`: a batch split over GPUs. Without GPUs the module gets the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from clew.nn.modules.module import Module

__all__ = ["DataParallel"]

T = TypeVar("T", bound=Module)


class DataParallel(Module, Generic[T]):
    """Calls `module`, whose parameters it has under the name `module.`, as PyTorch's on the CPU."""

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
