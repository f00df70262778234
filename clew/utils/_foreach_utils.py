"""Lists of tensors by device and dtype, for optimizers that update many at once."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor

__all__ = [
    "_device_has_foreach_support", "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices", "_group_tensors_by_device_and_dtype",
    "_has_foreach_support",
]  # fmt: skip

Group = tuple[list[list[Tensor | None]], list[int]]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices whose `_foreach_` functions are worth their calls."""
    return ["cuda", "xpu"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices that have fused optimizers."""
    return ["cuda", "cpu"]


def _device_has_foreach_support(device: Any) -> bool:
    return device.type == "cpu"


def _has_foreach_support(tensors: list[Tensor], device: Any) -> bool:
    return _device_has_foreach_support(device)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Any, Any], Group]:
    """Lists of tensors, cut into lists whose first tensors have one dtype; and their places."""
    groups: dict[tuple[Any, Any], Group] = {}
    for place, row in enumerate(zip(*tensorlistlist, strict=True)):
        first = row[0]
        assert first is not None
        key = (first.device, first.dtype)
        lists, places = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for each, tensor in zip(lists, row, strict=True):
            each.append(tensor)
        if with_indices:
            places.append(place)
    return groups
