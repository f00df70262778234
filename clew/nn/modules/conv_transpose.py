"""Transposed convolutions over one, two or three spatial dimensions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from clew import errors
from clew.backend.dtypes import dtype as DType
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.conv_base import _ConvNd
from clew.nn.modules.utils import Sizes, _ntuple, _own_constructor
from clew.source import user_stacklevel


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


class _ConvTransposeMixin(_ConvTransposeNd):
    """The older name, which packages still import."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "_ConvTransposeMixin is a deprecated internal class. Please consider using public "
            "APIs.",
            FutureWarning,
            stacklevel=user_stacklevel(),
        )
        super().__init__(*args, **kwargs)


class _ConvTranspose(_ConvTransposeNd):
    """A transposed convolution; the number of its spatial dimensions comes with the subclass."""

    _spatial_dims: ClassVar[int]
    _convolve: ClassVar[str]

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
        return getattr(F, self._convolve)(
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
    """Transposed convolution of (N, C, L) or (C, L): the gradient of a convolution, as a layer.

    Args:
        in_channels: the number of channels of the input
        out_channels: that of the output
        kernel_size: the size of the kernels
        stride: how far apart the input's elements come to lie
        padding: how much is cut off at both ends
        output_padding: how much is added at one end, to choose among possible sizes
        groups: the number of parts of the channels that do not see each other
        bias: whether there is a bias
        dilation: the distance between the elements of a kernel
        padding_mode: only "zeros"
        device, dtype: of the parameters

    Shape: (N, in_channels, L) to (N, out_channels, L_out), or both without N

    Example:
        >>> conv = nn.ConvTranspose1d(4, 2, kernel_size=2, stride=2)
        >>> conv(clew.zeros(1, 4, 10)).shape
        torch.Size([1, 2, 20])
    """

    _spatial_dims = 1
    _convolve = "conv_transpose1d"


@_own_constructor
class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of (N, C, H, W) or (C, H, W).

    It has the shapes of a convolution the other way round. Where several sizes lead to the same one
    there, `output_padding`, or `output_size` when it is called, says which is meant.

    Args:
        in_channels: the number of channels of the input
        out_channels: that of the output
        kernel_size: the size of the kernels
        stride: how far apart the input's elements come to lie
        padding: how much is cut off at both ends
        output_padding: how much is added at one end, to choose among possible sizes
        groups: the number of parts of the channels that do not see each other
        bias: whether there is a bias
        dilation: the distance between the elements of a kernel
        padding_mode: only "zeros"
        device, dtype: of the parameters

    Shape: (N, in_channels, H, W) to (N, out_channels, H_out, W_out), or both without N

    Example:
        >>> up = nn.ConvTranspose2d(16, 3, kernel_size=3, stride=2, padding=1)
        >>> up(clew.zeros(1, 16, 16, 16)).shape
        torch.Size([1, 3, 31, 31])
        >>> up(clew.zeros(1, 16, 16, 16), output_size=(32, 32)).shape
        torch.Size([1, 3, 32, 32])
    """

    _spatial_dims = 2
    _convolve = "conv_transpose2d"


@_own_constructor
class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of (N, C, D, H, W) or (C, D, H, W).

    Args:
        in_channels: the number of channels of the input
        out_channels: that of the output
        kernel_size: the size of the kernels
        stride: how far apart the input's elements come to lie
        padding: how much is cut off at both ends
        output_padding: how much is added at one end, to choose among possible sizes
        groups: the number of parts of the channels that do not see each other
        bias: whether there is a bias
        dilation: the distance between the elements of a kernel
        padding_mode: only "zeros"
        device, dtype: of the parameters

    Shape: (N, in_channels, D, H, W) to (N, out_channels, D_out, H_out, W_out), or both without N

    Example:
        >>> conv = nn.ConvTranspose3d(4, 2, kernel_size=2, stride=2)
        >>> conv(clew.zeros(1, 4, 3, 3, 3)).shape
        torch.Size([1, 2, 6, 6, 6])
    """

    _spatial_dims = 3
    _convolve = "conv_transpose3d"
