"""Batches in memory that a GPU can read: there is none, so they stay where they are."""

from __future__ import annotations

from typing import Any

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """The batch itself."""
    return data
