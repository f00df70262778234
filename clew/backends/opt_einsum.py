"""The package that orders the products of einsum, which clew does not use."""

from __future__ import annotations

__all__ = ["is_available"]

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether it is used: no."""
    return False
