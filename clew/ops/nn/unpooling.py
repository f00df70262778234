"""Fractional maximum pooling with random windows, and unpooling, maximum pooling's inverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.create.random import rand
from clew.ops.define.memory_layout import in_order
from clew.ops.define.rows import refuse_gradient
from clew.ops.nn.max_pooling import FRACTIONAL_MAX, PICK, Tensors
from clew.ops.nn.spatial import (
    Shape,
    batch_axis,
    failure,
    images_order,
    integers,
    located,
    require_tensor,
)

Array = np.ndarray
Ratio = float | Sequence[float] | None


# -- random windows ----------------------------------------------------------------------------

_AXIS_NAMES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _fractional(
    dims: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any,
    samples: Tensor | None,
) -> Tensors:  # fmt: skip
    name = f"fractional_max_pool{dims}d"
    require_tensor(name, "input", 1, input)
    spatial = input._array.shape[-dims:]
    if output_size is None:
        if output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output_size or an output_ratio"
                + errors.at_user_line()
            )
        output_size = [int(n * part) for n, part in zip(spatial, _ratios(name, dims, output_ratio))]
    if samples is None:
        if input._array.ndim <= dims:
            raise errors.dimension_out_of_range(-dims - 1, input._array.ndim)
        batch = 1 if input._array.ndim == dims + 1 else input._array.shape[0]
        channels = input._array.shape[-dims - 1]
        if not (input.dtype.is_floating_point or input.dtype.is_complex):
            raise errors.no_kernel("check_uniform_bounds", input.dtype)
        samples = rand(batch, channels, dims, dtype=input.dtype)
    kernels = _fractional_sizes(name, dims, "kernel_size", 2, kernel_size)
    sizes = _fractional_sizes(name, dims, "output_size", 3, output_size)
    _check_fractional(name, dims, input, kernels, sizes, samples)
    refuse_gradient(name, random_samples=samples)
    result: Tensors = FRACTIONAL_MAX[dims](input, samples, kernel_size=kernels, output_size=sizes)
    return result


def _ratios(name: str, dims: int, ratio: Any) -> Sequence[float]:
    """One part for each dimension; in two dimensions, as in PyTorch, both must be given."""
    if dims == 3 and not isinstance(ratio, Sequence):
        return (ratio,) * dims
    if dims == 2 and len(ratio) > dims:
        raise ValueError(
            f"{name} requires output_ratio to either be a single Int or tuple of Ints."
            + errors.at_user_line()
        )
    return [ratio[axis] for axis in range(dims)]


def _fractional_sizes(name: str, dims: int, argument: str, position: int, value: Any) -> Shape:
    values = integers(name, argument, value, position)
    if not isinstance(value, Sequence):
        return values * dims
    if len(values) != dims:
        ints = "Ints" if dims == 2 else "three Ints"
        raise failure(f"{name}: {argument} must either be a single Int or tuple of {ints}")
    return values


def _check_fractional(
    name: str, dims: int, input: Tensor, kernels: Shape, sizes: Shape, samples: Tensor
) -> None:
    shape = input._array.shape
    where = name if dims == 2 else f"{name}_out"
    if len(shape) not in (dims + 1, dims + 2):
        raise failure(
            f"{where}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: "
            f"{errors.shape_list(shape)}"
        )
    for dim in range(1, len(shape)):
        if shape[dim] == 0:
            raise failure(
                f"{where}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"got {errors.shape_list(shape)} with dimension {dim} being empty."
            )
    if min(kernels) < 1:
        raise ValueError(
            f"kernel_size must be greater than 0, but got {list(kernels)}" + errors.at_user_line()
        )
    for axis, width, count, size in zip(
        _AXIS_NAMES[dims], kernels, sizes, shape[-dims:], strict=True
    ):
        if count + width - 1 > size:
            raise failure(
                f"{where}(): pool {axis} {width} too large relative to input {axis} {size}"
            )
    if min(sizes) < 0:
        wrong = next(size for size in sizes if size < 0)
        raise failure(
            f"Trying to create tensor with negative dimension {wrong}: "
            f"{errors.shape_list([*shape[:-dims], *sizes])}"
        )
    batch = shape[0] if len(shape) == dims + 2 else 1
    drawn = samples._array.shape
    if len(drawn) != 3:
        raise failure(f"Expect _random_samples to have 3 dimensions, got {len(drawn)}")
    if drawn[0] < batch:
        raise failure("Expect _random_samples.size(0) no less then input batch size.")
    if drawn[1] != shape[-dims - 1]:
        raise failure("Expect _random_samples.size(1) equals to input channel size.")
    if drawn[2] != dims:
        raise failure(f"Expect _random_samples.size(2) equals to {dims}; got {drawn[2]}.")
    if samples.dtype is not input.dtype:
        raise failure("Expect _random_samples to have the same dtype as input")
    if not input.dtype.is_floating_point:
        raise errors.no_kernel(f"{name}_out_frame", input.dtype)


@casts(FLOAT32)
def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Ratio = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Tensors:  # fmt: skip
    """Alias of `fractional_max_pool2d` with `return_indices=True`."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


