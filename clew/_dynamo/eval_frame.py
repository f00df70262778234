"""PyTorch's place for `OptimizedModule`, what `compile` returns for a module."""

from __future__ import annotations

from clew.compiler.optimized_module import OptimizedModule

__all__ = ["OptimizedModule", "is_dynamo_supported"]


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` works on this machine: it does."""
    return True
