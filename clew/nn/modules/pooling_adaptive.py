"""Pooling to a given size, whatever that of the input is."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module
from clew.nn.modules.utils import _named

OptionalSizes = int | tuple[int | None, ...] | None


class _AdaptiveMaxPoolNd(Module):
    """Maximum over as many windows as the output shall have values."""

    __constants__ = ["output_size", "return_indices"]

    _pool: ClassVar[str]

    def __init__(self, output_size: OptionalSizes, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return _named(self, "output_size")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._pool)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maximum over the last dimension, to a given size.

    Args:
        output_size: the size
        return_indices: return also where each maximum was

    Shape: (N, C, L) to (N, C, output_size), or both without N

    Example:
        >>> nn.AdaptiveMaxPool1d(2)(clew.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _pool = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maximum over the last two dimensions, to a given size; None keeps a dimension.

    Args:
        output_size: one size for both, or a pair
        return_indices: return also where each maximum was

    Shape: (N, C, H, W) to (N, C, *output_size), or both without N

    Example:
        >>> nn.AdaptiveMaxPool2d((2, None))(clew.zeros(1, 8, 5, 6)).shape
        torch.Size([1, 8, 2, 6])
    """

    _pool = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maximum over the last three dimensions, to a given size; None keeps a dimension.

    Args:
        output_size: one size for all, or three
        return_indices: return also where each maximum was

    Shape: (N, C, D, H, W) to (N, C, *output_size), or both without N

    Example:
        >>> nn.AdaptiveMaxPool3d(2)(clew.zeros(1, 8, 5, 6, 7)).shape
        torch.Size([1, 8, 2, 2, 2])
    """

    _pool = "adaptive_max_pool3d"


class _AdaptiveAvgPoolNd(Module):
    """Mean over as many windows as the output shall have values."""

    __constants__ = ["output_size"]

    _pool: ClassVar[str]

    def __init__(self, output_size: OptionalSizes) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return _named(self, "output_size")

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._pool)(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Mean over the last dimension, to a given size.

    Args:
        output_size: the size

    Shape: (N, C, L) to (N, C, output_size), or both without N

    Example:
        >>> nn.AdaptiveAvgPool1d(2)(clew.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    _pool = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Mean over the last two dimensions, to a given size; None keeps a dimension.

    Args:
        output_size: one size for both, or a pair

    Shape: (N, C, H, W) to (N, C, *output_size), or both without N

    Example:
        >>> nn.AdaptiveAvgPool2d(1)(clew.zeros(1, 8, 5, 6)).shape
        torch.Size([1, 8, 1, 1])
    """

    _pool = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Mean over the last three dimensions, to a given size; None keeps a dimension.

    Args:
        output_size: one size for all, or three

    Shape: (N, C, D, H, W) to (N, C, *output_size), or both without N

    Example:
        >>> nn.AdaptiveAvgPool3d(2)(clew.zeros(1, 8, 5, 6, 7)).shape
        torch.Size([1, 8, 2, 2, 2])
    """

    _pool = "adaptive_avg_pool3d"
