"""Utilities: what users reach as `clew.utils`."""

from clew.aliasing import explain_missing
from clew.utils import _pytree, checkpoint, data, deterministic, dlpack, hooks

__all__ = ["_pytree", "checkpoint", "data", "deterministic", "dlpack", "hooks"]

explain_missing(__name__)
