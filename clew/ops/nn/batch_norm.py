"""batch_norm: normalisation of each channel over the batch, or by running statistics."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import is_real
from clew.core.inplace import apply_inplace
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, alias, tangent_of, wrap
from clew.kernels.codegen.contexts import TYPES
from clew.kernels.codegen.ufunc import elementwise, over_rows
from clew.kernels.compiled import batch_norm as channel_kernel
from clew.kernels.numpy.arrays import row_by_row, widened
from clew.ops.define.dims import require_bool
from clew.ops.define.memory_layout import channels_last_order
from clew.ops.define.rows import Row, refuse_gradient
from clew.ops.nn.layer_norm import (
    Gradients,
    back_through_statistics,
    check_batch,
    check_norm_dtypes,
    composed_gradient,
    composed_normal,
    graph_is_wanted,
    reciprocal_root,
    statistics,
    statistics_in_half,
)

Array = np.ndarray
Dims = tuple[int, ...]
Shape = tuple[int, ...]


def _per_channel(vector: Array, ndim: int) -> Array:
    """A vector over channels, shaped to broadcast against (N, C, ...)."""
    return vector.reshape(-1, *(1,) * (ndim - 2))


def _all_but_channels(ndim: int) -> Dims:
    return (0, *range(2, ndim))


def affine(normal: Array, weight: Array | None, bias: Array | None, dtype: np.dtype) -> Array:
    """Scale and shift each channel, in place, and round to the input's dtype."""
    if weight is not None:
        normal *= _per_channel(weight, normal.ndim)
    if bias is not None:
        normal += _per_channel(bias, normal.ndim)
    return normal.astype(dtype, copy=False)


# -- gradients through the statistics ------------------------------------------------------


