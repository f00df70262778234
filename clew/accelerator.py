"""What programs ask about accelerators in general: there is none, so they choose the CPU."""

from __future__ import annotations

from typing import Any, NoReturn

from clew import errors
from clew.backend.device import device

__all__ = [
    "current_accelerator", "current_device_index", "current_stream", "device_count", "empty_cache",
    "is_available", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether tensors can be made on an accelerator: no."""
    return False


def current_accelerator(check_available: bool = False) -> device | None:
    """The accelerator: none."""
    return None


def device_count() -> int:
    """The number of accelerators: none."""
    return 0


def empty_cache() -> None:
    """Give cached memory of an accelerator back: there is none."""


def _refuse() -> NoReturn:
    raise RuntimeError(
        "Cannot access accelerator device when none is available. Tensors live on the CPU: ask "
        "torch.accelerator.is_available() first." + errors.at_user_line()
    )


def current_device_index() -> int:
    """Raises: there is no accelerator."""
    _refuse()


def set_device_index(device: Any) -> None:
    """Raises: there is no accelerator."""
    _refuse()


def current_stream(device: Any = None) -> Any:
    """Raises: there is no accelerator."""
    _refuse()


def set_stream(stream: Any) -> None:
    """Raises: there is no accelerator."""
    _refuse()


def synchronize(device: Any = None) -> None:
    """Raises: there is no accelerator."""
    _refuse()
