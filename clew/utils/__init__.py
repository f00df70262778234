"""Utilities: what users reach as `clew.utils`."""

from clew.utils import checkpoint

__all__ = ["checkpoint"]
