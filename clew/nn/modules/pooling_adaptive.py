"""Pooling to a given size, whatever that of the input is."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module
from clew.nn.modules.utils import _named

OptionalSizes = int | tuple[int | None, ...] | None


class _AdaptiveMaxPoolNd(Module):
    """Maximum over as many windows as the output shall have values."""

    __constants__ = ["output_size", "return_indices"]

    _pool: ClassVar[Callable[..., Any]]

    def __init__(self, output_size: OptionalSizes, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return _named(self, "output_size")

    def forward(self, input: Tensor) -> Any:
        return self._pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maximum over the last dimension, to a given size."""

    _pool = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maximum over the last two dimensions, to a given size; None keeps a dimension."""

    _pool = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maximum over the last three dimensions, to a given size; None keeps a dimension."""

    _pool = staticmethod(F.adaptive_max_pool3d)


class _AdaptiveAvgPoolNd(Module):
    """Mean over as many windows as the output shall have values."""

    __constants__ = ["output_size"]

    _pool: ClassVar[Callable[..., Tensor]]

    def __init__(self, output_size: OptionalSizes) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return _named(self, "output_size")

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Mean over the last dimension, to a given size."""

    _pool = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Mean over the last two dimensions, to a given size; None keeps a dimension."""

    _pool = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Mean over the last three dimensions, to a given size; None keeps a dimension."""

    _pool = staticmethod(F.adaptive_avg_pool3d)
