"""Apple's GPUs, which clew does not use."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_available() -> bool:
    """Whether tensors can be made on one: no."""
    return False


def is_built() -> bool:
    """Whether this library was built for them: no."""
    return False


def is_macos13_or_newer() -> bool:
    """Whether the system could use them: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is this macOS or a newer one; there they are not used either."""
    return False
