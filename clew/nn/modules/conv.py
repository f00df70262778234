"""Convolutions and transposed convolutions over one, two or three spatial dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

from clew import errors
from clew.backend.dtypes import dtype as DType
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.conv_base import _check_divisible, _ConvNd
from clew.nn.modules.conv_transpose import (
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    _ConvTransposeMixin,  # noqa: F401  (programs import them from here)
    _ConvTransposeNd,  # noqa: F401
)
from clew.nn.modules.lazy import LazyModuleMixin
from clew.nn.modules.utils import Sizes, _ntuple, _own_constructor
from clew.nn.parameter import UninitializedParameter

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]


# ---------------------------------------------------------------- convolutions


class _Conv(_ConvNd):
    """A convolution; the number of its spatial dimensions comes with the subclass."""

    _spatial_dims: ClassVar[int]
    _convolve: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        each = _ntuple(self._spatial_dims)
        edges = padding if isinstance(padding, str) else each(padding)
        sizes = each(kernel_size), each(stride), edges, each(dilation)
        super().__init__(
            in_channels,
            out_channels,
            *sizes,
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return getattr(F, self._convolve)(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


@_own_constructor
class Conv1d(_Conv):
    """Convolution of (N, C, L) or (C, L).

    Args:
        in_channels: the number of channels of the input
        out_channels: that of the output
        kernel_size: the size of the kernels
        stride: the distance between their places
        padding: how far the input is extended at both ends; "valid" is 0, "same" keeps the size
        dilation: the distance between the elements of a kernel
        groups: the number of parts of the channels that do not see each other
        bias: whether there is a bias
        padding_mode: what the padding is: "zeros", "reflect", "replicate" or "circular"
        device, dtype: of the parameters

    Shape: (N, in_channels, L) to (N, out_channels, L_out), or both without N

    Example:
        >>> conv = nn.Conv1d(2, 4, kernel_size=3, padding="same")
        >>> conv(clew.zeros(1, 2, 10)).shape
        torch.Size([1, 4, 10])
    """

    _spatial_dims = 1
    _convolve = "conv1d"


@_own_constructor
class Conv2d(_Conv):
    """Convolution of (N, C, H, W) or (C, H, W).

    Sizes are one number for both dimensions, or a pair.

    Args:
        in_channels: the number of channels of the input
        out_channels: that of the output
        kernel_size: the size of the kernels
        stride: the distance between their places
        padding: how far the input is extended at both ends; "valid" is 0, "same" keeps the size
        dilation: the distance between the elements of a kernel
        groups: the number of parts of the channels that do not see each other
        bias: whether there is a bias
        padding_mode: what the padding is: "zeros", "reflect", "replicate" or "circular"
        device, dtype: of the parameters

    Shape: (N, in_channels, H, W) to (N, out_channels, H_out, W_out), or both without N

    Example:
        >>> conv = nn.Conv2d(3, 16, kernel_size=3, stride=2, padding=1)
        >>> conv(clew.zeros(1, 3, 32, 32)).shape
        torch.Size([1, 16, 16, 16])
        >>> conv.weight.shape
        torch.Size([16, 3, 3, 3])
    """

    _spatial_dims = 2
    _convolve = "conv2d"


@_own_constructor
class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W) or (C, D, H, W).

    Sizes are one number for all dimensions, or three.

    Args:
        in_channels: the number of channels of the input
        out_channels: that of the output
        kernel_size: the size of the kernels
        stride: the distance between their places
        padding: how far the input is extended at both ends; "valid" is 0, "same" keeps the size
        dilation: the distance between the elements of a kernel
        groups: the number of parts of the channels that do not see each other
        bias: whether there is a bias
        padding_mode: what the padding is: "zeros", "reflect", "replicate" or "circular"
        device, dtype: of the parameters

    Shape: (N, in_channels, D, H, W) to (N, out_channels, D_out, H_out, W_out), or both without N

    Example:
        >>> conv = nn.Conv3d(1, 4, kernel_size=(1, 3, 3))
        >>> conv(clew.zeros(1, 1, 5, 8, 8)).shape
        torch.Size([1, 4, 5, 6, 6])
    """

    _spatial_dims = 3
    _convolve = "conv3d"


# ---------------------------------------------------------------- lazy forms


