"""`OptimizedModule`: what PyTorch's `compile` returns for a module. clew's returns the module."""

from __future__ import annotations

from typing import Any

from clew.nn.modules.module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """A compiled module: for `isinstance`. Made by hand it calls the module, as it is written.

    Args:
        mod: the module
        dynamo_ctx: accepted
    """

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._orig_mod = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)
