"""Tensors without in-place writes that PyTorch's compiler traces with: for `isinstance`."""

from __future__ import annotations

from typing import Any

__all__ = ["FunctionalTensor", "mb_unwrap_functional_tensor"]


class FunctionalTensor:
    """A tensor whose writes are recorded: for `isinstance`. No tensor of clew's is one."""


def mb_unwrap_functional_tensor(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor
