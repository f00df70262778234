"""Marks for NVIDIA's profiler, which does not see the CPU: they do nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def range_push(msg: str) -> int:
    """Begin a range; the depth before it."""
    return 0


def range_pop() -> int:
    """End the last range; the depth after it."""
    return 0


def range_start(msg: str) -> int:
    """Begin a range that any thread may end; its number."""
    return 0


def range_end(range_id: int) -> None:
    """End a range."""


def mark(msg: str) -> None:
    """Mark a moment."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range for a `with` block."""
    yield
