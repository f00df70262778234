"""Normalisations over the batch or over groups of channels: batch, instance and group norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.core.arguments import typed
from clew.core.inplace import apply_inplace
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, tangent_of, wrap
from clew.kernels.arrays import widened
from clew.kernels.native.ufunc import over_rows
from clew.ops.dims import require_bool
from clew.ops.normalization import (
    Gradients,
    back_through_statistics,
    check_norm_dtypes,
    composed_gradient,
    composed_normal,
    graph_is_wanted,
    reciprocal_root,
    statistics,
)
from clew.ops.rows import Row
from clew.ops.spatial import keeps_format

Array = np.ndarray
Dims = tuple[int, ...]
Shape = tuple[int, ...]


def _per_channel(vector: Array, ndim: int) -> Array:
    """A vector over channels, shaped to broadcast against (N, C, ...)."""
    return vector.reshape(-1, *(1,) * (ndim - 2))


def _all_but_channels(ndim: int) -> Dims:
    return (0, *range(2, ndim))


def _affine(normal: Array, weight: Array | None, bias: Array | None, dtype: np.dtype) -> Array:
    """Scale and shift each channel, in place, and round to the input's dtype."""
    if weight is not None:
        normal *= _per_channel(weight, normal.ndim)
    if bias is not None:
        normal += _per_channel(bias, normal.ndim)
    return normal.astype(dtype, copy=False)


# -- gradients through the statistics ------------------------------------------------------


def _gradients(
    grad: Tensor | None,
    input: Tensor,
    weight: Tensor | None,
    grouped: Shape,
    dims: Dims,
    mean: Array,
    rstd: Array,
    eps: float,
    needs: tuple[bool, ...],
) -> Gradients:
    """Of input, weight and bias, where statistics were taken over `dims` of the grouped input."""
    if grad is None:
        return None, None, None
    if graph_is_wanted():
        return _composed_gradients(grad, input, weight, grouped, dims, eps, needs)
    shape = input._array.shape
    others = _all_but_channels(len(shape))
    gradient = widened(grad._array)
    of_bias = wrap(np.add.reduce(gradient, axis=others)) if needs[2] else None
    values = widened(input._array).reshape(grouped) - mean
    values *= rstd
    of_weight = of_input = None
    if needs[1]:
        of_weight = wrap(np.add.reduce(gradient * values.reshape(shape), axis=others))
    if needs[0]:
        if weight is None:
            weighted = gradient.copy()
        else:
            weighted = gradient * _per_channel(widened(weight._array), len(shape))
        through = back_through_statistics(weighted.reshape(grouped), values, rstd, dims)
        of_input = wrap(through.reshape(shape))
    return of_input, of_weight, of_bias


def _composed_gradients(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None,
    grouped: Shape,
    dims: Dims,
    eps: float,
    needs: tuple[bool, ...],
) -> Gradients:
    """`_gradients`, made of operations."""
    shape = input._array.shape
    others = _all_but_channels(len(shape))
    normal, rstd = composed_normal(input.reshape(grouped), dims, eps)
    of_input = None
    if needs[0]:
        weighted = grad
        if weight is not None:
            weighted = grad * weight.reshape(-1, *(1,) * (len(shape) - 2))
        through = composed_gradient(weighted.reshape(grouped), normal, rstd, dims)
        of_input = through.reshape(shape)
    return (
        of_input,
        (grad * normal.reshape(shape)).sum(others) if needs[1] else None,
        grad.sum(others) if needs[2] else None,
    )


# -- batch_norm, with the statistics of the batch ------------------------------------------

# Kernels over (N, C, L): sums over L, for each image and channel, are few numbers to go on with.


@over_rows("channel_sums", "(n)->()")
def _SUMS_KERNEL(x: Any) -> Any:
    return x.row_sum()


@over_rows("channel_squares", "(n),()->()")
def _SQUARES_KERNEL(x: Any, mean: Any) -> Any:
    return ((x - mean) * (x - mean)).row_sum()


@over_rows("channel_affine", "(n),(),(),()->(n)")
def _AFFINE_KERNEL(x: Any, mean: Any, scale: Any, shift: Any) -> Any:
    return (x - mean) * scale + shift


@over_rows("batch_norm_sums", "(n),(n),()->(),()")
def _GRADIENT_SUMS_KERNEL(g: Any, x: Any, mean: Any) -> Any:
    return g.row_sum(), (g * (x - mean)).row_sum()


@over_rows("batch_norm_backward", "(n),(n),(),(),(),()->(n)", cost=2)
def _GRADIENT_KERNEL(g: Any, x: Any, mean: Any, of_g: Any, of_x: Any, rest: Any) -> Any:
    return g * of_g + (x - mean) * of_x + rest


# Rows shorter than this are quicker without a kernel.
_SHORTEST_ROW = 16