def gradients(
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
    """`gradients`, made of operations."""
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
    of_weight = (grad * normal.reshape(shape)).sum(others) if needs[1] else None
    return of_input, of_weight, grad.sum(others) if needs[2] else None


# -- batch_norm, with the statistics of the batch ------------------------------------------

# Over (N, C, L) the kernel goes through the channels, over (N, C), or with channels last in memory,
# through columns. Group norm reduces the rows of each image and channel.


def _centred_affine(x: Any, mean: Any, scale: Any, shift: Any) -> Any:
    return (x - mean) * scale + shift


def _input_gradient(g: Any, x: Any, mean: Any, of_g: Any, of_x: Any, rest: Any) -> Any:
    return g * of_g + (x - mean) * of_x + rest


class _RowKernels(NamedTuple):
    affine: Any
    gradient_sums: Any
    gradient: Any


ROWS = _RowKernels(
    over_rows("channel_affine", "(n),(),(),()->(n)")(_centred_affine),
    over_rows("batch_norm_sums", "(n),(n),()->(),()")(
        lambda g, x, mean: (g.row_sum(), (g * (x - mean)).row_sum())
    ),
    over_rows("batch_norm_backward", "(n),(n),(),(),(),()->(n)", cost=2)(_input_gradient),
)
COLUMN_AFFINE = elementwise("column_affine", 4)(_centred_affine)

# Rows shorter than this are faster without a kernel.
SHORTEST_ROW = 16


def _are_of_one_type(array: Array, *others: Array | None) -> bool:
    """Whether kernels can run: there are elements, and all arrays have the first one's dtype."""
    has_kernel = array.size > 0 and array.dtype in TYPES
    return has_kernel and all([each is None or each.dtype is array.dtype for each in others])


def _are_columns(array: Array) -> bool:
    """Whether the channels are the columns of a matrix in memory."""
    return array.ndim == 2 or _channels_last(array).flags.c_contiguous


def _in_format(array: Array) -> Array:
    """The input as the result will lie in memory: row by row, or with the channels last."""
    if array.flags.c_contiguous or channels_last_order(array) is not None:
        return array
    # Strides along dimensions of size 1 may say nothing.
    is_last = array.ndim > 3 and _channels_last(array).flags.c_contiguous
    return array if is_last else row_by_row(array)


def _channels_last(array: Array) -> Array:
    return array.transpose(0, *range(2, array.ndim), 1)


def _as_matrix(array: Array) -> Array:
    """(N, C, ...) as (M, C)."""
    return _channels_last(array).reshape(-1, array.shape[1])


def _as_input(result: Array, input: Array) -> Array:
    """The inverse of `_as_matrix`."""
    if input.flags.c_contiguous:
        return result.reshape(input.shape)
    last = result.reshape(_channels_last(input).shape)
    return last.transpose(0, input.ndim - 1, *range(1, input.ndim - 1))


def _column_norm(
    input: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array, Array]:
    out, mean, rstd, variance = channel_kernel.forward(_as_matrix(input), weight, bias, eps)
    return _as_input(out, input), mean, rstd, variance


def _column_gradients(
    g: Array, input: Array, weight: Array | None, mean: Array, rstd: Array, of_input: bool
) -> tuple[Array | None, Array, Array]:
    of_x, of_weight, of_bias = channel_kernel.backward(
        _as_matrix(g), _as_matrix(input), weight, mean, rstd, of_input
    )
    return None if of_x is None else _as_input(of_x, input), of_weight, of_bias


def _batch_norm(
    input: Array, weight: Array | None, bias: Array | None, *, eps: float
) -> tuple[Array, Array, Array, Array]:
    input = _in_format(input)
    if _are_of_one_type(input, weight, bias):
        in_columns = input.ndim > 2 and _are_columns(input)
        norm = _column_norm if in_columns else channel_kernel.forward
        return norm(input, weight, bias, eps)
    x = widened(input)
    normal, mean, rstd, variance = statistics(x, _all_but_channels(x.ndim), eps)
    if x is not input and (weight is None or weight.dtype == input.dtype):
        mean, rstd = statistics_in_half(input, mean, rstd, variance, eps)
        normal = x - mean
    normal *= rstd
    out = affine(normal, weight, bias, input.dtype)
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
        arrays = g[0]._array, input._array, factor, out1._array, out2._array
        if _are_of_one_type(*arrays):
            in_columns = input._array.ndim > 2 and _are_columns(input._array)
            backward = _column_gradients if in_columns else channel_kernel.backward
            through, of_weight, of_bias = backward(*arrays, needs[0])
            return (
                None if through is None else wrap(through),
                wrap(of_weight) if needs[1] else None,
                wrap(of_bias) if needs[2] else None,
            )
    mean, rstd = (_per_channel(each._array, len(shape)) for each in (out1, out2))
    return gradients(
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
    input = _in_format(input)
    if _are_of_one_type(input, weight, bias, running_mean, running_var):
        scale = reciprocal_root(running_var, eps)
        scale = scale if weight is None else scale * weight
        shift = np.zeros_like(scale) if bias is None else bias
        if _are_columns(input):
            x = _as_matrix(input)
            return _as_input(COLUMN_AFFINE.ufunc(x, running_mean, scale, shift), input)
        rows = input.reshape(*input.shape[:2], -1)
        # Rows get numbers each: where all operands have the same outer dimensions, NumPy makes one
        # loop of them, which is cut into tasks, and not a loop for each image.
        vectors = np.empty((3, *rows.shape[:2]), input.dtype)
        for row, vector in zip(vectors, (running_mean, scale, shift), strict=True):
            row[...] = vector
        return np.asarray(ROWS.affine.ufunc(rows, *vectors)).reshape(input.shape)
    x = widened(input)
    normal = x - _per_channel(widened(running_mean), x.ndim)
    normal *= _per_channel(reciprocal_root(widened(running_var), eps), x.ndim)
    return affine(normal, weight, bias, input.dtype)


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
    if g._array.dtype in dtypes.HALVES:
        g, input, running_var = g.float(), input.float(), running_var.float()
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


class _RunningAverage(Row):
    """A mean of what a statistic was and the latest one, times a factor."""

    def write_into(self, target: Array, inputs: tuple[Any, ...], params: dict[str, Any]) -> bool:
        latest = inputs[1]._array
        if latest.dtype is not target.dtype or latest.shape != target.shape:
            return False
        momentum, factor = params["momentum"], params["factor"]
        change = latest * momentum if factor == 1 else latest * factor * momentum
        np.multiply(target, 1 - momentum, target)
        np.add(target, change, target)
        return True


RUNNING_AVERAGE = _RunningAverage(
    "_running_average",
    lambda self, latest, *, momentum, factor: (1 - momentum) * self + momentum * (latest * factor),
    non_differentiable="statistics are not trained",
)


@contextlib.contextmanager
def writing_statistics() -> Iterator[None]:
    """What is written inside is, as in PyTorch, a part of the kernel: transforms do not mind it."""
    state = local.state
    guard = state.mutation_guard
    if guard is not None:
        state.mutation_guard = guard.of_kernels()
    try:
        yield
    finally:
        state.mutation_guard = guard


def update_running(running: Tensor, latest: Tensor, momentum: float, factor: float = 1.0) -> None:
    """Move a running statistic towards the latest one, times a factor, in place."""
    if latest._array.dtype is not running._array.dtype:
        latest = latest.to(running.dtype)
    with writing_statistics():
        apply_inplace(RUNNING_AVERAGE, running, latest, momentum=momentum, factor=factor)


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
    return batch_normalized(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _float(name: str, position: int, value: Any) -> float:
    """A number that is given as one of NumPy's, or as a tensor without dimensions."""
    if not is_real(value):
        raise errors.wrong_argument("batch_norm", name, position, "float", value)
    return float(value)


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
    """Mean 0 and variance 1 of each channel, over the batch or by running statistics.

    Args:
        input: (N, C, ...)
        running_mean, running_var: the running statistics, one number a channel; None keeps none
        weight, bias: the scale and shift of each channel; None is 1 and 0
        training: normalise over the batch, and update the running statistics
        momentum: the weight of the batch in that update
        eps: what is added to the variance

    Example:
        >>> x = clew.tensor([[1.0, 10.0], [3.0, 30.0]])
        >>> F.batch_norm(x, None, None, training=True)
        tensor([[-1.0000, -1.0000],
                [ 1.0000,  1.0000]])
        >>> F.batch_norm(x, clew.zeros(2), clew.ones(2), eps=0.0)
        tensor([[ 1., 10.],
                [ 3., 30.]])
    """
    require_bool("training", training)
    if not isinstance(input, Tensor):
        raise errors.wrong_argument("batch_norm", "input", 1, "Tensor", input)
    check_batch(input, training, eps)
    return batch_normalized(input, running_mean, running_var, weight, bias, training, momentum, eps)


def batch_normalized(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: Any,
    eps: Any,
) -> Tensor:
    if not isinstance(momentum, (int, float)):
        momentum = _float("momentum", 7, momentum)
    if not isinstance(eps, (int, float)):
        eps = _float("eps", 8, eps)
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
        if not all(tangent_of(each) is None for each in (input, weight, bias)):
            raise RuntimeError(
                "batch_norm is not differentiable wrt running_mean and running_var, they cannot "
                "have forward grad defined" + errors.at_user_line()
            )
        # Their tangents go nowhere.
        assert running_mean is not None and running_var is not None
        running_mean, running_var = alias(running_mean), alias(running_var)
    has_order = input.dtype.category >= dtypes.FLOAT or input.is_contiguous()
    if training and not has_order and channels_last_order(input._array) is None:
        input.mean()  # which PyTorch takes of such memory first, and which refuses integers
    check_norm_dtypes("batch_norm", input, weight, bias, running_mean, running_var)
    refuse_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    if not training:
        result: Tensor = BATCH_NORM_RUNNING(input, weight, bias, running_mean, running_var, eps=eps)
        return result
    result, mean, _, variance = BATCH_NORM(input, weight, bias, eps=eps)
    if running_mean is not None:
        update_running(running_mean, mean.detach(), momentum)
    if running_var is not None:
        count = input._array.size // max(input._array.shape[1], 1)
        unbiased = count / (count - 1) if count > 1 else math.inf
        update_running(running_var, variance.detach(), momentum, unbiased)
    return result


def _of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """An empty batch: parameters stay part of the graph, and statistics stay as they are."""
    result: Tensor = input.clone()
    if weight is not None:
        result = result * weight[0]
    return result if bias is None else result + bias[0]
