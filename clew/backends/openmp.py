"""OpenMP's threads, which clew does not use."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether they are used: no."""
    return False
