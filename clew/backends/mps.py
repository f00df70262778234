"""Apple's GPUs, which clew does not use."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos13_or_newer"]


def is_available() -> bool:
    return False


def is_built() -> bool:
    return False


def is_macos13_or_newer() -> bool:
    return False