def _rows(kernel: Any, array: Array, *others: Array | None) -> Any:
    """The kernel, where the planes are long enough and all arrays are of one type."""
    if array.ndim < 3 or math.prod(array.shape[2:]) < _SHORTEST_ROW:
        return None
    if any(other is not None and other.dtype is not array.dtype for other in others):
        return None
    return kernel.when(array) if array.size else None


def _batch_norm_by_rows(
    sums: Any, input: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array, Array]:
    planes = input.reshape(*input.shape[:2], -1)
    count = planes.shape[0] * planes.shape[2]
    mean = np.add.reduce(sums(planes), axis=0) / count
    mean = mean.astype(input.dtype, copy=False)
    variance = np.add.reduce(_SQUARES_KERNEL.ufunc(planes, mean), axis=0)
    variance /= count
    rstd = reciprocal_root(variance, eps)
    scale = rstd if weight is None else rstd * weight
    shift = np.zeros_like(mean) if bias is None else bias
    out = _AFFINE_KERNEL.ufunc(planes, mean, scale, shift)
    return out.reshape(input.shape), mean, rstd, variance


def _batch_norm_gradients_by_rows(
    sums: Any,
    g: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    rstd: Array,
    needs: tuple[bool, ...],
) -> Gradients:
    planes, gradient = (each.reshape(*x.shape[:2], -1) for each in (x, g))
    count = planes.shape[0] * planes.shape[2]
    total, along = (np.add.reduce(each, axis=0) for each in sums(gradient, planes, mean))
    of_input = None
    if needs[0]:
        of_g = rstd if weight is None else rstd * weight
        of_x = -of_g * rstd * rstd * along / count
        rest = -of_g * total / count
        through = _GRADIENT_KERNEL.ufunc(gradient, planes, mean, of_g, of_x, rest)
        of_input = wrap(through.reshape(x.shape))
    of_weight = wrap(along * rstd) if needs[1] else None
    return of_input, of_weight, wrap(total) if needs[2] else None


def _batch_norm(
    input: Array, weight: Array | None, bias: Array | None, *, eps: float
) -> tuple[Array, Array, Array, Array]:
    sums = _rows(_SUMS_KERNEL, input, weight, bias)
    if sums is not None:
        return _batch_norm_by_rows(sums, input, weight, bias, eps)
    x = widened(input)
    normal, mean, rstd, variance = statistics(x, _all_but_channels(x.ndim), eps)
    if x is not input and (weight is None or weight.dtype == input.dtype):
        # PyTorch keeps the statistics in the dtype of the parameters and then computes with them.
        mean, rstd = (each.astype(input.dtype).astype(x.dtype) for each in (mean, rstd))
        normal = x - mean
    normal *= rstd
    out = _affine(normal, weight, bias, input.dtype)
    return out, mean.reshape(-1), rstd.reshape(-1), variance.reshape(-1)


def _batch_norm_gradients(
    g: tuple[Tensor | None, ...],
    input: Tensor,
    weight: Tensor | None,
    out1: Tensor,
    out2: Tensor,
    eps: float,
    needs: tuple[bool, ...],
) -> Gradients:
    shape = input._array.shape
    if g[0] is not None and not graph_is_wanted():
        factor = None if weight is None else weight._array
        sums = _rows(_GRADIENT_SUMS_KERNEL, input._array, g[0]._array, factor)
        if sums is not None:
            return _batch_norm_gradients_by_rows(
                sums, g[0]._array, input._array, factor, out1._array, out2._array, needs
            )
    mean, rstd = (_per_channel(each._array, len(shape)) for each in (out1, out2))
    return _gradients(
        g[0], input, weight, shape, _all_but_channels(len(shape)), mean, rstd, eps, needs
    )


BATCH_NORM = Op(
    "native_batch_norm", _batch_norm, joint=_batch_norm_gradients, outputs=4,
    node="NativeBatchNormBackward0",
)  # fmt: skip


# -- batch_norm, with running statistics ---------------------------------------------------


def _batch_norm_running(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    *,
    eps: float,
) -> Array:
    x = widened(input)
    normal = x - _per_channel(widened(running_mean), x.ndim)
    normal *= _per_channel(reciprocal_root(widened(running_var), eps), x.ndim)
    return _affine(normal, weight, bias, input.dtype)


def _running_gradients(
    g: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    eps: float,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, ...]:
    ndim = g._array.ndim
    dims, shape = _all_but_channels(ndim), (-1, *(1,) * (ndim - 2))
    rstd = (running_var + eps).rsqrt().reshape(shape)
    of_input = of_weight = None
    if needs[0]:
        of_input = g * (rstd if weight is None else rstd * weight.reshape(shape))
    if needs[1]:
        of_weight = (g * ((input - running_mean.reshape(shape)) * rstd)).sum(dims)
    return of_input, of_weight, g.sum(dims) if needs[2] else None, None, None