class _LazyConvXdMixin(LazyModuleMixin, _ConvNd):
    """Takes the number of input channels from the first input."""

    weight: UninitializedParameter
    bias: UninitializedParameter | None
    _spatial_dims: ClassVar[int]

    def _become_lazy(self, out_channels: int, bias: bool, device: Any, dtype: DType | None) -> None:
        """Replace the empty parameters that the constructor has made for no channels."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        _check_divisible("in_channels", self.in_channels, self.groups)
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        unbatched = self._get_num_spatial_dims() + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
                + errors.at_user_line()
            )
        return input.shape[input.dim() - unbatched]

    def _get_num_spatial_dims(self) -> int:
        return self._spatial_dims


class _LazyConv(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        # The bias is made later, so that no random number is drawn for it now.
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._become_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        sizes = kernel_size, stride, padding, output_padding
        super().__init__(0, 0, *sizes, groups, False, dilation, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


@_own_constructor
class LazyConv1d(_LazyConv, Conv1d):
    """A Conv1d that learns `in_channels` from its first input.

    Args:
        out_channels: the number of channels of the output
        kernel_size: the size of the kernels
        stride, padding, dilation: where they are applied
        groups, bias, padding_mode, device, dtype: as in the layer that it becomes

    Shape: as `Conv1d`

    Example:
        >>> conv = nn.LazyConv1d(4, kernel_size=3)
        >>> conv(clew.zeros(1, 2, 10)).shape
        torch.Size([1, 4, 8])
        >>> conv
        Conv1d(2, 4, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = Conv1d


@_own_constructor
class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that learns `in_channels` from its first input.

    Args:
        out_channels: the number of channels of the output
        kernel_size: the size of the kernels
        stride, padding, dilation: where they are applied
        groups, bias, padding_mode, device, dtype: as in the layer that it becomes

    Shape: as `Conv2d`

    Example:
        >>> conv = nn.LazyConv2d(16, kernel_size=3)
        >>> conv(clew.zeros(1, 3, 8, 8)).shape
        torch.Size([1, 16, 6, 6])
        >>> conv
        Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = Conv2d


@_own_constructor
class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d that learns `in_channels` from its first input.

    Args:
        out_channels: the number of channels of the output
        kernel_size: the size of the kernels
        stride, padding, dilation: where they are applied
        groups, bias, padding_mode, device, dtype: as in the layer that it becomes

    Shape: as `Conv3d`

    Example:
        >>> conv = nn.LazyConv3d(4, kernel_size=3)
        >>> conv(clew.zeros(1, 2, 5, 5, 5)).shape
        torch.Size([1, 4, 3, 3, 3])
        >>> conv.in_channels
        2
    """

    cls_to_become = Conv3d


@_own_constructor
class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d that learns `in_channels` from its first input.

    Args:
        out_channels: the number of channels of the output
        kernel_size: the size of the kernels
        stride, padding, output_padding, dilation: where they are applied
        groups, bias, padding_mode, device, dtype: as in the layer that it becomes

    Shape: as `ConvTranspose1d`

    Example:
        >>> conv = nn.LazyConvTranspose1d(4, kernel_size=3)
        >>> conv(clew.zeros(1, 2, 10)).shape
        torch.Size([1, 4, 12])
        >>> conv
        ConvTranspose1d(2, 4, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = ConvTranspose1d


@_own_constructor
class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d that learns `in_channels` from its first input.

    Args:
        out_channels: the number of channels of the output
        kernel_size: the size of the kernels
        stride, padding, output_padding, dilation: where they are applied
        groups, bias, padding_mode, device, dtype: as in the layer that it becomes

    Shape: as `ConvTranspose2d`

    Example:
        >>> conv = nn.LazyConvTranspose2d(4, kernel_size=2, stride=2)
        >>> conv(clew.zeros(1, 2, 8, 8)).shape
        torch.Size([1, 4, 16, 16])
        >>> conv
        ConvTranspose2d(2, 4, kernel_size=(2, 2), stride=(2, 2))
    """

    cls_to_become = ConvTranspose2d


@_own_constructor
class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d that learns `in_channels` from its first input.

    Args:
        out_channels: the number of channels of the output
        kernel_size: the size of the kernels
        stride, padding, output_padding, dilation: where they are applied
        groups, bias, padding_mode, device, dtype: as in the layer that it becomes

    Shape: as `ConvTranspose3d`

    Example:
        >>> conv = nn.LazyConvTranspose3d(4, kernel_size=2)
        >>> conv(clew.zeros(1, 2, 5, 5, 5)).shape
        torch.Size([1, 4, 6, 6, 6])
        >>> conv.in_channels
        2
    """

    cls_to_become = ConvTranspose3d
