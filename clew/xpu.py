"""What programs ask about Intel's GPUs: none is used, so they choose the CPU."""

from __future__ import annotations

from typing import Any

from clew.backend.device import device as _device
from clew.backend.device import no_such_device as _no_such_device

__all__ = [
    "device_count", "empty_cache", "is_available", "is_initialized", "manual_seed",
    "manual_seed_all", "synchronize",
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
