"""Maximum over windows, fixed or random, and the way back."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module
from clew.nn.modules.utils import Sizes, _named, _ntuple, _own_constructor

Ratio = float | tuple[float, ...]


class _MaxPoolNd(Module):
    """The largest value of each window, and on request where it was."""

    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "return_indices",
        "ceil_mode",
    ]

    _pool: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return _named(self, "kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def forward(self, input: Tensor) -> Any:
        return self._pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """Maximum over windows of the last dimension."""

    _pool = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """Maximum over windows of the last two dimensions."""

    _pool = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """Maximum over windows of the last three dimensions."""

    _pool = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    """Puts the values of a max pooling back where they were, among zeros."""

    _spatial_dims: ClassVar[int]
    _unpool: ClassVar[Callable[..., Tensor]]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        each = _ntuple(self._spatial_dims)
        self.kernel_size = each(kernel_size)
        self.stride = each(stride if stride is not None else kernel_size)
        self.padding = each(padding)

    def extra_repr(self) -> str:
        return _named(self, "kernel_size", "stride", "padding")

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return self._unpool(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


@_own_constructor
class MaxUnpool1d(_MaxUnpoolNd):
    """The way back from MaxPool1d."""

    _spatial_dims = 1
    _unpool = staticmethod(F.max_unpool1d)


@_own_constructor
class MaxUnpool2d(_MaxUnpoolNd):
    """The way back from MaxPool2d."""

    _spatial_dims = 2
    _unpool = staticmethod(F.max_unpool2d)


@_own_constructor
class MaxUnpool3d(_MaxUnpoolNd):
    """The way back from MaxPool3d."""

    _spatial_dims = 3
    _unpool = staticmethod(F.max_unpool3d)


class _FractionalMaxPool(Module):
    """Maximum over windows whose places are drawn so that the output has any smaller size."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    _spatial_dims: ClassVar[int]
    _pool: ClassVar[Callable[..., Any]]

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Ratio | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        each = _ntuple(self._spatial_dims)
        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling "
                "ratio\n  Give output_size or output_ratio" + errors.at_user_line()
            )
        if self.output_ratio is None:
            return
        if output_size is not None:
            raise ValueError(
                "only one of output_size and output_ratio may be specified" + errors.at_user_line()
            )
        if not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(
                f"output_ratio must be between 0 and 1 (got {output_ratio})" + errors.at_user_line()
            )

    def forward(self, input: Tensor) -> Any:
        return self._pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


@_own_constructor
class FractionalMaxPool2d(_FractionalMaxPool):
    """Maximum over random windows of the last two dimensions (Graham, 2014)."""

    _spatial_dims = 2
    _pool = staticmethod(F.fractional_max_pool2d)


@_own_constructor
class FractionalMaxPool3d(_FractionalMaxPool):
    """Maximum over random windows of the last three dimensions."""

    _spatial_dims = 3
    _pool = staticmethod(F.fractional_max_pool3d)
