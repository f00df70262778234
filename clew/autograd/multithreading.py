"""set_multithreading_enabled: whether backward may use other threads than the caller's.

A backward pass on the CPU runs on the calling thread, in PyTorch and here; the setting is kept.
"""

from __future__ import annotations

import threading

from clew.interrupts import uninterrupted

__all__ = ["is_multithreading_enabled", "set_multithreading_enabled"]


class _Setting(threading.local):
    enabled = True


_setting = _Setting()


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` has set for this thread: True at first.

    Example:
        >>> clew.autograd.is_multithreading_enabled()
        True
    """
    return _setting.enabled


class set_multithreading_enabled:
    """Keeps, at once, whether backward may use threads of its own; `with` takes it back.

    Args:
        mode: whether it may; on the CPU it never needs any

    Example:
        >>> with clew.autograd.set_multithreading_enabled(False):
        ...     clew.autograd.is_multithreading_enabled()
        False
        >>> clew.autograd.is_multithreading_enabled()
        True
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.prev = _setting.enabled
        _setting.enabled = self.mode

    def __enter__(self) -> None:
        _setting.enabled = self.mode

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        _setting.enabled = self.prev
