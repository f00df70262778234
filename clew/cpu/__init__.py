"""What programs ask about the CPU as a device."""

from __future__ import annotations

from typing import Any

from clew.cpu import amp

__all__ = ["amp", "current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether tensors can be made on the CPU: yes."""
    return True


def device_count() -> int:
    """The number of CPU devices: one."""
    return 1


def current_device() -> str:
    """The CPU device in use."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Wait for the CPU: every operation has ended when its call returns."""
