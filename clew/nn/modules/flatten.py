"""Layers that merge or split dimensions."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merges a range of dimensions into one.

    Args:
        start_dim: the first of them; the default keeps the batch
        end_dim: the last of them

    Shape: (N, *) to (N, product of the others) by default

    Example:
        >>> nn.Flatten()(clew.zeros(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several.

    Args:
        dim: the dimension, or its name
        unflattened_size: its new sizes, or pairs of name and size

    Shape: (*, product of the sizes, *) to (*, sizes, *)

    Example:
        >>> nn.Unflatten(1, (3, 4))(clew.zeros(2, 12)).shape
        torch.Size([2, 3, 4])
    """

    dim: int
    unflattened_size: Any

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        _require_ints(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _require_ints(sizes: Any) -> None:
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(
            "unflattened_size must be a tuple of ints, but found type " + type(sizes).__name__
        )
    for place, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(
                "unflattened_size must be tuple of ints, but found element of type "
                f"{type(size).__name__} at pos {place}"
            )
