"""Average pooling, fixed and adaptive.

An average is linear, and its adjoint is an operation whose gradient is the average again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.public import public, with_out
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.define import out_checks
from clew.ops.define.memory_layout import channels_last_order, in_order
from clew.ops.define.zero_share import zero_share
from clew.ops.nn.spatial import (
    Shape,
    batch_axis,
    check_pool_rank,
    check_pool_sizes,
    check_room,
    failure,
    images_order,
    integers,
    located,
    pool_sizes,
    require_tensor,
    size_or_default,
)

Array = np.ndarray
# The order in memory of a gradient, as its input has it; None is row by row.
Order = tuple[int, ...] | None
# A network asks for the same few again and again.
_known_sizes = functools.lru_cache(maxsize=256)(pool_sizes)
_check_known = functools.lru_cache(maxsize=256)(check_pool_sizes)


@located
def _averaged(
    self: Array, *, kernel_size: Shape, stride: Shape, padding: Shape, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Array:  # fmt: skip
    batch = batch_axis(self, len(kernel_size))
    options: dict[str, Any] = {
        "kernel_size": kernel_size, "stride": stride, "padding": padding, "ceil_mode": ceil_mode,
        "count_include_pad": count_include_pad,
    }  # fmt: skip
    average = _integer_average if self.dtype.kind == "i" else kernels.average_pool.avg_pool
    result: Array = average(batch, divisor_override=divisor_override, **options)
    return in_order(result, images_order(self)) if batch is self else result[0]


def _integer_average(x: Array, *, divisor_override: int | None, **options: Any) -> Array:
    """Sums divided by the number of elements, rounded towards zero."""
    values, ones = x.astype(np.float64), np.ones((1, 1, *x.shape[2:]))
    sums = np.rint(kernels.average_pool.avg_pool(values, divisor_override=1, **options))
    if divisor_override is not None:
        divisors: Any = divisor_override
    else:
        counted = kernels.average_pool.avg_pool(ones, divisor_override=1, **options)
        divisors = np.rint(counted / kernels.average_pool.avg_pool(ones, **options))
    return np.trunc(sums / divisors).astype(x.dtype)


@located
def _averaged_adjoint(
    grad_output: Array, *, input_shape: Shape, kernel_size: Shape, stride: Shape, padding: Shape,
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None, order: Order = None,
) -> Array:  # fmt: skip
    batch = batch_axis(grad_output, len(kernel_size))
    result: Array = kernels.average_pool.avg_pool_adjoint(
        batch, input_shape=(1, *input_shape)[-batch.ndim :], kernel_size=kernel_size,
        stride=stride, padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        divisor_override=divisor_override,
    )  # fmt: skip
    return in_order(result if batch is grad_output else result[0], order)


# As in PyTorch the input is saved, although only its shape is used.
def _of_average(
    g: Tensor, self: Tensor, kernel_size: Shape, stride: Shape, padding: Shape, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    result: Tensor = ADJOINTS[len(kernel_size)](
        g, input_shape=self._array.shape, kernel_size=kernel_size, stride=stride, padding=padding,
        ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        divisor_override=divisor_override, order=images_order(self._array),
    )  # fmt: skip
    return _SHARES[len(kernel_size)](result, self)


def _of_average_adjoint(
    g: Tensor, kernel_size: Shape, stride: Shape, padding: Shape, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    result: Tensor = AVERAGES[len(kernel_size)](
        g, kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode,
        count_include_pad=count_include_pad, divisor_override=divisor_override,
    )  # fmt: skip
    return result


AVERAGES = {
    dims: Op(
        f"avg_pool{dims}d", _averaged, grads={"self": _of_average}, linear=True,
        node=f"AvgPool{dims}DBackward0",
    )
    for dims in (2, 3)
}  # fmt: skip
ADJOINTS = {
    dims: Op(
        f"avg_pool{dims}d_backward", _averaged_adjoint, linear=True,
        grads={"grad_output": _of_average_adjoint}, node=f"AvgPool{dims}DBackwardBackward0",
    )
    for dims in (2, 3)
}  # fmt: skip
_SHARES = {dims: zero_share(f"AvgPool{dims}DBackwardBackward0") for dims in (2, 3)}


# -- adaptive ----------------------------------------------------------------------------------


def check_adaptive_gradient(name: str, grad: Array, dims: int) -> None:
    """Nothing can be sent back from a result without elements: PyTorch refuses, too."""
    for dim in range(grad.ndim - dims, grad.ndim):
        if grad.shape[dim] == 0:
            raise RuntimeError(
                f"{name}_backward(): Expected grad_output to have non-zero size for non-batch "
                f"dimensions, but grad_output has sizes {errors.shape_list(grad.shape)} with "
                f"dimension {dim} being empty"
            )


@located
def _adaptive(self: Array, *, output_size: Shape) -> Array:
    batch = batch_axis(self, len(output_size))
    result: Array = kernels.average_pool.adaptive_avg_pool(batch, output_size=output_size)
    return in_order(result, images_order(self)) if batch is self else result[0]


@located
def _adaptive_adjoint(
    grad_output: Array, *, input_shape: Shape, dims: int, order: Order = None
) -> Array:
    check_adaptive_gradient(f"adaptive_avg_pool{dims}d", grad_output, dims)
    batch = batch_axis(grad_output, dims)
    shape = (1, *input_shape)[-batch.ndim :]
    result: Array = kernels.average_pool.adaptive_avg_pool_adjoint(batch, input_shape=shape)
    return in_order(result if batch is grad_output else result[0], order)


def _of_adaptive(g: Tensor, self: Tensor, output_size: Shape) -> Tensor:
    dims = len(output_size)
    result = ADAPTIVE_ADJOINTS[dims](
        g, input_shape=self._array.shape, dims=dims, order=images_order(self._array)
    )
    return _ADAPTIVE_SHARES[dims](result, self)


ADAPTIVE: dict[int, Op] = {
    dims: Op(
        f"_adaptive_avg_pool{dims}d", _adaptive, linear=True, grads={"self": _of_adaptive},
        node=f"AdaptiveAvgPool{dims}DBackward0",
    )
    for dims in (2, 3)
}  # fmt: skip
_ADAPTIVE_SHARES = {dims: zero_share(f"AdaptiveAvgPool{dims}DBackwardBackward0") for dims in (2, 3)}
ADAPTIVE_ADJOINTS: dict[int, Op] = {
    dims: Op(
        f"_adaptive_avg_pool{dims}d_backward", _adaptive_adjoint, linear=True,
        grads={
            "grad_output": lambda g, grad_output_shape, dims: ADAPTIVE[dims](
                g, output_size=grad_output_shape[-dims:]
            )
        },
        node=f"AdaptiveAvgPool{dims}DBackwardBackward0",
    )
    for dims in (2, 3)
}  # fmt: skip


# -- functions ---------------------------------------------------------------------------------


def _average(
    name: str, dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any,
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
) -> Tensor:  # fmt: skip
    require_tensor(name, "input", 1, input)
    # Floats equal to integers must not find what is known of those.
    given = (kernel_size, stride, padding)
    plain = all(value is None or type(value) is int for value in given)
    kernels, steps, pads, _ = (_known_sizes if plain else pool_sizes)(name, dims, *given)
    shape = input._array.shape
    if dims == 3:
        check_pool_rank(dims, shape)
    _check_known(name, shape, kernels, steps, pads, (1,) * dims, bool(ceil_mode))
    if divisor_override == 0:
        raise failure("divisor must be not zero")
    is_taken = input.dtype.is_floating_point and (dims == 2 or input.dtype.itemsize > 2)
    if not (is_taken or input.dtype is dtypes.int64):
        raise errors.no_kernel("avg_pool2d" if dims == 2 else "avg_pool3d_out_frame", input.dtype)
    result: Tensor = AVERAGES[dims](
        input, kernel_size=kernels, stride=steps, padding=pads, ceil_mode=bool(ceil_mode),
        count_include_pad=bool(count_include_pad), divisor_override=divisor_override,
    )  # fmt: skip
    return result


_POSITIONS = {"kernel_size": 2, "stride": 3, "padding": 4, "output_size": 2}


def one_int(name: str, argument: str, value: Any) -> Shape:
    """The single entry that an argument of a one-dimensional pooling may have."""
    values = integers(name, argument, value, _POSITIONS[argument])
    if len(values) != 1:
        raise failure(f"{name}() argument '{argument}' should contain one int (got {len(values)})")
    return values


def check_line_rank(name: str, input: Tensor) -> None:
    """One-dimensional pooling takes (N, C, L) or (C, L)."""
    require_tensor(name, "input", 1, input)
    if input._array.ndim not in (2, 3):
        raise failure(
            f"Expected 2 to 3 dimensions, but got {input._array.ndim}-dimensional tensor for "
            f"argument #1 'self' (while checking arguments for {name})"
        )


@public(checked=True, method=False, out=False)
def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """Averages of windows along the last dimension.

    Args:
        input: (N, C, L) or (C, L)
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: zeros at each edge, at most half a window
        ceil_mode: let the last window start inside even if it ends outside
        count_include_pad: whether the padding counts as elements of the mean

    Example:
        >>> F.avg_pool1d(clew.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[2., 1.]])
    """
    kernels = one_int("avg_pool1d", "kernel_size", kernel_size)
    steps = kernels if size_absent(stride) else one_int("avg_pool1d", "stride", stride)
    pads = one_int("avg_pool1d", "padding", padding)
    check_line_rank("avg_pool1d", input)
    plane = _average(
        "avg_pool2d", 2, input.unsqueeze(-2), (1, *kernels), (1, *steps), (0, *pads), ceil_mode,
        count_include_pad, None,
    )  # fmt: skip
    return plane.squeeze(-2)


def size_absent(stride: Any) -> bool:
    """Whether the stride is left to be the kernel size."""
    return stride is None or (isinstance(stride, Sequence) and not stride)


_takes_out = functools.partial(with_out, prepare=out_checks.input_dtype())


@_takes_out
@typed
def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """Averages of windows over the last two dimensions.

    Args:
        input: (N, C, H, W) or (C, H, W)
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: zeros at each edge, at most half a window
        ceil_mode: let the last window start inside even if it ends outside
        count_include_pad: whether the padding counts as elements of the mean
        divisor_override: what the sums are divided by; None is the size of the window

    Example:
        >>> F.avg_pool2d(clew.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """
    return _average(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


@_takes_out
@typed
@casts(FLOAT32)
def avg_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """Averages of windows over the last three dimensions.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W)
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: zeros at each edge, at most half a window
        ceil_mode: let the last window start inside even if it ends outside
        count_include_pad: whether the padding counts as elements of the mean
        divisor_override: what the sums are divided by; None is the size of the window

    Example:
        >>> F.avg_pool3d(clew.zeros(1, 8, 4, 6, 6), 2).shape
        torch.Size([1, 8, 2, 3, 3])
    """
    return _average(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def check_adaptive_input(
    name: str, dims: int, input: Tensor, colon: str = "", images_without_channels: bool = False
) -> None:
    """Rank of the input, and that only its batch may be empty; of some also the channels."""
    shape = input._array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise failure(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} "
            f"{errors.shape_list(shape)}"
        )
    first = len(shape) - dims if images_without_channels else 1
    for dim in range(first, len(shape)):
        if shape[dim] == 0:
            raise failure(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {errors.shape_list(shape)} with dimension {dim} being empty"
            )


def _adaptive_average(dims: int, input: Tensor, output_size: Any) -> Tensor:
    name = f"adaptive_avg_pool{dims}d"
    require_tensor(name, "input", 1, input)
    sizes = integers(name, "output_size", size_or_default(output_size, input._array.shape), 2)
    if type(output_size) is int:
        sizes = sizes * dims
    if len(sizes) != dims:
        raise failure(f"{name}: output_size must be {dims}")
    if min(sizes) < 0:
        listed = ", ".join(map(str, sizes)) if dims == 2 else "{}, {},{}".format(*sizes)
        raise failure(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{listed}}}"
        )
    # A single window is a mean, which takes inputs of any rank that has the dimensions.
    if set(sizes) == {1}:
        mean = input.mean(tuple(range(-1, -dims - 1, -1)), keepdim=True)
        is_image = input._array.ndim == dims + 2 and not input._is_lifted
        if not is_image or channels_last_order(input._array) is None:
            return mean
        channels = mean._array.shape[1]
        return mean.as_strided_(mean.shape, (channels, 1, *(channels,) * dims))
    check_adaptive_input(name, dims, input, images_without_channels=dims == 2)
    if not input.dtype.is_floating_point:
        raise errors.no_kernel(name if dims == 2 else "adaptive_avg_pool3d_cpu", input.dtype)
    check_room((*input._array.shape[:-dims], *sizes), input._array.itemsize)
    result: Tensor = ADAPTIVE[dims](input, output_size=sizes)
    return result


@public(method=False, out=False)
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Averages over so many nearly equal windows along the last dimension.

    Args:
        input: (N, C, L) or (C, L)
        output_size: the number of windows

    Example:
        >>> F.adaptive_avg_pool1d(clew.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[2., 1.]])
    """
    sizes = one_int("adaptive_avg_pool1d", "output_size", output_size)
    check_line_rank("adaptive_avg_pool1d", input)
    return _adaptive_average(2, input.unsqueeze(-2), (1, *sizes)).squeeze(-2)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Averages over so many nearly equal windows; None keeps a dimension's size.

    Args:
        input: (N, C, H, W) or (C, H, W)
        output_size: one number for both dimensions, or a pair

    Example:
        >>> F.adaptive_avg_pool2d(clew.zeros(1, 8, 5, 6), 1).shape
        torch.Size([1, 8, 1, 1])
    """
    return _adaptive_average(2, input, output_size)


@casts(FLOAT32)
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Averages over so many nearly equal windows; None keeps a dimension's size.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W)
        output_size: one number for all dimensions, or three

    Example:
        >>> F.adaptive_avg_pool3d(clew.zeros(1, 8, 5, 6, 7), (2, None, 1)).shape
        torch.Size([1, 8, 2, 6, 1])
    """
    return _adaptive_average(3, input, output_size)
