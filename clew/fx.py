"""`wrap`, which marks functions for PyTorch's tracer: clew has none, and the mark does nothing."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["wrap"]

T = TypeVar("T")


def wrap(fn_or_name: T) -> T:
    """The function, or its name, itself."""
    return fn_or_name
