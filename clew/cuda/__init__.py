"""What programs ask about CUDA: there is none, so they choose the CPU."""

# ruff: noqa: F401  # the names here are for users

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable as _Callable
from typing import Any
from typing import NoReturn as _NoReturn

from clew.backend.device import device as _device
from clew.backend.device import no_such_device as _no_such_device
from clew.cuda import amp
from clew.cuda.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from clew.ops.create.legacy_constructors import CudaTensorType as _CudaTensorType
from clew.ops.tensor.conversion import LEGACY_NAMES as _LEGACY_NAMES

_initialized = False


class OutOfMemoryError(RuntimeError):
    """What a GPU without enough memory raises: for `except`."""


class device:
    """`with device(0):`, which changes nothing: there is no GPU to choose."""

    def __init__(self, device: Any) -> None:
        self.idx = -1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


# `torch.cuda.FloatTensor` and the like: no tensor is of these types, and calling one raises.
globals().update({name: _CudaTensorType(name) for name in _LEGACY_NAMES if "Complex" not in name})


def is_available() -> bool:
    """Whether tensors can be made on a GPU: no."""
    return False


def is_initialized() -> bool:
    """Whether anything has used CUDA: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes in bfloat16: there is none."""
    return False


def device_count() -> int:
    """The number of GPUs that tensors can be made on: none."""
    return 0


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors hold on a GPU: none."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors held on a GPU: none."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """The bytes that are set aside on a GPU: none."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were set aside on a GPU: none."""
    return 0


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Counts of the GPU's memory allocator: there is none, so there are none."""
    return OrderedDict()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin to measure the GPU's peak memory again: it stays 0."""


def reset_max_memory_allocated(device: Any = None) -> None:
    """Begin to measure the GPU's peak memory again: it stays 0."""


def get_arch_list() -> list[str]:
    """The GPU architectures that this library was built for: none."""
    return []


def get_rng_state_all() -> list[Any]:
    """The states of all GPUs' random streams: none."""
    return []


def seed() -> None:
    """Seed the GPU's random stream: without one there is nothing to do, as in PyTorch."""


def seed_all() -> None:
    """Seed all GPUs' random streams: without one there is nothing to do, as in PyTorch."""


def manual_seed(seed: int) -> None:
    """Seed the GPU's random stream: without one there is nothing to do, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs' random streams: without one there is nothing to do, as in PyTorch."""


def empty_cache() -> None:
    """Give cached GPU memory back: without any there is nothing to do, as in PyTorch."""


def _refused(name: str) -> _Callable[..., _NoReturn]:
    def refused(device: Any = None) -> _NoReturn:
        """Raises: there is no GPU."""
        raise _no_such_device(_device("cuda"))

    refused.__name__ = refused.__qualname__ = name
    return refused


current_device, set_device = _refused("current_device"), _refused("set_device")
get_device_name, get_device_properties = (
    _refused("get_device_name"),
    _refused("get_device_properties"),
)
get_device_capability = _refused("get_device_capability")
mem_get_info, synchronize, init = (
    _refused("mem_get_info"),
    _refused("synchronize"),
    _refused("init"),
)
get_rng_state, ipc_collect = _refused("get_rng_state"), _refused("ipc_collect")


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def set_rng_state_all(new_states: list[Any]) -> None:
    """Continue all GPUs' random streams: of none, there is nothing to do."""
    for state in new_states:
        set_rng_state(state)


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The GPU's memory as text: there is none."""
    return "no GPU: tensors live on the CPU"
