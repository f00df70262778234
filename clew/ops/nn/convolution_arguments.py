"""What convolutions ask of their arguments: ranks, dtypes, a bias that fits, padding."""

from __future__ import annotations

import operator
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.nn.spatial import Shape, failure, integers, located

Pads = tuple[int | tuple[int, int], ...]

# Twice as much, and it is no 64-bit number any more.
_MOST_PADDING = 2**62 - 1


def per_axis(name: str, values: Shape, dims: int) -> Shape:
    if len(values) == dims:
        return values
    if len(values) == 1:
        return values * dims
    raise failure(
        f"expected {name} to be a single integer value or a list of {dims} values to match the "
        f"convolution dimensions, but got {name}={errors.shape_list(values)}"
    )


def check_rank(function: str, input: Tensor, dims: int) -> None:
    if input._array.ndim not in (dims + 1, dims + 2):
        raise failure(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {function}, but "
            f"got input of size: {errors.shape_list(input._array.shape)}"
        )


def check_ranks(size: Shape, shape: Shape) -> None:
    """Input and weight must have as many dimensions."""
    if len(shape) != len(size):
        raise failure(
            f"Expected {len(shape)}-dimensional input for {len(shape)}-dimensional weight "
            f"{errors.shape_list(shape)}, but got {len(size)}-dimensional input of size "
            f"{errors.shape_list(size)} instead"
        )


def check_weight_rank(
    function: str, input: Tensor, weight: Tensor, dims: int, groups: int, **sizes: Any
) -> None:
    """Refuse a weight of another rank than the function's, in PyTorch's order."""
    size, shape = input._array.shape, weight._array.shape
    size = size if len(size) == dims + 2 else (1, *size)
    axes = len(shape) - 2
    if axes < 1:
        raise failure("weight should have at least three dimensions")
    if type(sizes["padding"]) is str:
        check_ranks(size, shape)
    if groups < 1:
        raise failure("non-positive groups is not supported")
    read = {}
    for name, value in sizes.items():
        # A number is one for each axis of the function, a list of one for each of the weight.
        values = integers(function, name, value)
        read[name] = per_axis(
            name, values if isinstance(value, (list, tuple)) else values * dims, axes
        )
    located(kernels.im2col.Window.of)(shape[2:], dims=axes, **read)
    check_ranks(size, shape)


def check_operands(
    input: Tensor, weight: Tensor, bias: Tensor | None, groups: int, transposed: bool,
    dilation: Shape,
) -> None:  # fmt: skip
    """Ranks, bias and dtypes, as far as the kernels do not look at them themselves."""
    shape, size = weight._array.shape, input._array.shape
    groups = operator.index(groups)
    check_ranks(size, shape)
    if bias is not None:
        _check_bias(input, shape, bias, groups, transposed)
    if weight._array.dtype != input._array.dtype:
        raise failure(
            f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}"
        )
    _check_dtype(input, transposed, dilation)


def refuse_empty_space(size: Shape) -> None:
    if 0 in size[2:] and 0 not in size[:2]:
        raise failure(
            f"Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{errors.shape_list(size)}"
        )


def _check_bias(
    input: Tensor, weight_shape: Shape, bias: Tensor, groups: int, transposed: bool
) -> None:
    channels = weight_shape[1] * groups if transposed else weight_shape[0]
    if bias._array.shape != (channels,):
        kind = "transposed=1, weight" if transposed else "weight"
        raise failure(
            f"Given {kind} of size {errors.shape_list(weight_shape)}, expected bias to be "
            f"1-dimensional with {channels} elements, but got bias of size "
            f"{errors.shape_list(bias._array.shape)} instead"
        )
    if bias._array.dtype != input._array.dtype:
        have, other = input.dtype.c_name, bias.dtype.c_name
        raise failure(f"Input type ({have}) and bias type ({other}) should be the same")


def _check_dtype(input: Tensor, transposed: bool, dilation: Shape) -> None:
    kind = input.dtype
    if kind.category >= dtypes.FLOAT:
        return
    dims = input._array.ndim - 2
    if transposed and kind is not dtypes.int64:
        raise errors.no_kernel(f"slow_conv_transpose{max(dims, 2)}d_out_cpu", input.dtype)
    if kind is not dtypes.int64 and any(step != 1 for step in dilation):
        raise errors.no_kernel("slow_conv_dilated<>", input.dtype)
    if kind.category == dtypes.BOOL:
        raise errors.no_kernel("slow_conv2d_cpu" if dims < 3 else "compute_columns3d", input.dtype)


def _same_padding(weight: Tensor, stride: Shape, dilation: Shape) -> Pads:
    """(before, after) on each axis so that the output has the input's size."""
    if any(step != 1 for step in stride):
        raise failure("padding='same' is not supported for strided convolutions")
    kernel = weight._array.shape[2:]
    if len(dilation) not in (1, len(kernel)):
        raise failure(f"dilation cannot broadcast to {len(kernel)} dimensions")
    totals = [d * (k - 1) for d, k in zip(per_axis("dilation", dilation, len(kernel)), kernel)]
    if any(total % 2 for total in totals):
        errors.warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a "
            "zero-padded copy of the input be created"
        )
    return tuple((total // 2, total - total // 2) for total in totals)


def read_pads(function: str, padding: Any, dims: int) -> Shape:
    pads = per_axis("padding", integers(function, "padding", padding), dims)
    if pads and max(pads) > _MOST_PADDING:
        dim = next(dim for dim, value in enumerate(pads) if value > _MOST_PADDING)
        raise failure(
            f"Given padding={pads[dim]} at dimension {dim} , expected padding to be at most "
            f"{_MOST_PADDING}"
        )
    return pads


def read_padding(
    function: str, padding: Any, weight: Tensor, stride: Shape, dilation: Shape
) -> Pads:
    if type(padding) is not str:
        return read_pads(function, padding, weight._array.ndim - 2)
    if padding == "same":
        return _same_padding(weight, stride, dilation)
    if padding == "valid":
        return (0,) * (weight._array.ndim - 2)
    raise failure(f"Invalid padding string: '{padding}'")