BATCH_NORM_RUNNING = Op(
    "native_batch_norm_running", _batch_norm_running, joint=_running_gradients,
    node="NativeBatchNormBackward0",
)  # fmt: skip
RUNNING_AVERAGE = Row(
    "_running_average",
    lambda self, latest, *, momentum: (1 - momentum) * self + momentum * latest,
    non_differentiable="statistics are not trained",
)


def _update(running: Tensor, latest: Tensor, momentum: float) -> None:
    if latest._array.dtype is not running._array.dtype:
        latest = latest.to(running.dtype)
    apply_inplace(RUNNING_AVERAGE, running, latest, momentum=momentum)


def _check_channel_vectors(channels: int, **vectors: Tensor | None) -> None:
    for name, vector in vectors.items():
        if vector is None:
            continue
        if not isinstance(vector, Tensor):
            raise errors.wrong_argument("batch_norm", name, None, "Tensor", vector)
        if vector._array.size != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {vector._array.size}"
                + errors.at_user_line()
            )


@public(method=False, out=False, name="batch_norm")
def _torch_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    return _batch_normalized(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 of each channel, over the batch or by running statistics."""
    require_bool("training", training)
    if not isinstance(input, Tensor):
        raise errors.wrong_argument("batch_norm", "input", 1, "Tensor", input)
    if training:
        shape = input._array.shape
        if math.prod(shape[2:]) * shape[0] == 1:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.shape}" + errors.at_user_line()
            )
    return _batch_normalized(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def _batch_normalized(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    if not isinstance(momentum, (int, float)):
        raise errors.wrong_argument("batch_norm", "momentum", 7, "float", momentum)
    if not isinstance(eps, (int, float)):
        raise errors.wrong_argument("batch_norm", "eps", 8, "float", eps)
    if not input._array.size:
        return _of_nothing(input, weight, bias)
    if input._array.ndim < 2:
        raise errors.dimension_out_of_range(1, input._array.ndim)
    _check_channel_vectors(
        input._array.shape[1], running_mean=running_mean, running_var=running_var, weight=weight,
        bias=bias,
    )  # fmt: skip
    for name, running in (("running_mean", running_mean), ("running_var", running_var)):
        if running is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode" + errors.at_user_line())
    if not training and not tangent_of(running_mean) is tangent_of(running_var) is None:
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they cannot have "
            "forward grad defined" + errors.at_user_line()
        )
    check_norm_dtypes("batch_norm", input, weight, bias, running_mean, running_var)
    if not training:
        result: Tensor = BATCH_NORM_RUNNING(input, weight, bias, running_mean, running_var, eps=eps)
        return result
    result, mean, _, variance = BATCH_NORM(input, weight, bias, eps=eps)
    if running_mean is not None:
        _update(running_mean, mean.detach(), momentum)
    if running_var is not None:
        count = input._array.size // max(input._array.shape[1], 1)
        unbiased = variance.detach() * (count / (count - 1) if count > 1 else math.inf)
        _update(running_var, unbiased, momentum)
    return result


def _of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """An empty batch: parameters stay part of the graph, and statistics stay as they are."""
    result: Tensor = input.clone()
    if weight is not None:
        result = result * weight[0]
    return result if bias is None else result + bias[0]


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
    """Mean 0 and variance 1 of each channel of each sample."""
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
    means, variances, weights, biases = (
        None if vector is None else vector.repeat(n)
        for vector in (running_mean, running_var, weight, bias)
    )
    out = _batch_normalized(flat, means, variances, weights, biases, use_input_stats, momentum, eps)
    for running, latest in ((running_mean, means), (running_var, variances)):
        if running is not None and latest is not None and use_input_stats:
            running.copy_(latest.view(n, c).mean(0))
    result: Tensor = out.view(*input._array.shape)
    return result


# -- group_norm ----------------------------------------------------------------------------


@keeps_format
def _group_norm(
    input: Array, weight: Array | None, bias: Array | None, *, num_groups: int, eps: float
) -> tuple[Array, Array, Array]:
    shape = input.shape
    x = widened(input).reshape(shape[0], num_groups, _per_group(shape, num_groups))
    normal, mean, rstd, _ = statistics(x, (2,), eps)
    normal *= rstd
    out = _affine(normal.reshape(shape), weight, bias, input.dtype)
    return out, mean.reshape(mean.shape[:2]), rstd.reshape(rstd.shape[:2])


def _per_group(shape: Shape, num_groups: int) -> int:
    return math.prod(shape[1:]) // num_groups


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
    grouped = (shape[0], num_groups, _per_group(shape, num_groups))
    mean, rstd = (each._array[:, :, None] for each in (out1, out2))
    return _gradients(g[0], input, weight, grouped, (2,), mean, rstd, eps, needs)


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
    """Mean 0 and variance 1 of each group of channels of each sample."""
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
