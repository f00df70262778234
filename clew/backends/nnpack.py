"""A library of layers for phones, which clew does not have."""

from __future__ import annotations

__all__: list[str] = []


def is_available() -> bool:
    """Whether it is used: no."""
    return False
