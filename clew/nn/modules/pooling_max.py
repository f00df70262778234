"""Maximum over windows, fixed or random, and the way back."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from collections.abc import Sequence
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

    _pool: ClassVar[str]

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
        return getattr(F, self._pool)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """Maximum over windows of the last dimension.

    Args:
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: how far windows reach over each edge, at most half their size
        dilation: the distance between the elements of a window
        return_indices: return also where each maximum was, for the unpooling layer
        ceil_mode: let the last window start inside even if it ends outside

    Shape: (N, C, L) to (N, C, L_out), or both without N

    Example:
        >>> nn.MaxPool1d(2)(clew.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[3., 2.]])
    """

    _pool = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Maximum over windows of the last two dimensions.

    Args:
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: how far windows reach over each edge, at most half their size
        dilation: the distance between the elements of a window
        return_indices: return also where each maximum was, for the unpooling layer
        ceil_mode: let the last window start inside even if it ends outside

    Shape: (N, C, H, W) to (N, C, H_out, W_out), or both without N

    Example:
        >>> nn.MaxPool2d(2)(clew.arange(16.0).reshape(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
        >>> nn.MaxPool2d(3, stride=2, padding=1)(clew.zeros(1, 8, 32, 32)).shape
        torch.Size([1, 8, 16, 16])
    """

    _pool = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """Maximum over windows of the last three dimensions.

    Args:
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: how far windows reach over each edge, at most half their size
        dilation: the distance between the elements of a window
        return_indices: return also where each maximum was, for the unpooling layer
        ceil_mode: let the last window start inside even if it ends outside

    Shape: (N, C, D, H, W) to (N, C, D_out, H_out, W_out), or both without N

    Example:
        >>> nn.MaxPool3d(2)(clew.zeros(1, 8, 4, 6, 6)).shape
        torch.Size([1, 8, 2, 3, 3])
    """

    _pool = "max_pool3d"


class _MaxUnpoolNd(Module):
    """Puts the values of a max pooling back where they were, among zeros."""

    _spatial_dims: ClassVar[int]
    _unpool: ClassVar[str]

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
        return getattr(F, self._unpool)(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


@_own_constructor
class MaxUnpool1d(_MaxUnpoolNd):
    """The way back from MaxPool1d: the maxima where they were, zeros elsewhere.

    Args:
        kernel_size: the size of the windows of the pooling
        stride: their distance; None is `kernel_size`
        padding: what the pooling had

    Shape: (N, C, L) twice, values and indices, to (N, C, L_out); `output_size` chooses among
        possible L_out

    Example:
        >>> row = clew.tensor([[1.0, 3.0, 2.0, 0.0]])
        >>> pooled, indices = nn.MaxPool1d(2, return_indices=True)(row)
        >>> nn.MaxUnpool1d(2)(pooled, indices)
        tensor([[0., 3., 2., 0.]])
    """

    _spatial_dims = 1
    _unpool = "max_unpool1d"


@_own_constructor
class MaxUnpool2d(_MaxUnpoolNd):
    """The way back from MaxPool2d: the maxima where they were, zeros elsewhere.

    Args:
        kernel_size: the size of the windows of the pooling
        stride: their distance; None is `kernel_size`
        padding: what the pooling had

    Shape: (N, C, H, W) twice, values and indices, to (N, C, H_out, W_out); `output_size` chooses
        among possible sizes

    Example:
        >>> image = clew.tensor([[[1.0, 5.0], [2.0, 3.0]]])
        >>> pooled, indices = nn.MaxPool2d(2, return_indices=True)(image)
        >>> nn.MaxUnpool2d(2)(pooled, indices)
        tensor([[[0., 5.],
                 [0., 0.]]])
    """

    _spatial_dims = 2
    _unpool = "max_unpool2d"


@_own_constructor
class MaxUnpool3d(_MaxUnpoolNd):
    """The way back from MaxPool3d: the maxima where they were, zeros elsewhere.

    Args:
        kernel_size: the size of the windows of the pooling
        stride: their distance; None is `kernel_size`
        padding: what the pooling had

    Shape: (N, C, D, H, W) twice, values and indices, to (N, C, D_out, H_out, W_out)

    Example:
        >>> pooled, indices = nn.MaxPool3d(2, return_indices=True)(clew.randn(1, 8, 4, 4, 4))
        >>> nn.MaxUnpool3d(2)(pooled, indices).shape
        torch.Size([1, 8, 4, 4, 4])
    """

    _spatial_dims = 3
    _unpool = "max_unpool3d"


class _FractionalMaxPool(Module):
    """Maximum over windows whose places are drawn so that the output has any smaller size."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    _spatial_dims: ClassVar[int]
    _pool: ClassVar[str]

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
        if any(width < 1 for width in self.kernel_size):
            raise ValueError(
                f"kernel_size must be greater than 0, but got {kernel_size}" + errors.at_user_line()
            )
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
        return getattr(F, self._pool)(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


@_own_constructor
class FractionalMaxPool2d(_FractionalMaxPool):
    """Maximum over random windows of the last two dimensions (Graham, 2014).

    Args:
        kernel_size: the size of the windows
        output_size: the size of the output
        output_ratio: that size as a part of the input's; give one of the two
        return_indices: return also where each maximum was

    Shape: (N, C, H, W) to (N, C, *output_size), or both without N

    Example:
        >>> nn.FractionalMaxPool2d(2, output_ratio=0.7)(clew.randn(1, 8, 10, 10)).shape
        torch.Size([1, 8, 7, 7])
    """

    _spatial_dims = 2
    _pool = "fractional_max_pool2d"


@_own_constructor
class FractionalMaxPool3d(_FractionalMaxPool):
    """Maximum over random windows of the last three dimensions.

    Args:
        kernel_size: the size of the windows
        output_size: the size of the output
        output_ratio: that size as a part of the input's; give one of the two
        return_indices: return also where each maximum was

    Shape: (N, C, D, H, W) to (N, C, *output_size), or both without N

    Example:
        >>> nn.FractionalMaxPool3d(2, output_size=3)(clew.randn(1, 8, 5, 5, 5)).shape
        torch.Size([1, 8, 3, 3, 3])
    """

    _spatial_dims = 3
    _pool = "fractional_max_pool3d"
