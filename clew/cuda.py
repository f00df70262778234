"""What programs ask about CUDA: there is none, so they choose the CPU."""

from __future__ import annotations

from typing import Any

from clew.backend.device import device as _device
from clew.backend.device import no_such_device as _no_such_device


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


def manual_seed(seed: int) -> None:
    """Seed the GPU's random stream: without one there is nothing to do, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs' random streams: without one there is nothing to do, as in PyTorch."""


def empty_cache() -> None:
    """Give cached GPU memory back: without any there is nothing to do, as in PyTorch."""


def current_device() -> int:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def get_device_name(device: Any = None) -> str:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def synchronize(device: Any = None) -> None:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))
