"""Utilities: what users reach as `clew.utils`."""

from clew.aliasing import explain_missing
from clew.utils import _pytree, checkpoint, data, deterministic, dlpack

__all__ = ["_pytree", "checkpoint", "data", "deterministic", "dlpack"]

explain_missing(__name__)
