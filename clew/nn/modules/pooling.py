"""Pooling: one number from each window, by maximum, mean or norm, and the way back."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from typing import ClassVar

from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module
from clew.nn.modules.pooling_adaptive import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    _AdaptiveAvgPoolNd,  # noqa: F401  (programs import the base classes from here)
    _AdaptiveMaxPoolNd,  # noqa: F401
)
from clew.nn.modules.pooling_max import (
    FractionalMaxPool2d,
    FractionalMaxPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
    _MaxPoolNd,  # noqa: F401
    _MaxUnpoolNd,  # noqa: F401
)
from clew.nn.modules.utils import Sizes, _named, _ntuple, _own_constructor

__all__ = [
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
]


# ---------------------------------------------------------------- mean


class _AvgPoolNd(Module):
    """The mean of each window."""

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    _pool: ClassVar[str]

    def _set_windows(
        self, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
        count_include_pad: bool,
    ) -> None:  # fmt: skip
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def extra_repr(self) -> str:
        return _named(self, "kernel_size", "stride", "padding")

    def forward(self, input: Tensor) -> Tensor:
        # The constants are what `_pool` takes, in its order.
        return getattr(F, self._pool)(input, *[getattr(self, name) for name in self.__constants__])


class AvgPool1d(_AvgPoolNd):
    """Mean over windows of the last dimension.

    Args:
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: zeros at each edge, at most half a window
        ceil_mode: let the last window start inside even if it ends outside
        count_include_pad: whether the padding counts as elements of the mean

    Shape: (N, C, L) to (N, C, L_out), or both without N

    Example:
        >>> nn.AvgPool1d(2)(clew.tensor([[1.0, 3.0, 2.0, 0.0]]))
        tensor([[2., 1.]])
    """

    _pool = "avg_pool1d"

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        single = _ntuple(1)
        step = single(stride if stride is not None else kernel_size)
        self._set_windows(single(kernel_size), step, single(padding), ceil_mode, count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        step = stride if stride is not None else kernel_size
        self._set_windows(kernel_size, step, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override


@_own_constructor
class AvgPool2d(_AvgPoolWithDivisor):
    """Mean over windows of the last two dimensions.

    Args:
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: zeros at each edge, at most half a window
        ceil_mode: let the last window start inside even if it ends outside
        count_include_pad: whether the padding counts as elements of the mean
        divisor_override: what the sums are divided by; None is the size of the window

    Shape: (N, C, H, W) to (N, C, H_out, W_out), or both without N

    Example:
        >>> nn.AvgPool2d(2)(clew.arange(16.0).reshape(1, 4, 4))
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """

    _pool = "avg_pool2d"


@_own_constructor
class AvgPool3d(_AvgPoolWithDivisor):
    """Mean over windows of the last three dimensions.

    Args:
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: zeros at each edge, at most half a window
        ceil_mode: let the last window start inside even if it ends outside
        count_include_pad: whether the padding counts as elements of the mean
        divisor_override: what the sums are divided by; None is the size of the window

    Shape: (N, C, D, H, W) to (N, C, D_out, H_out, W_out), or both without N

    Example:
        >>> nn.AvgPool3d(2)(clew.zeros(1, 8, 4, 6, 6)).shape
        torch.Size([1, 8, 2, 3, 3])
    """

    _pool = "avg_pool3d"


# ---------------------------------------------------------------- norm


class _LPPoolNd(Module):
    """The p-norm of each window."""

    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    _pool: ClassVar[str]

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return _named(self, "norm_type", "kernel_size", "stride", "ceil_mode")

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._pool)(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool1d(_LPPoolNd):
    """Norm over windows of the last dimension.

    Args:
        norm_type: the order of the norm
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        ceil_mode: let the last window start inside even if it ends outside

    Shape: (N, C, L) to (N, C, L_out), or both without N

    Example:
        >>> nn.LPPool1d(2, 2)(clew.tensor([[3.0, 4.0, 0.0, 1.0]]))
        tensor([[5., 1.]])
    """

    _pool = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """Norm over windows of the last two dimensions.

    Args:
        norm_type: the order of the norm
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        ceil_mode: let the last window start inside even if it ends outside

    Shape: (N, C, H, W) to (N, C, H_out, W_out), or both without N

    Example:
        >>> nn.LPPool2d(2, (1, 2))(clew.tensor([[[3.0, 4.0]]]))
        tensor([[[5.]]])
    """

    _pool = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """Norm over windows of the last three dimensions.

    Args:
        norm_type: the order of the norm
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        ceil_mode: let the last window start inside even if it ends outside

    Shape: (N, C, D, H, W) to (N, C, D_out, H_out, W_out), or both without N

    Example:
        >>> nn.LPPool3d(2, 2)(clew.ones(1, 8, 4, 4, 4)).shape
        torch.Size([1, 8, 2, 2, 2])
    """

    _pool = "lp_pool3d"