@casts(FLOAT32)
def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Ratio = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Tensors:  # fmt: skip
    """Alias of `fractional_max_pool3d` with `return_indices=True`."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


@typed
@casts(FLOAT32)
def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Ratio = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Tensor | Tensors:  # fmt: skip
    """Largest values of randomly placed windows over the last two dimensions.

    Args:
        input: (N, C, H, W) or (C, H, W)
        kernel_size: the size of the windows
        output_size: the size of the output
        output_ratio: that size as a part of the input's; give one of the two
        return_indices: return also where each maximum was

    Example:
        >>> F.fractional_max_pool2d(clew.randn(1, 8, 10, 10), 2, output_ratio=(0.7, 0.7)).shape
        torch.Size([1, 8, 7, 7])
    """
    pair = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return pair if return_indices else pair[0]


@typed
@casts(FLOAT32)
def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Ratio = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Tensor | Tensors:  # fmt: skip
    """Largest values of randomly placed windows over the last three dimensions.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W)
        kernel_size: the size of the windows
        output_size: the size of the output
        output_ratio: that size as a part of the input's; give one of the two
        return_indices: return also where each maximum was

    Example:
        >>> F.fractional_max_pool3d(clew.randn(1, 8, 5, 5, 5), 2, output_size=3).shape
        torch.Size([1, 8, 3, 3, 3])
    """
    pair = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return pair if return_indices else pair[0]


# -- unpooling ---------------------------------------------------------------------------------


@located
def _unpooled(self: Array, indices: Array, *, output_size: Shape) -> Array:
    dims = len(output_size)
    batch = kernels.max_pool.max_unpool(
        batch_axis(self, dims), batch_axis(indices, dims), spatial=output_size
    )
    result = batch.reshape(*self.shape[:-dims], *output_size)
    return in_order(result, images_order(self)) if dims == 2 else result


UNPOOL = {
    dims: Op(
        f"max_unpool{dims}d", _unpooled, linear=True,
        grads={
            "self": lambda g, indices, output_size: PICK(g, indices, spatial=output_size)
        },
        node=f"MaxUnpool{dims}DBackward0",
    )
    for dims in (2, 3)
}  # fmt: skip


def _unpool_size(
    input: Tensor, kernel: Shape, stride: Shape, padding: Shape, output_size: Sequence[int] | None
) -> Shape:
    """The size that was pooled: as it follows from the windows, or the given one if it can be."""
    dims = len(kernel)
    spatial = input._array.shape[-dims:]
    usual = tuple(
        (n - 1) * s + k - 2 * p for n, k, s, p in zip(spatial, kernel, stride, padding, strict=True)
    )
    if output_size is None:
        return usual
    if len(output_size) == dims + 2:
        output_size = output_size[2:]
    sizes = tuple(output_size)
    if len(sizes) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it "
            f"has a length of '{len(sizes)}'" + errors.at_user_line()
        )
    for dim, (size, expected, step) in enumerate(zip(sizes, usual, stride, strict=True)):
        if not expected - step < size < expected + step:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {dim} must be between '
                f"{expected - step} and {expected + step})" + errors.at_user_line()
            )
    return sizes


def _unpool(input: Tensor, indices: Tensor, sizes: Shape) -> Tensor:
    dims = len(sizes)
    shape = input._array.shape
    if indices.dtype is not dtypes.int64:
        raise failure(
            f"elements in indices should be type int64 but got: {indices.dtype.scalar_name}"
        )
    if len(shape) not in (dims + 1, dims + 2):
        raise failure(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but "
            f"got a tensor with {len(shape)} dimensions."
        )
    if indices._array.shape != shape:
        raise failure(
            f"Expected shape of indices to be same as that of the input tensor "
            f"({errors.shape_list(shape)}) but got indices tensor with shape: "
            f"{errors.shape_list(indices._array.shape)}"
        )
    for dim in range(len(shape) - dims - 1, len(shape)):
        if shape[dim] == 0:
            raise failure(
                f"max_unpooling{dims}d_forward_out_cpu(): Expected input to have non-zero size "
                f"for non-batch dimensions, but got {errors.shape_list(shape)} with dimension "
                f"{dim} being empty."
            )
    if not input.dtype.is_floating_point:
        raise errors.no_kernel(f"max_unpool{dims}d", input.dtype)
    result: Tensor = UNPOOL[dims](input, indices, output_size=sizes)
    return result


def _unpool_arguments(
    dims: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any
) -> tuple[Shape, Shape, Shape]:
    name = f"max_unpool{dims}d"
    require_tensor(name, "input", 1, input)
    require_tensor(name, "indices", 2, indices)
    kernels = _each_axis(name, "kernel_size", kernel_size, dims)
    steps = kernels if stride is None else _each_axis(name, "stride", stride, dims)
    return kernels, steps, _each_axis(name, "padding", padding, dims)


_ELEMENTS = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}


def _each_axis(name: str, argument: str, value: Any, dims: int) -> Shape:
    values = integers(name, argument, value)
    if not isinstance(value, Sequence):
        return values * dims
    if len(values) != dims:
        counted = _ELEMENTS[max(dims, 2)]
        raise failure(
            f"There should be exactly {counted} in output_size, but {name} got {len(values)} "
            f"entries of {argument}, for {dims} dimensions"
        )
    return values


@casts(FLOAT32)
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Put values back where `max_pool1d` found them; zero elsewhere.

    Args:
        input: the maxima
        indices: where each was, as the pooling returned them
        kernel_size: the size of the windows of the pooling
        stride: their distance; None is `kernel_size`
        padding: what the pooling had
        output_size: which of the possible sizes the output has

    Example:
        >>> row = clew.tensor([[1.0, 3.0, 2.0, 0.0]])
        >>> pooled, indices = F.max_pool1d(row, 2, return_indices=True)
        >>> F.max_unpool1d(pooled, indices, 2)
        tensor([[0., 3., 2., 0.]])
    """
    window = _unpool_arguments(1, input, indices, kernel_size, stride, padding)
    sizes = _unpool_size(input, *window, output_size)
    return _unpool(input.unsqueeze(-1), indices.unsqueeze(-1), (*sizes, 1)).squeeze(-1)


