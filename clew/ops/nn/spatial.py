"""What operations over (N, C, *spatial) tensors share: reading sizes, unbatched inputs, errors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.kernels.numpy.max_pool import pool_output_size
from clew.ops.define.memory_layout import in_format_of

Shape = tuple[int, ...]

# The names that PyTorch gives to one, two and three axes of space in its messages.
AXIS_LETTERS = {1: "W", 2: "HW", 3: "THW"}


def located(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, whose errors also name the line of the user's program."""

    @functools.wraps(kernel)
    def run(*arrays: Any, **params: Any) -> Any:
        try:
            return kernel(*arrays, **params)
        except (RuntimeError, ValueError) as error:
            raise type(error)(str(error) + errors.at_user_line()) from None

    return run


def keeps_format(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, whose results have channels last in memory if its first array has them there.

    Layout shows: in strides, in what `view` accepts, and in which element gets which random number.
    """

    @functools.wraps(kernel)
    def run(*arrays: Any, **params: Any) -> Any:
        result, source = kernel(*arrays, **params), arrays[0]
        if source.flags.c_contiguous:
            return result
        if isinstance(result, tuple):
            return tuple(in_format_of(source, each) for each in result)
        return in_format_of(source, result)

    return run


def failure(text: str) -> RuntimeError:
    """A RuntimeError that names the line of the user's program."""
    return RuntimeError(text + errors.at_user_line())


def integers(function: str, name: str, value: Any) -> Shape:
    """An int or a sequence of ints as a tuple; a single int gives one entry."""
    if type(value) is int:
        return (value,)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_integer(function, name, item) for item in value)
    return (_integer(function, name, value),)


def _integer(function: str, name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"{function}(): argument '{name}' must be tuple of ints, not {type(value).__name__}"
            + errors.at_user_line()
        ) from None


def require_tensor(function: str, name: str, position: int, value: Any) -> None:
    """Refuse everything that is not a tensor."""
    if not isinstance(value, Tensor):
        raise errors.wrong_argument(function, name, position, "Tensor", value)


def batched(input: Tensor, dims: int) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it had one."""
    if input._array.ndim == dims + 1:
        return input.unsqueeze(0), False
    return input, True


def unbatched(result: Tensor, was_batched: bool) -> Tensor:
    """Undo `batched`."""
    return result if was_batched else result.squeeze(0)


def batch_axis(array: np.ndarray, dims: int) -> np.ndarray:
    """The array as (N, C, *spatial), where the batch dimension may be missing."""
    return array[None] if array.ndim == dims + 1 else array


def cross(values: Sequence[int]) -> str:
    """`3x8x8`."""
    return "x".join(map(str, values))


# -- pooling -----------------------------------------------------------------------------------

_COUNT_WORDS = {2: "two", 3: "three"}


def _per_axis(name: str, what: str, values: Shape, dims: int) -> Shape:
    if len(values) == dims:
        return values
    if len(values) == 1:
        return values * dims
    spatial = name == "avg_pool3d"
    start = {
        "stride": f"{what} must be omitted," if spatial else f"{what} must either be omitted,",
        "dilation": f"{what} must be either",
    }.get(what, f"{what} must be" if spatial else f"{what} must either be")
    raise failure(f"{name}: {start} a single int, or a tuple of {_COUNT_WORDS[dims]} ints")


def pool_sizes(
    name: str, dims: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[Shape, Shape, Shape, Shape]:
    """Kernel, stride (by default the kernel), padding and dilation, one entry per axis."""
    kernel = _per_axis(name, "kernel_size", integers(name, "kernel_size", kernel_size), dims)
    steps = kernel
    if stride is not None:
        given = integers(name, "stride", stride)
        steps = _per_axis(name, "stride", given, dims) if given else kernel
    pads = _per_axis(name, "padding", integers(name, "padding", padding), dims)
    spacing = _per_axis(name, "dilation", integers(name, "dilation", dilation), dims)
    return kernel, steps, pads, spacing


def check_pool_rank(name: str, dims: int, input: Tensor) -> None:
    """Pooling takes (N, C, *spatial) or (C, *spatial), of which only N may be zero."""
    shape = input._array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise failure(
            f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input, but "
            f"got: {errors.shape_list(shape)}"
        )
    inner = shape[-dims - 1 :]
    if 0 not in inner:
        return
    if dims == 2:
        raise failure(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got:{errors.shape_list(shape)}"
        )
    raise failure(
        f"{name}(): Expected input's non-batch dimensions to have positive length, but input has "
        f"a shape of {errors.shape_list(shape)}"
    )


def check_pool_sizes(
    dims: int, shape: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape,
    ceil_mode: bool,
) -> None:  # fmt: skip
    """Refuse windows that PyTorch refuses, in its words."""
    if min(stride) < 1:
        raise failure("stride should not be zero")
    if min(kernel) < 1:
        raise failure(f"kernel size should be greater than zero, but got {_lettered('k', kernel)}")
    if min(dilation) < 1:
        raise failure(
            f"dilation should be greater than zero, but got {_lettered('dilation', dilation)}"
        )
    for pad, width, spacing in zip(padding, kernel, dilation, strict=True):
        if pad < 0:
            raise failure(f"pad must be non-negative, but got pad: {pad}")
        if pad > (spacing * (width - 1) + 1) // 2:
            raise failure(
                f"pad should be at most half of effective kernel size, but got pad={pad}, "
                f"kernel_size={width} and dilation={spacing}"
            )
    axes = zip(shape[-dims:], kernel, stride, padding, dilation, strict=True)
    counts = [pool_output_size(*axis, ceil_mode) for axis in axes]
    if min(counts) < 1:
        channels = shape[-dims - 1]
        raise failure(
            f"Given input size: ({cross(shape[-dims - 1 :])}). Calculated output size: "
            f"({cross([channels, *counts])}). Output size is too small"
        )


def _lettered(stem: str, values: Shape) -> str:
    letters = AXIS_LETTERS[len(values)]
    return " ".join(f"{stem}{letter}: {value}" for letter, value in zip(letters, values))


def size_or_default(output_size: Any, shape: Shape) -> Any:
    """An output size in which None stands for the input's size along that axis."""
    if type(output_size) is int:
        return output_size
    count = len(output_size)
    if len(shape) <= count:
        raise ValueError(f"Input dimension should be at least {count + 1}" + errors.at_user_line())
    own = shape[len(shape) - count :]
    return [n if size is None else size for size, n in zip(output_size, own, strict=True)]
