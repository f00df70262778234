"""Sliding blocks as columns and back (unfold, fold), and shuffles between channels and space."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.define.dims import is_int
from clew.ops.nn.spatial import Shape, failure, integers, keeps_format, require_tensor

Array = np.ndarray


# -- blocks as columns -------------------------------------------------------------------------


def _unfolded(
    self: Array, *, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape
) -> Array:
    batch = self if self.ndim == 4 else self[None]
    columns = kernels.im2col.unfold(
        batch, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    return columns if batch is self else columns[0]


def _folded(
    self: Array, *, output_size: Shape, kernel_size: Shape, dilation: Shape, padding: Shape,
    stride: Shape,
) -> Array:  # fmt: skip
    batch = self if self.ndim == 3 else self[None]
    result = kernels.im2col.fold(
        batch, output_size=output_size, kernel_size=kernel_size, dilation=dilation,
        padding=padding, stride=stride,
    )  # fmt: skip
    return result if batch is self else result[0]


UNFOLD: Op = Op(
    "im2col", _unfolded, linear=True, node="Im2ColBackward0",
    grads={
        "self": lambda g, self_shape, kernel_size, dilation, padding, stride: FOLD(
            g, output_size=self_shape[-2:], kernel_size=kernel_size, dilation=dilation,
            padding=padding, stride=stride,
        )
    },
)  # fmt: skip
FOLD: Op = Op(
    "col2im", _folded, linear=True, node="Col2ImBackward0",
    grads={
        "self": lambda g, kernel_size, dilation, padding, stride: UNFOLD(
            g, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )
    },
)  # fmt: skip


def _pair(function: str, name: str, value: Any) -> Shape:
    values = integers(function, name, value)
    if not isinstance(value, (tuple, list)):
        return values * 2
    if len(values) != 2:
        raise failure(f"It is expected {name} equals to 2, but got size {len(values)}")
    return values


def _window(
    function: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> dict[str, Shape]:
    """The four sizes of the sliding window, each for height and width."""
    given = {
        "kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride
    }  # fmt: skip
    window = {name: _pair(function, name, value) for name, value in given.items()}
    named = {"kernel_size": ("kernel size", "kernel"), "stride": ("stride", "stride"),
             "dilation": ("dilation", "dilation")}  # fmt: skip
    for name, (what, stem) in named.items():
        height, width = window[name]
        if min(height, width) < 1:
            raise failure(
                f"{what} should be greater than zero, but got {stem}_height: {height} "
                f"{stem}_width: {width}"
            )
    high, wide = window["padding"]
    if min(high, wide) < 0:
        raise failure(
            f"padding should be non-negative, but got pad_height: {high} pad_width: {wide}"
        )
    return window


def _counts(sizes: Shape, window: dict[str, Shape]) -> Shape:
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(sizes, *window.values(), strict=True)
    )


def _check_area(kernels: Shape) -> None:
    if prod(kernels) >= 2**63:
        raise failure(
            f"Given kernel_width = {kernels[1]} and kernel_height = {kernels[0]} the product of "
            "kernel_width and kernel_height overflowed"
        )


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Sliding blocks of (N, C, H, W) as the columns of (N, C * block, blocks).

    Args:
        input: (N, C, H, W) or (C, H, W)
        kernel_size: the blocks' height and width
        dilation: the distance between the elements of a block
        padding: zeros at each side of the image
        stride: the distance between blocks

    Example:
        >>> F.unfold(clew.arange(6.0).reshape(1, 2, 3), kernel_size=2)
        tensor([[0., 1.],
                [1., 2.],
                [3., 4.],
                [4., 5.]])
    """
    require_tensor("unfold", "input", 1, input)
    window = _window("unfold", kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) < 3:
        raise errors.dimension_out_of_range(max(len(shape), 1), len(shape))
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise failure(
            f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {errors.shape_list(shape)}"
        )
    _check_area(window["kernel_size"])
    counts = _counts(shape[-2:], window)
    if min(counts) < 1:
        raise failure(
            f"Given input with spatial size {shape[-2:]}, kernel_size={window['kernel_size']}, "
            f"dilation={window['dilation']}, padding={window['padding']}, calculated shape of "
            f"the array of sliding blocks as {counts}, but its components must be at least one."
        )
    _check_dtype("im2col_out_cpu", input)
    result: Tensor = UNFOLD(input, **window)
    return result