@casts(FLOAT32)
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Put values back where `max_pool2d` found them; zero elsewhere.

    Args:
        input: the maxima
        indices: where each was, as the pooling returned them
        kernel_size: the size of the windows of the pooling
        stride: their distance; None is `kernel_size`
        padding: what the pooling had
        output_size: which of the possible sizes the output has

    Example:
        >>> image = clew.tensor([[[1.0, 5.0], [2.0, 3.0]]])
        >>> pooled, indices = F.max_pool2d(image, 2, return_indices=True)
        >>> F.max_unpool2d(pooled, indices, 2)
        tensor([[[0., 5.],
                 [0., 0.]]])
    """
    window = _unpool_arguments(2, input, indices, kernel_size, stride, padding)
    return _unpool(input, indices, _unpool_size(input, *window, output_size))


@casts(FLOAT32)
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Put values back where `max_pool3d` found them; zero elsewhere.

    Args:
        input: the maxima
        indices: where each was, as the pooling returned them
        kernel_size: the size of the windows of the pooling
        stride: their distance; None is `kernel_size`
        padding: what the pooling had
        output_size: which of the possible sizes the output has

    Example:
        >>> pooled, indices = F.max_pool3d(clew.randn(1, 8, 4, 4, 4), 2, return_indices=True)
        >>> F.max_unpool3d(pooled, indices, 2).shape
        torch.Size([1, 8, 4, 4, 4])
    """
    window = _unpool_arguments(3, input, indices, kernel_size, stride, padding)
    return _unpool(input, indices, _unpool_size(input, *window, output_size))
