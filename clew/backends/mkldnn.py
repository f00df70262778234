"""Intel's library of layers, which clew does not use."""

from __future__ import annotations

__all__ = ["is_available"]

enabled = False


def is_available() -> bool:
    """Whether it is used: no."""
    return False
