"""Maximum pooling: fixed, adaptive and fractional windows, and its partial inverse.

A maximum picks elements by index. Given the indices picking is linear, and its adjoint is the
scattering of the gradient to those places; each of the two is the other's gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops.define.memory_layout import channels_last_order, in_order
from clew.ops.define.zero_share import zero_share
from clew.ops.nn.average_pooling import (
    Order,
    check_adaptive_gradient,
    check_adaptive_input,
    check_line_rank,
    one_int,
    size_absent,
)
from clew.ops.nn.max_pool1d_arguments import check_line, line_size
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
Pair = tuple[Array, Array]
Tensors = tuple[Tensor, Tensor]
# What an index takes in memory.
INDEX_BYTES = 8


# -- picking and scattering --------------------------------------------------------------------


def _picked(self: Array, indices: Array, *, spatial: Shape) -> Array:
    dims = len(spatial)
    batch = kernels.max_pool.gather_by_index(batch_axis(self, dims), batch_axis(indices, dims))
    return batch.reshape(indices.shape)


@located
def _scattered(
    grad_output: Array, indices: Array, *, spatial: Shape, unique: bool, order: Order = None,
    adaptive: bool = False,
) -> Array:  # fmt: skip
    dims = len(spatial)
    if adaptive:
        check_adaptive_gradient(f"adaptive_max_pool{dims}d", grad_output, dims)
    batch = kernels.max_pool.scatter_by_index(
        batch_axis(grad_output, dims), batch_axis(indices, dims), spatial=spatial, unique=unique
    )
    return in_order(batch.reshape(*grad_output.shape[:-dims], *spatial), order)


PICK: Op = Op(
    "max_pool_pick", _picked, linear=True,
    grads={
        "self": lambda g, indices, spatial: SCATTER(g, indices, spatial=spatial, unique=False)
    },
)  # fmt: skip
SCATTER: Op = Op(
    "max_pool_backward", _scattered, linear=True,
    grads={"grad_output": lambda g, indices, spatial: PICK(g, indices, spatial=spatial)},
)  # fmt: skip


def _pooled_op(name: str, forward: Any, dims: int, node: str, windows: bool = False) -> Op:
    """An operation that gives values and indices; as in PyTorch it saves its input too."""
    adaptive = name.startswith("adaptive")
    shared = zero_share(node.replace("Backward0", "BackwardBackward0"))

    def plain(g: tuple[Tensor, ...], self: Tensor, out1: Tensor) -> Tensor:
        result: Tensor = SCATTER(
            g[0], out1, spatial=self._array.shape[-dims:], unique=False, adaptive=adaptive,
            order=images_order(self._array) if adaptive and dims == 2 else None,
        )  # fmt: skip
        return shared(result, self)

    def windowed(
        g: tuple[Tensor, ...], self: Tensor, out1: Tensor, kernel_size: Shape, stride: Shape,
        padding: Shape, dilation: Shape, ceil_mode: bool,
    ) -> Tensor:  # fmt: skip
        spatial = self._array.shape[-dims:]
        apart = all(
            s >= d * (k - 1) + 1 for k, s, d in zip(kernel_size, stride, dilation, strict=True)
        )
        grad, index = g[0], out1
        if kernels.max_pool.has_empty_windows(
            spatial, kernel_size, stride, padding, dilation, ceil_mode
        ):
            # What lies wholly in the padding has no element that a gradient could go to.
            grad, index, apart = grad.masked_fill(index < 0, 0.0), index.clamp(min=0), False
        order = channels_last_order(self._array) if self._array.ndim == dims + 2 else None
        result: Tensor = SCATTER(grad, index, spatial=spatial, unique=apart, order=order)
        return shared(result, self)

    return Op(
        name, forward, outputs=2, node=node, grads={"self": windowed if windows else plain},
        kinks="the first of equal values gets the whole gradient",
    )  # fmt: skip


@located
def _max_pooled(
    self: Array, *, kernel_size: Shape, stride: Shape, padding: Shape, dilation: Shape,
    ceil_mode: bool,
) -> Pair:  # fmt: skip
    batch = batch_axis(self, len(kernel_size))
    values, indices = kernels.max_pool.max_pool(
        batch, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation,
        ceil_mode=ceil_mode,
    )  # fmt: skip
    if batch is self:
        order = channels_last_order(self)
        return in_order(values, order), in_order(indices, order)
    # Of single ones only volumes keep their format.
    order = (1, 2, 3, 0) if _is_volume_with_channels_last(self) else None
    return in_order(values[0], order), in_order(indices[0], order)


def _is_volume_with_channels_last(array: Array) -> bool:
    if array.ndim != 4 or array.flags.c_contiguous:
        return False
    return array.transpose(1, 2, 3, 0).flags.c_contiguous


@located
def _adaptive_max(self: Array, *, output_size: Shape) -> Pair:
    batch = batch_axis(self, len(output_size))
    values, indices = kernels.max_pool.adaptive_max_pool(batch, output_size=output_size)
    if batch is not self:
        return values[0], indices[0]
    order = images_order(self)
    return in_order(values, order), in_order(indices, order)


@located
def _fractional_max(self: Array, samples: Array, *, kernel_size: Shape, output_size: Shape) -> Pair:
    batch = batch_axis(self, len(output_size))
    values, indices = kernels.max_pool.fractional_max_pool(
        batch, kernel_size=kernel_size, output_size=output_size, samples=samples
    )
    return (values, indices) if batch is self else (values[0], indices[0])


MAX = {
    dims: _pooled_op(
        f"max_pool{dims}d_with_indices", _max_pooled, dims, f"MaxPool{dims}DWithIndicesBackward0",
        windows=True,
    )
    for dims in (2, 3)
}  # fmt: skip
ADAPTIVE_MAX = {
    dims: _pooled_op(
        f"adaptive_max_pool{dims}d", _adaptive_max, dims, f"AdaptiveMaxPool{dims}DBackward0"
    )
    for dims in (2, 3)
}
FRACTIONAL_MAX = {
    dims: _pooled_op(
        f"fractional_max_pool{dims}d", _fractional_max, dims,
        f"FractionalMaxPool{dims}DBackward0",
    )
    for dims in (2, 3)
}  # fmt: skip


# -- fixed windows -----------------------------------------------------------------------------


def _max_pool(
    dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> Tensors:  # fmt: skip
    name = f"max_pool{dims}d"
    require_tensor(name, "input", 1, input)
    kernels, steps, pads, spacing = pool_sizes(name, dims, kernel_size, stride, padding, dilation)
    shape = input._array.shape
    check_pool_rank(dims, shape)
    check_pool_sizes(name, shape, kernels, steps, pads, spacing, ceil_mode)
    if input.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise errors.no_kernel(name, input.dtype)
    result: Tensors = MAX[dims](
        input, kernel_size=kernels, stride=steps, padding=pads, dilation=spacing,
        ceil_mode=bool(ceil_mode),
    )  # fmt: skip
    return result


_FEW_SHIFTS = 8  # comparisons of whole rows that take less time than looking for indices


def _line_maxima(
    self: Array, *, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> Array:
    return kernels.max_pool.line_maxima(self, kernel, stride, padding, dilation, ceil_mode)


LINE_MAXIMA = Op("max_pool1d_values", _line_maxima, non_differentiable="used without grad")


def _needs_values_only(input: Tensor) -> bool:
    """Whether nobody asks where the maxima were: floats without a history to come."""
    state, dtype = local.state, input.dtype
    is_plain = state.intercept is None and not state.dual and dtype.is_floating_point
    return is_plain and not (input.requires_grad and state.grad_enabled)


def _max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    with_indices: bool,
) -> Tensors:  # fmt: skip
    require_tensor("max_pool1d", "input", 1, input)
    width = line_size("kernel_size", kernel_size)
    step = width if size_absent(stride) else line_size("stride", stride)
    pad, spacing = line_size("padding", padding), line_size("dilation", dilation)
    check_line(input, width, step, pad, spacing, ceil_mode, with_indices)
    if not with_indices and width <= _FEW_SHIFTS and _needs_values_only(input):
        sizes = {"kernel": width, "stride": step, "padding": pad, "dilation": spacing}
        return LINE_MAXIMA(input, **sizes, ceil_mode=bool(ceil_mode)), input
    values, indices = _max_pool(
        2, input.unsqueeze(-2), (1, width), (1, step), (0, pad), (1, spacing), ceil_mode
    )
    return values.squeeze(-2), indices.squeeze(-2)


@public(method=False, out=False)
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Tensors:  # fmt: skip
    """Alias of `max_pool1d` with `return_indices=True`."""
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Tensors:  # fmt: skip
    """Alias of `max_pool2d` with `return_indices=True`."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Tensors:  # fmt: skip
    """Alias of `max_pool3d` with `return_indices=True`."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)


@public(checked=True, method=False, out=False)
def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor | Tensors:  # fmt: skip
    """Largest values of windows along the last dimension.

    Args:
        input: (N, C, L) or (C, L)
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: how far windows reach over each edge, at most half their size
        dilation: the distance between the elements of a window
        ceil_mode: let the last window start inside even if it ends outside
        return_indices: return also where each maximum was

    Example:
        >>> F.max_pool1d(clew.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[3., 2.]])
    """
    # As in PyTorch the words of an error depend on whether indices are asked for.
    pair = _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return pair if return_indices else pair[0]


@public(checked=True, method=False, out=False)
def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor | Tensors:  # fmt: skip
    """Largest values of windows over the last two dimensions.

    Args:
        input: (N, C, H, W) or (C, H, W)
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: how far windows reach over each edge, at most half their size
        dilation: the distance between the elements of a window
        ceil_mode: let the last window start inside even if it ends outside
        return_indices: return also where each maximum was

    Example:
        >>> F.max_pool2d(clew.arange(16.0).reshape(1, 4, 4), 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """
    pair = _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


@public(checked=True, method=False, out=False)
def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor | Tensors:  # fmt: skip
    """Largest values of windows over the last three dimensions.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W)
        kernel_size: the size of the windows
        stride: the distance between windows; None is `kernel_size`
        padding: how far windows reach over each edge, at most half their size
        dilation: the distance between the elements of a window
        ceil_mode: let the last window start inside even if it ends outside
        return_indices: return also where each maximum was

    Example:
        >>> F.max_pool3d(clew.zeros(1, 8, 4, 6, 6), 2).shape
        torch.Size([1, 8, 2, 3, 3])
    """
    pair = _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


# -- adaptive windows --------------------------------------------------------------------------


def _adaptive_max_pool(dims: int, input: Tensor, output_size: Any) -> Tensors:
    name = f"adaptive_max_pool{dims}d"
    require_tensor(name, "input", 1, input)
    sizes = integers(name, "output_size", size_or_default(output_size, input._array.shape), 2)
    if type(output_size) is int:
        sizes = sizes * dims
    check_adaptive_input(name, dims, input, colon=":")
    if len(sizes) != dims:
        raise failure(f"{name}(): internal error: output_size.size() must be {dims}")
    if min(sizes) < 0:
        lead = input._array.shape[:-dims]
        wrong = next(size for size in sizes if size < 0)
        raise failure(
            f"Trying to create tensor with negative dimension {wrong}: "
            f"{errors.shape_list([*lead, *sizes])}"
        )
    if not input.dtype.is_floating_point:
        raise errors.no_kernel(name if dims == 2 else f"{name}_cpu", input.dtype)
    check_room((*input._array.shape[:-dims], *sizes), INDEX_BYTES)
    result: Tensors = ADAPTIVE_MAX[dims](input, output_size=sizes)
    return result


@public(name="adaptive_max_pool1d", method=False, out=False)
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensors:
    """Alias of `adaptive_max_pool1d` with `return_indices=True`."""
    sizes = one_int("adaptive_max_pool1d", "output_size", output_size)
    check_line_rank("adaptive_max_pool1d", input)
    if 0 in input._array.shape[1:]:
        check_adaptive_input("adaptive_max_pool1d", 1, input)
    values, indices = _adaptive_max_pool(2, input.unsqueeze(-2), (1, *sizes))
    return values.squeeze(-2), indices.squeeze(-2)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensors:
    """Alias of `adaptive_max_pool2d` with `return_indices=True`."""
    return _adaptive_max_pool(2, input, output_size)


@casts(FLOAT32)
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensors:
    """Alias of `adaptive_max_pool3d` with `return_indices=True`."""
    return _adaptive_max_pool(3, input, output_size)


def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensor | Tensors:
    """Largest values of so many nearly equal windows along the last dimension.

    Args:
        input: (N, C, L) or (C, L)
        output_size: the number of windows
        return_indices: return also where each maximum was

    Example:
        >>> F.adaptive_max_pool1d(clew.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[3., 2.]])
    """
    pair = adaptive_max_pool1d_with_indices(input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensor | Tensors:
    """Largest values of so many nearly equal windows; None keeps a dimension's size.

    Args:
        input: (N, C, H, W) or (C, H, W)
        output_size: one number for both dimensions, or a pair
        return_indices: return also where each maximum was

    Example:
        >>> F.adaptive_max_pool2d(clew.zeros(1, 8, 5, 6), (2, None)).shape
        torch.Size([1, 8, 2, 6])
    """
    pair = _adaptive_max_pool(2, input, output_size)
    return pair if return_indices else pair[0]


@casts(FLOAT32)
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensor | Tensors:
    """Largest values of so many nearly equal windows; None keeps a dimension's size.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W)
        output_size: one number for all dimensions, or three
        return_indices: return also where each maximum was

    Example:
        >>> F.adaptive_max_pool3d(clew.zeros(1, 8, 5, 6, 7), 2).shape
        torch.Size([1, 8, 2, 2, 2])
    """
    pair = _adaptive_max_pool(3, input, output_size)
    return pair if return_indices else pair[0]
