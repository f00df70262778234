"""A library of layers for phones, which clew does not have."""

from __future__ import annotations

__all__: list[str] = []

enabled = False
