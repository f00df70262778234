"""`wrap`, which marks functions for PyTorch's tracer: clew has none, and the mark does nothing."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["wrap"]

T = TypeVar("T")


def wrap(fn_or_name: T) -> T:
    """The function, or its name, itself: there is no tracer to mark it for.

    Args:
        fn_or_name: the function, or its name

    Example:
        >>> clew.fx.wrap("len")
        'len'
    """
    return fn_or_name
