"""Convolutions and transposed convolutions over one, two or three spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from clew import errors
from clew.backend.dtypes import dtype as DType
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.conv_base import _check_divisible, _ConvNd
from clew.nn.modules.lazy import LazyModuleMixin
from clew.nn.modules.utils import _ntuple, _own_constructor
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

Sizes = int | tuple[int, ...]


# ---------------------------------------------------------------- convolutions


class _Conv(_ConvNd):
    """A convolution; the number of its spatial dimensions comes with the subclass."""

    _spatial_dims: ClassVar[int]
    _convolve: ClassVar[Callable[..., Tensor]]

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
        return self._convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


@_own_constructor
class Conv1d(_Conv):
    """Convolution of (N, C, L) or (C, L)."""

    _spatial_dims = 1
    _convolve = staticmethod(F.conv1d)


@_own_constructor
class Conv2d(_Conv):
    """Convolution of (N, C, H, W) or (C, H, W)."""

    _spatial_dims = 2
    _convolve = staticmethod(F.conv2d)


@_own_constructor
class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W) or (C, D, H, W)."""

    _spatial_dims = 3
    _convolve = staticmethod(F.conv3d)


# ---------------------------------------------------------------- transposed convolutions


class _ConvTransposeNd(_ConvNd):
    """What all transposed convolutions have: the choice between possible output sizes."""

    def _output_padding(
        self,
        input: Tensor,
        output_size: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:
        """How much to add at the end of each dimension so that the output has `output_size`."""
        if output_size is None:
            return self.output_padding
        sizes = _spatial_sizes(input, output_size, num_spatial_dims)
        steps = dilation if dilation is not None else (1,) * num_spatial_dims
        smallest = [
            (input.shape[dim - num_spatial_dims] - 1) * stride[dim]
            - 2 * padding[dim]
            + steps[dim] * (kernel_size[dim] - 1)
            + 1
            for dim in range(num_spatial_dims)
        ]
        # Every size below the next that another input would give leads back to this input.
        largest = [size + step - 1 for size, step in zip(smallest, stride)]
        for size, low, high in zip(sizes, smallest, largest):
            if not low <= size <= high:
                raise ValueError(
                    f"requested an output size of {sizes}, but valid sizes range from {smallest}"
                    f" to {largest} (for an input of {input.shape[-num_spatial_dims:]})"
                    + errors.at_user_line()
                )
        return [size - low for size, low in zip(sizes, smallest)]


def _spatial_sizes(
    input: Tensor, output_size: Sequence[int], num_spatial_dims: int
) -> Sequence[int]:
    """The last dimensions of `output_size`, which may also name the channels and the batch."""
    with_rest = input.dim()
    sizes = list(output_size)
    if len(sizes) == with_rest:
        sizes = sizes[with_rest - num_spatial_dims :]
    if len(sizes) != num_spatial_dims:
        raise ValueError(
            f"ConvTranspose{num_spatial_dims}D: for {with_rest}D input, output_size must have "
            f"{num_spatial_dims} or {with_rest} elements (got {len(sizes)})" + errors.at_user_line()
        )
    return sizes


class _ConvTranspose(_ConvTransposeNd):
    """A transposed convolution; the number of its spatial dimensions comes with the subclass."""

    _spatial_dims: ClassVar[int]
    _convolve: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        in_channels: int,
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
        each = _ntuple(self._spatial_dims)
        sizes = each(kernel_size), each(stride), each(padding), each(dilation)
        extra = each(output_padding)
        super().__init__(
            in_channels,
            out_channels,
            *sizes,
            True,
            extra,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(
                f"Only `zeros` padding mode is supported for ConvTranspose{self._spatial_dims}d"
                + errors.at_user_line()
            )
        padding: Any = self.padding
        output_padding = self._output_padding(
            input,
            output_size,
            self.stride,
            padding,
            self.kernel_size,
            self._spatial_dims,
            self.dilation,
        )
        return self._convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            padding,
            output_padding,
            self.groups,
            self.dilation,
        )


@_own_constructor
class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of (N, C, L) or (C, L)."""

    _spatial_dims = 1
    _convolve = staticmethod(F.conv_transpose1d)


@_own_constructor
class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of (N, C, H, W) or (C, H, W)."""

    _spatial_dims = 2
    _convolve = staticmethod(F.conv_transpose2d)


@_own_constructor
class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of (N, C, D, H, W) or (C, D, H, W)."""

    _spatial_dims = 3
    _convolve = staticmethod(F.conv_transpose3d)


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
    """A Conv1d that learns `in_channels` from its first input."""

    cls_to_become = Conv1d


@_own_constructor
class LazyConv2d(_LazyConv, Conv2d):
    """A Conv2d that learns `in_channels` from its first input."""

    cls_to_become = Conv2d


@_own_constructor
class LazyConv3d(_LazyConv, Conv3d):
    """A Conv3d that learns `in_channels` from its first input."""

    cls_to_become = Conv3d


@_own_constructor
class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A ConvTranspose1d that learns `in_channels` from its first input."""

    cls_to_become = ConvTranspose1d


@_own_constructor
class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d that learns `in_channels` from its first input."""

    cls_to_become = ConvTranspose2d


@_own_constructor
class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A ConvTranspose3d that learns `in_channels` from its first input."""

    cls_to_become = ConvTranspose3d
