"""Whether new memory is filled in deterministic mode: NaN, or the largest integer.

Example:
    >>> clew.utils.deterministic.fill_uninitialized_memory
    True
    >>> clew.use_deterministic_algorithms(True)
    >>> clew.empty(2)
    tensor([nan, nan])
    >>> clew.use_deterministic_algorithms(False)
"""

from __future__ import annotations

import sys
from types import ModuleType

from clew.backend.determinism import Determinism

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory: bool


class _Module(ModuleType):
    """The switch is an attribute of the module; what it is set to is kept where memory is made."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        return Determinism.fills_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"fill_uninitialized_memory expects a bool, but got {type(mode)}")
        Determinism.fills_memory = mode


sys.modules[__name__].__class__ = _Module
