"""Utilities: what users reach as `clew.utils`."""

from clew.utils import _pytree, checkpoint, data, deterministic

__all__ = ["_pytree", "checkpoint", "data", "deterministic"]
