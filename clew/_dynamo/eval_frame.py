"""PyTorch's place for `OptimizedModule`, what `compile` returns for a module."""

from __future__ import annotations

from clew.compiler.optimized_module import OptimizedModule

__all__ = ["OptimizedModule"]