def _check_dtype(name: str, input: Tensor) -> None:
    if input.dtype.category == dtypes.INTEGER:
        raise errors.no_kernel(name, input.dtype)


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
    stride: Any = 1,
) -> Tensor:  # fmt: skip
    """Sum columns (N, C * block, blocks) back to where `unfold` took them from.

    Args:
        input: the columns
        output_size: the image's height and width
        kernel_size: the blocks' height and width
        dilation: the distance between the elements of a block
        padding: zeros at each side of the image, which the blocks reach over
        stride: the distance between blocks

    Example:
        >>> blocks = F.unfold(clew.ones(1, 1, 2, 3), kernel_size=2)
        >>> F.fold(blocks, output_size=(2, 3), kernel_size=2)[0, 0]
        tensor([[1., 2., 1.],
                [1., 2., 1.]])
    """
    require_tensor("fold", "input", 1, input)
    sizes = _pair("fold", "output_size", output_size)
    window = _window("fold", kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise failure(
            f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {errors.shape_list(shape)}"
        )
    kernels, counts = window["kernel_size"], _counts(sizes, window)
    _check_area(kernels)
    if shape[-2] % prod(kernels):
        raise failure(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={shape[-2]} and kernel_size={kernels}."
        )
    if min(counts) < 1:
        raise failure(
            f"Given output_size={sizes}, kernel_size={kernels}, dilation={window['dilation']}, "
            f"padding={window['padding']}, stride={window['stride']}, calculated shape of the "
            f"array of sliding blocks as {counts}, which is too small (non-positive)"
        )
    if shape[-1] != prod(counts):
        raise failure(
            f"Given output_size={sizes}, kernel_size={kernels}, dilation={window['dilation']}, "
            f"padding={window['padding']}, stride={window['stride']}, expected size of input's "
            f"dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, counts))} = {prod(counts)}, but got input.size(2)={shape[-1]}."
        )
    _check_dtype("col2im_out_cpu", input)
    result: Tensor = FOLD(input, output_size=sizes, **window)
    return result


# -- between channels and space ----------------------------------------------------------------


@keeps_format
def _spread(self: Array, *, upscale_factor: int) -> Array:
    r = upscale_factor
    *lead, channels, height, width = self.shape
    blocks = self.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    order = (*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return blocks.transpose(order).copy().reshape(*lead, channels // (r * r), height * r, width * r)


@keeps_format
def _gathered(self: Array, *, downscale_factor: int) -> Array:
    r = downscale_factor
    *lead, channels, height, width = self.shape
    blocks = self.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    order = (*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return blocks.transpose(order).copy().reshape(*lead, channels * r * r, height // r, width // r)


PIXEL_SHUFFLE: Op = Op(
    "pixel_shuffle", _spread, linear=True,
    grads={
        "self": lambda g, upscale_factor: PIXEL_UNSHUFFLE(g, downscale_factor=upscale_factor)
    },
)  # fmt: skip
PIXEL_UNSHUFFLE: Op = Op(
    "pixel_unshuffle", _gathered, linear=True,
    grads={
        "self": lambda g, downscale_factor: PIXEL_SHUFFLE(g, upscale_factor=downscale_factor)
    },
)  # fmt: skip


def _read_factor(function: str, name: str, input: Tensor, factor: Any) -> int:
    require_tensor(function, "input", 1, input)
    if not is_int(factor):
        raise TypeError(
            f"{function}(): argument '{name}' (position 2) must be int, not "
            f"{type(factor).__name__}" + errors.at_user_line()
        )
    if input._array.ndim < 3:
        raise failure(
            f"{function} expects input to have at least 3 dimensions, but got input with "
            f"{input._array.ndim} dimension(s)"
        )
    if factor < 1:
        raise failure(f"{function} expects a positive {name}, but got {factor}")
    return int(factor)


@public(method=False, out=False)
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) to (..., C, H * r, W * r).

    Args:
        upscale_factor: r

    Example:
        >>> F.pixel_shuffle(clew.arange(4.0).reshape(4, 1, 1), 2)
        tensor([[[0., 1.],
                 [2., 3.]]])
    """
    factor = _read_factor("pixel_shuffle", "upscale_factor", input, upscale_factor)
    channels, square = input._array.shape[-3], factor * factor
    if square >= 2**63:
        raise ValueError(
            f"upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor={factor}"
            + errors.at_user_line()
        )
    if channels % square:
        raise failure(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
            f"square of upscale_factor, but input.size(-3)={channels} is not divisible by {square}"
        )
    result: Tensor = PIXEL_SHUFFLE(input, upscale_factor=factor)
    return result


@public(method=False, out=False)
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) to (..., C * r * r, H, W).

    Args:
        downscale_factor: r

    Example:
        >>> F.pixel_unshuffle(clew.arange(4.0).reshape(1, 2, 2), 2).flatten()
        tensor([0., 1., 2., 3.])
    """
    factor = _read_factor("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    for dim, what in ((-2, "height"), (-1, "width")):
        size = input._array.shape[dim]
        if size % factor:
            raise failure(
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but "
                f"input.size({dim})={size} is not divisible by {factor}"
            )
    result: Tensor = PIXEL_UNSHUFFLE(input, downscale_factor=factor)
    return result


@keeps_format
def _shuffled(self: Array, *, groups: int) -> Array:
    batch, channels, *space = self.shape
    split = self.reshape(batch, groups, channels // groups, *space)
    return split.swapaxes(1, 2).copy().reshape(self.shape)


CHANNEL_SHUFFLE: Op = Op(
    "channel_shuffle", _shuffled, linear=True,
    grads={
        "self": lambda g, self_shape, groups: CHANNEL_SHUFFLE(
            g, groups=max(self_shape[1] // groups, 1)
        )
    },
)  # fmt: skip


@public(method=False, out=False, aliases=("native_channel_shuffle",))
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Divide the channels into groups and interleave them.

    Args:
        input: (N, C, ...)
        groups: the number of groups, which divides the number of channels

    Example:
        >>> F.channel_shuffle(clew.arange(4.0).reshape(1, 4, 1, 1), 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    require_tensor("channel_shuffle", "input", 1, input)
    if not is_int(groups):
        raise TypeError(
            f"channel_shuffle(): argument 'groups' (position 2) must be int, not "
            f"{type(groups).__name__}" + errors.at_user_line()
        )
    shape = input._array.shape
    if len(shape) <= 2:
        raise failure(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{errors.shape_list(shape)}"
        )
    if groups < 1:
        raise failure(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if shape[1] % groups:
        raise failure(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and "
            f"{groups} groups."
        )
    result: Tensor = CHANNEL_SHUFFLE(input, groups=int(groups))
    return result
