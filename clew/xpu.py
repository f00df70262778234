"""What programs ask about Intel's GPUs: none is used, so they choose the CPU."""

from __future__ import annotations

from typing import Any

from clew.backend.device import device as _device
from clew.backend.device import no_such_device as _no_such_device

__all__ = [
    "current_device", "device_count", "empty_cache", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "get_rng_state_all", "is_available",
    "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "mem_get_info", "memory_allocated", "memory_reserved",
    "reset_peak_memory_stats", "set_device", "set_rng_state", "set_rng_state_all", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether tensors can be made on such a GPU: no."""
    return False


def is_initialized() -> bool:
    """Whether anything has used such a GPU: no."""
    return False


def device_count() -> int:
    """The number of such GPUs: none."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the GPU's random stream: there is none."""


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs' random streams: there are none."""


def empty_cache() -> None:
    """Give cached GPU memory back: there is none."""


def synchronize(device: Any = None) -> None:
    """Raises: there is no such GPU."""
    raise _no_such_device(_device("xpu"))


def is_bf16_supported() -> bool:
    """Whether such a GPU computes in bfloat16: there is none."""
    return False


def get_rng_state_all() -> list[Any]:
    """The states of all such GPUs' random streams: none."""
    return []


def set_rng_state_all(new_states: list[Any]) -> None:
    """Set the states of all such GPUs' random streams: there are none."""


def memory_allocated(device: Any = None) -> int:
    """The bytes in use on such a GPU: none."""
    return 0


memory_reserved = max_memory_allocated = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Raises: there is no such GPU."""
    raise _no_such_device(_device("xpu"))


current_device = get_device_capability = get_device_name = reset_peak_memory_stats
get_device_properties = get_rng_state = mem_get_info = set_device = reset_peak_memory_stats


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Raises: there is no such GPU."""
    raise _no_such_device(_device("xpu"))
