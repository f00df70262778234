"""What programs ask about CUDA: there is none, so they choose the CPU."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from clew.backend.device import device as _device
from clew.backend.device import no_such_device as _no_such_device
from clew.cuda import amp as amp


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


def manual_seed(seed: int) -> None:
    """Seed the GPU's random stream: without one there is nothing to do, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs' random streams: without one there is nothing to do, as in PyTorch."""


def empty_cache() -> None:
    """Give cached GPU memory back: without any there is nothing to do, as in PyTorch."""


def current_device() -> int:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def set_device(device: Any) -> None:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def get_device_properties(device: Any = None) -> Any:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def get_device_name(device: Any = None) -> str:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def synchronize(device: Any = None) -> None:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))
