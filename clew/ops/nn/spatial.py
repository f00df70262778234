"""What operations over (N, C, *spatial) tensors share: reading sizes, unbatched inputs, errors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.define.memory_layout import channels_last_order, in_order

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
    return _keeping(kernel, 1)


def keeps_either_format(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The same if one of its first two arrays has them there: images, or the weight.

    Volumes in float64 are an exception, as in PyTorch.
    """
    keeping = _keeping(kernel, 2)

    @functools.wraps(kernel)
    def run(*arrays: Any, **params: Any) -> Any:
        is_plain = arrays[0].ndim == 5 and arrays[0].dtype == np.float64
        return (kernel if is_plain else keeping)(*arrays, **params)

    return run


def _keeping(kernel: Callable[..., Any], count: int) -> Callable[..., Any]:
    @functools.wraps(kernel)
    def run(*arrays: Any, **params: Any) -> Any:
        result, order = kernel(*arrays, **params), None
        for array in arrays[:count]:
            order = order or channels_last_order(array)
        if order is None:
            return result
        if isinstance(result, tuple):
            return tuple(in_order(each, order) for each in result)
        return in_order(result, order)

    return run


def failure(text: str) -> RuntimeError:
    """A RuntimeError that names the line of the user's program."""
    return RuntimeError(text + errors.at_user_line())


_INT32, _INT64 = 2**31, 2**63


def integers(function: str, name: str, value: Any, position: int | None = None) -> Shape:
    """An int or a sequence of ints as a tuple; a single int gives one entry."""
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    result = []
    for element, item in enumerate(value if listed else (value,)):
        try:
            number = operator.index(item)
        except TypeError:
            number = None
        # A bool is an int to Python, but no size.
        if number is None or isinstance(item, bool):
            where = element if listed else -1
            raise errors.wrong_argument(function, name, position, "tuple of ints", value, where)
        if not -_INT64 <= number < _INT64:
            raise ValueError(
                f"Overflow when unpacking long long\n  '{name}' of {function} is {number}"
                + errors.at_user_line()
            )
        result.append(number)
    return tuple(result)


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


def images_order(array: np.ndarray) -> tuple[int, ...] | None:
    """The order in memory of (N, C, H, W) with channels last, which pooling keeps; or None."""
    return channels_last_order(array) if array.ndim == 4 else None


def check_room(shape: Sequence[int], itemsize: int) -> None:
    """Refuse a result whose number of bytes is no int64."""
    if prod(shape) * itemsize >= _INT64:
        raise failure(f"Storage size calculation overflowed with sizes={errors.shape_list(shape)}")


def cross(values: Sequence[int]) -> str:
    """`3x8x8`."""
    return "x".join(map(str, values))


# -- pooling -----------------------------------------------------------------------------------

_COUNT_WORDS = {2: "two", 3: "three"}


# Where the sizes of windows stand among the arguments.
_POSITIONS = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5}


def _per_axis(name: str, what: str, value: Any, dims: int) -> Shape:
    values = integers(name, what, value, _POSITIONS[what])
    if not values and what == "stride":
        return values
    if len(values) in (1, dims):
        if not all(-_INT32 <= size < _INT32 for size in values):
            raise failure(
                f"value cannot be converted to type int without overflow\n  {what} of {name} is "
                f"{list(values)}"
            )
        return values if len(values) == dims else values * dims
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
    kernel = _per_axis(name, "kernel_size", kernel_size, dims)
    steps = kernel if stride is None else _per_axis(name, "stride", stride, dims) or kernel
    pads = _per_axis(name, "padding", padding, dims)
    return kernel, steps, pads, _per_axis(name, "dilation", dilation, dims)


def check_pool_rank(dims: int, shape: Shape) -> None:
    """Pooling takes (N, C, *spatial) or (C, *spatial)."""
    if len(shape) not in (dims + 1, dims + 2):
        raise failure(
            f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input, but "
            f"got: {errors.shape_list(shape)}"
        )


def _check_pool_room(name: str, dims: int, shape: Shape) -> None:
    """Of the sizes of an input, only that of the batch may be zero."""
    if dims == 2:
        if len(shape) not in (3, 4) or 0 in shape[-3:]:
            raise failure(
                f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
                f"but got:{errors.shape_list(shape)}"
            )
    elif 0 in shape[-4:]:
        raise failure(
            f"{name}(): Expected input's non-batch dimensions to have positive length, but input "
            f"has a shape of {errors.shape_list(shape)}"
        )


def check_pool_sizes(
    name: str, shape: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape,
    ceil_mode: bool,
) -> None:  # fmt: skip
    """Refuse windows and inputs that PyTorch refuses, in its order and words."""
    dims = len(kernel)
    if 0 in stride:
        raise failure("stride should not be zero")
    if min(kernel) < 1:
        raise failure(f"kernel size should be greater than zero, but got {_lettered('k', kernel)}")
    if min(stride) < 1:
        raise failure(f"stride should be greater than zero, but got {_lettered('d', stride)}")
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
    if any(pad > width // 2 for pad, width in zip(padding, kernel, strict=True)):
        raise failure(
            f"pad should be smaller than or equal to half of kernel size, but got "
            f"{_lettered('pad', padding)} {_lettered('k', kernel)}"
        )
    _check_pool_room(name, dims, shape)
    if name == "avg_pool3d" and any(k > n for k, n in zip(kernel, shape[-3:], strict=True)):
        sizes = " ".join(f"{letter}: {n}" for letter, n in zip("THW", shape[-3:], strict=True))
        raise failure(f"input image ({sizes}) smaller than kernel size ({_lettered('k', kernel)})")
    axes = zip(shape[-dims:], kernel, stride, padding, dilation, strict=True)
    counts = [kernels.max_pool.pool_output_size(*axis, ceil_mode) for axis in axes]
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
    if isinstance(output_size, int):
        return output_size
    count = len(output_size)
    if len(shape) <= count:
        raise ValueError(f"Input dimension should be at least {count + 1}" + errors.at_user_line())
    own = shape[len(shape) - count :]
    return [n if size is None else size for size, n in zip(output_size, own, strict=True)]
