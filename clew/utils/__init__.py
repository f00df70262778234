"""Utilities: what users reach as `clew.utils`."""

from clew.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
