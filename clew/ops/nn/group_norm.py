"""Normalisations over channels of each sample: instance and group norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.kernels.codegen.ufunc import over_rows
from clew.kernels.numpy.arrays import row_by_row, widened
from clew.ops.define.memory_layout import channels_last_order, in_order
from clew.ops.nn.batch_norm import (
    ROWS,
    SHORTEST_ROW,
    affine,
    batch_normalized,
    gradients,
    writing_statistics,
)
from clew.ops.nn.layer_norm import (
    LAYER_NORM_BACKWARD_KERNEL,
    LAYER_NORM_KERNEL,
    LAYER_NORM_PARAMETERS_KERNEL,
    Gradients,
    check_norm_dtypes,
    graph_is_wanted,
    kept_statistics,
    row_statistics,
    statistics,
)
from clew.ops.nn.spatial import keeps_format

Array = np.ndarray
Shape = tuple[int, ...]

# -- instance_norm -------------------------------------------------------------------------


@public(method=False, out=False, name="instance_norm")
def _torch_instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    return _instance_normalized(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


@typed
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 of each channel of each sample.

    Args:
        input: (N, C, ...)
        running_mean, running_var: the running statistics, one number a channel; None keeps none
        weight, bias: the scale and shift of each channel; None is 1 and 0
        use_input_stats: normalise by the input itself, not by the running statistics
        momentum: the weight of the input in their update
        eps: what is added to the variance

    Example:
        >>> F.instance_norm(clew.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
        tensor([[[-1.0000,  1.0000],
                 [-1.0000,  1.0000]]])
    """
    if use_input_stats and math.prod(input._array.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
            + errors.at_user_line()
        )
    return _instance_normalized(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def _instance_normalized(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
            + errors.at_user_line()
        )
    n, c, *rest = input._array.shape
    # Every channel of every sample becomes a channel of one sample.
    flat = input.contiguous().view(1, n * c, *rest)
    weights, biases = (None if vector is None else vector.repeat(n) for vector in (weight, bias))
    # The running statistics may have a dtype of their own.
    exact = input.dtype.np not in dtypes.LOW_PRECISION
    means, variances = (
        None if vector is None else vector.to(input.dtype if exact else vector.dtype).repeat(n)
        for vector in (running_mean, running_var)
    )
    out = batch_normalized(flat, means, variances, weights, biases, use_input_stats, momentum, eps)
    for running, latest in ((running_mean, means), (running_var, variances)):
        if running is not None and latest is not None and use_input_stats:
            with writing_statistics():
                running.copy_(latest.view(n, c).mean(0))
    result: Tensor = out.view(*input._array.shape)
    return result


# -- group_norm ----------------------------------------------------------------------------


@over_rows("group_statistics", "(n),()->(),()", cost=2)
def STATISTICS_KERNEL(x: Any, eps: Any) -> Any:
    _, mean, rstd = row_statistics(x, eps)
    return mean, rstd


@keeps_format
def _group_norm(
    input: Array, weight: Array | None, bias: Array | None, *, num_groups: int, eps: float
) -> tuple[Array, Array, Array]:
    shape = input.shape
    if _has_kernels(input, weight, bias):
        return _group_norm_by_rows(row_by_row(input), weight, bias, num_groups, eps)
    x = row_by_row(widened(input)).reshape(shape[0], num_groups, _per_group(shape, num_groups))
    normal, mean, rstd, _ = statistics(x, (2,), eps)
    normal *= rstd
    out = affine(normal.reshape(shape), weight, bias, input.dtype)
    return out, mean.reshape(mean.shape[:2]), rstd.reshape(rstd.shape[:2])


def _per_group(shape: Shape, num_groups: int) -> int:
    return math.prod(shape[1:]) // num_groups


def _has_kernels(input: Array, *others: Array | None) -> bool:
    if any(other is not None and other.dtype is not input.dtype for other in others):
        return False
    return bool(input.size) and LAYER_NORM_KERNEL.specialize(input) is not None


def channels_are_long(shape: Shape) -> bool:
    """Whether a channel of a sample makes a row; otherwise the group does, as in layer_norm."""
    return math.prod(shape[2:]) >= SHORTEST_ROW


def _along_groups(vector: Array | None, default: float, like: Array, num_groups: int) -> Array:
    """Numbers per channel, repeated for every element of the rows that are groups."""
    size = like[0].size
    if vector is None:
        return np.full((num_groups, size // num_groups), default, like.dtype)
    return vector.repeat(size // vector.size).reshape(num_groups, -1)


def _per_channel(per_group: Array, channels: int) -> Array:
    """(N, groups) as (N, channels)."""
    return per_group.repeat(channels // per_group.shape[1], 1)


def _group_norm_by_rows(
    input: Array, weight: Array | None, bias: Array | None, num_groups: int, eps: float
) -> tuple[Array, Array, Array]:
    shape, small = input.shape, input.dtype.type(eps)
    groups = input.reshape(shape[0], num_groups, -1)
    if not channels_are_long(shape):
        factor = _along_groups(weight, 1, input, num_groups)
        offset = _along_groups(bias, 0, input, num_groups)
        out, mean, rstd = LAYER_NORM_KERNEL.ufunc(groups, factor, offset, small)
        return out.reshape(shape), mean, rstd
    mean, rstd = STATISTICS_KERNEL.ufunc(groups, small)
    scale = _per_channel(rstd, shape[1])
    if weight is not None:
        scale *= weight
    shift = np.zeros(1, input.dtype) if bias is None else bias
    rows = input.reshape(*shape[:2], -1)
    out = ROWS.affine.ufunc(rows, _per_channel(mean, shape[1]), scale, shift)
    return out.reshape(shape), mean, rstd


def _group_norm_gradients(
    g: tuple[Tensor | None, ...],
    input: Tensor,
    weight: Tensor | None,
    out1: Tensor,
    out2: Tensor,
    num_groups: int,
    eps: float,
    needs: tuple[bool, ...],
) -> Gradients:
    shape = input._array.shape
    factor = None if weight is None else weight._array
    grad, mean, rstd = g[0], out1._array, out2._array
    if grad is None:
        return None, None, None
    if not graph_is_wanted() and _has_kernels(input._array, grad._array, factor):
        by_rows = _gradients_by_channels if channels_are_long(shape) else _gradients_by_groups
        found = by_rows(
            row_by_row(grad._array), row_by_row(input._array), factor, mean, rstd, needs
        )
        order = channels_last_order(input._array)
        if order is None or found[0] is None:
            return found
        return wrap(in_order(found[0]._array, order)), *found[1:]
    grouped = (shape[0], num_groups, _per_group(shape, num_groups))
    mean, rstd = kept_statistics(input, weight, out1, out2)
    return gradients(
        grad, input, weight, grouped, (2,), mean[:, :, None], rstd[:, :, None], eps, needs
    )


def _gradients_by_channels(
    g: Array, x: Array, weight: Array | None, mean: Array, rstd: Array, needs: tuple[bool, ...]
) -> Gradients:
    """The row sums of each channel; the gradients follow from them."""
    samples, channels = x.shape[:2]
    gradient, rows = (each.reshape(samples, channels, -1) for each in (g, x))
    means, rstds = _per_channel(mean, channels), _per_channel(rstd, channels)
    total, along = ROWS.gradient_sums.ufunc(gradient, rows, means)
    along *= rstds
    of_weight = wrap(np.add.reduce(along, axis=0)) if needs[1] else None
    of_bias = wrap(np.add.reduce(total, axis=0)) if needs[2] else None
    if not needs[0]:
        return None, of_weight, of_bias
    of_g = rstds if weight is None else rstds * weight
    if weight is not None:
        total, along = total * weight, along * weight
    count = x.size // mean.size
    in_groups = (*mean.shape, -1)
    of_total, of_along = (
        _per_channel(np.add.reduce(each.reshape(in_groups), axis=2) / count, channels)
        for each in (total, along)
    )
    through = ROWS.gradient.ufunc(
        gradient, rows, means, of_g, -rstds * rstds * of_along, -rstds * of_total
    )
    return wrap(through.reshape(x.shape)), of_weight, of_bias


def _gradients_by_groups(
    g: Array, x: Array, weight: Array | None, mean: Array, rstd: Array, needs: tuple[bool, ...]
) -> Gradients:
    num_groups, channels = mean.shape[1], x.shape[1]
    gradient, groups = (each.reshape(*mean.shape, -1) for each in (g, x))
    of_input = of_weight = of_bias = None
    if needs[0]:
        factor = _along_groups(weight, 1, x, num_groups)
        through = LAYER_NORM_BACKWARD_KERNEL.ufunc(gradient, groups, factor, mean, rstd)
        of_input = wrap(through.reshape(x.shape))
    if needs[1] or needs[2]:
        by_group = (each.swapaxes(0, 1) for each in (gradient, groups, mean, rstd))
        of_weight, of_bias = (
            wrap(np.add.reduce(each.reshape(channels, -1), axis=1)) if needed else None
            for each, needed in zip(LAYER_NORM_PARAMETERS_KERNEL.ufunc(*by_group), needs[1:])
        )
    return of_input, of_weight, of_bias


GROUP_NORM = Op(
    "native_group_norm", _group_norm, joint=_group_norm_gradients, outputs=3,
    node="NativeGroupNormBackward0",
)  # fmt: skip


@public(method=False, out=False, name="group_norm")
def _torch_group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    return _group_normalized(input, num_groups, weight, bias, eps)


@typed
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 of each group of channels of each sample.

    Args:
        input: (N, C, ...)
        num_groups: the number of groups, which divides the number of channels
        weight, bias: the scale and shift of each channel; None is 1 and 0
        eps: what is added to the variance

    Example:
        >>> F.group_norm(clew.tensor([[1.0, 3.0, 10.0, 30.0]]), num_groups=2)
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
            + errors.at_user_line()
        )
    if shape[0] * (shape[1] // num_groups) * math.prod(shape[2:]) == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{errors.shape_list(shape)}" + errors.at_user_line()
        )
    array = input._array
    if not array.flags.c_contiguous and channels_last_order(array) is None:
        # As in PyTorch, it is the copy that backward needs.
        input = input.contiguous()
    return _group_normalized(input, num_groups, weight, bias, eps)


def _group_normalized(
    input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    shape = input._array.shape
    if num_groups <= 0:
        raise RuntimeError(
            f"Expected num groups to be greater than 0, got {num_groups}" + errors.at_user_line()
        )
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {errors.shape_list(shape)} and num_groups={num_groups}" + errors.at_user_line()
        )
    for name, vector in (("weight", weight), ("bias", bias)):
        if vector is not None and vector._array.shape != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {errors.shape_list(vector._array.shape)} and input of "
                f"shape {errors.shape_list(shape)}" + errors.at_user_line()
            )
    check_norm_dtypes("GroupNormKernelImpl", input, weight, bias)
    result: tuple[Tensor, ...] = GROUP_NORM(input, weight, bias, num_groups=num_groups, eps=eps)
    return result[0]
