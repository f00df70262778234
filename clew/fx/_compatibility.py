"""`compatibility`, a decorator by which programs note how stable a function is: it does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["compatibility"]

T = TypeVar("T")


def compatibility(is_backward_compatible: bool) -> Callable[[T], T]:
    """The decorator: what it decorates stays as it is.

    Args:
        is_backward_compatible: what the program says of it
    """
    return lambda function: function
