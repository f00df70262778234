"""Arguments split over devices, and results put together: there is one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """The arguments, once for each device: there is one."""
    return [inputs]


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[Any],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The arguments and keyword arguments, once for each device: there is one."""
    return (inputs,), (kwargs or {},)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """The results of all devices as one: there is one."""
    return outputs[0]
