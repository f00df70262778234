"""Functions that pickles of PyTorch's name, and the flattening of lists of tensors.

`clew.load` has its own table of such names; these are for pickles that Python's `pickle` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.backend.device import device as _device
from clew.core.tensor import Tensor
from clew.nn.utils.convert_parameters import parameters_to_vector
from clew.serialization.storages import (
    rebuild_parameter as _rebuild_parameter,
)
from clew.serialization.storages import (
    rebuild_parameter_with_state as _rebuild_parameter_with_state,
)
from clew.serialization.storages import rebuild_tensor as _rebuild_tensor
from clew.serialization.storages import rebuild_tensor_v2 as _rebuild_tensor_v2
from clew.serialization.storages import rebuild_tensor_v3 as _rebuild_tensor_v3
from clew.utils.data._utils.worker import ExceptionWrapper

__all__ = [
    "_flatten_dense_tensors", "_rebuild_parameter", "_rebuild_parameter_with_state",
    "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_take_tensors",
    "_unflatten_dense_tensors",
    "ExceptionWrapper", "_element_size", "_get_available_device_type", "_get_device_index",
    "_get_device_module", "get_device_module",
]  # fmt: skip


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Lists of tensors of one dtype, each closed once it has more than `size_limit` bytes."""
    open_lists: dict[Any, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        found, total = open_lists.get(tensor.dtype, ([], 0))
        if found and total + size > size_limit:
            yield found
            found, total = [], 0
        found.append(tensor)
        open_lists[tensor.dtype] = found, total + size
    yield from (found for found, _ in open_lists.values() if found)


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in one vector."""
    return parameters_to_vector(tensors)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a vector in the shapes of the tensors that were flattened."""
    parts = flat.split([each.numel() for each in tensors])
    return tuple(part.view(each.shape) for part, each in zip(parts, tensors))


def _element_size(dtype: dtypes.dtype) -> int:
    """The number of bytes of an element."""
    return dtype.itemsize


def _get_available_device_type() -> str | None:
    """The kind of accelerator that is there: none."""
    return None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; -1 for the CPU, where it is allowed."""
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    if device is None and optional:
        return -1
    if not isinstance(device, (str, _device)):
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    kind = _device(device)
    if kind.type == "cpu" and not allow_cpu:
        raise ValueError(f"Expected a non cpu device, but got: {device}" + errors.at_user_line())
    return -1 if kind.index is None else kind.index


def _get_device_module(device_type: str) -> ModuleType:
    """The module of a kind of device."""
    return get_device_module(device_type)


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device: `torch.cpu` unless another one is named.

    Args:
        device: the device or its name

    Example:
        >>> clew.get_device_module().is_available()
        True
    """
    kind = "cpu" if device is None else _device(device).type
    try:
        return import_module(f"{__package__}.{kind}")
    except ModuleNotFoundError as error:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
            + errors.at_user_line()
        ) from error
