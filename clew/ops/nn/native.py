"""Functions of PyTorch that also return what they keep for backward, or check no indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.define.dims import wrap_dim
from clew.ops.define.out_checks import found_scalar_type, require_dtype
from clew.ops.nn.activation.softmax import SAFE_SOFTMAX, SOFTMAX_BACKWARD
from clew.ops.nn.batch_norm import BATCH_NORM, batch_normalized, update_running
from clew.ops.nn.group_norm import GROUP_NORM
from clew.ops.nn.layer_norm import LAYER_NORM, check_layer_norm, check_norm_dtypes

# -- normalizations ------------------------------------------------------------------------------


@public(method=False, out=False)
def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Means and biased variances of channels; running ones move towards them.

    Args:
        input: (N, C, ...)
        running_mean, running_var: the running statistics, which are updated in place, or None
        momentum: the weight of the new values

    Example:
        >>> mean = clew.zeros(1)
        >>> clew.batch_norm_update_stats(clew.tensor([[1.0], [3.0]]), mean, None, 0.5)
        (tensor([2.]), tensor([1.]))
        >>> mean
        tensor([1.])
    """
    if not input._array.size:
        raise RuntimeError(
            "input tensor must have at least one element, but got input_sizes = "
            f"{errors.shape_list(input._array.shape)}" + errors.at_user_line()
        )
    array = input.detach()
    dims = (0, *range(2, array._array.ndim))
    mean, variance = array.mean(dims), array.var(dims, correction=0)
    count = math.prod(array._array.shape) // max(mean._array.size, 1)
    if running_mean is not None:
        update_running(running_mean, mean, momentum)
    if running_var is not None:
        update_running(running_var, variance, momentum, count / max(count - 1, 1))
    return mean, variance


@public(method=False, out=False)
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, and the means and inverse deviations that it divided by.

    Args:
        normalized_shape: the sizes of the last dimensions, which are normalized
        weight, bias: the scale and shift of each element, or None
        eps: what is added to the variance

    Example:
        >>> x = clew.tensor([[1.0, 3.0]])
        >>> clew.native_layer_norm(x, (2,), None, None, 0.0)
        (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    check_layer_norm(input, normalized_shape, weight, bias)
    result, mean, rstd = LAYER_NORM(
        input, weight, bias, normalized_ndim=len(normalized_shape), eps=eps
    )
    return result, *_statistics(mean, rstd, input)


@public(method=False, out=False)
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, and the means and inverse deviations that it divided by.

    Args:
        weight, bias: the scale and shift of each channel, or None
        N, C, HxW: the numbers of samples, of channels, and of elements of a channel
        group: the number of groups
        eps: what is added to the variance

    Example:
        >>> x = clew.tensor([[1.0, 3.0]])
        >>> clew.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)
        (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    if C % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {errors.shape_list(input._array.shape)} and num_groups={group}"
            + errors.at_user_line()
        )
    check_norm_dtypes("GroupNormKernelImpl", input, weight, bias)
    rows = input.reshape(N, C, HxW)
    result = GROUP_NORM(rows, weight, bias, num_groups=group, eps=eps)[0]
    # These have gradients, too, unlike those of the other normalizations.
    groups = rows.reshape(N, group, C // group * HxW)
    groups = groups.float() if input.dtype.itemsize < 4 else groups
    mean, rstd = groups.mean(-1), (groups.var(-1, correction=0) + eps).rsqrt()
    return result.reshape(input.shape), mean.to(input.dtype), rstd.to(input.dtype)


def _statistics(mean: Tensor, rstd: Tensor, input: Tensor) -> tuple[Tensor, Tensor]:
    return mean.detach().to(input.dtype), rstd.detach().to(input.dtype)


@public(method=False)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, and the batch's means and inverse deviations, which are empty in evaluation.

    Args:
        input: (N, C, ...)
        weight, bias: the scale and shift of each channel, or None
        running_mean, running_var: the running statistics, which training updates, or None
        training: normalize over the batch, not by the running statistics
        momentum: the weight of the batch in that update
        eps: what is added to the variance

    Example:
        >>> x = clew.tensor([[1.0], [3.0]])
        >>> clew.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)[1:]
        (tensor([2.]), tensor([1.]))
    """
    result = batch_normalized(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    given = next((v for v in (weight, bias, running_mean, running_var) if v is not None), input)
    if training and input._array.size and input._array.ndim > 1:
        _, mean, rstd, _ = BATCH_NORM(input.detach(), None, None, eps=eps)
        mean, rstd = _statistics(mean, rstd, given)
    else:
        mean, rstd = input.new_empty(0), input.new_empty(0)
    return result, mean, rstd


@public(method=False)
def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    running = rest[:-3] if len(rest) == 5 else (None, None)
    return native_batch_norm(input, weight, bias, *running, *rest[-3:])


# -- indices that are not checked --------------------------------------------------------------


def _clamped(input: Tensor, indices: Sequence[Tensor | None]) -> tuple[Any, ...]:
    sizes = input._array.shape
    return tuple(
        slice(None) if index is None else index.clamp(-size, size - 1)
        for index, size in zip(indices, sizes, strict=False)
    )


@public(method=False, out=False)
def _unsafe_masked_index(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: complex
) -> Tensor:
    if not input._array.size:
        return input.new_full(mask.shape, fill)
    taken: Tensor = input[_clamped(input, indices)]
    return taken.masked_fill(mask.logical_not(), fill)


@public(method=False, out=False)
def _unsafe_masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    if not input._array.size:
        return input.clone()
    kept = values.masked_fill(mask.logical_not(), 0)
    result: Tensor = input.index_put(_clamped(input, indices), kept, accumulate=True)
    return result


# -- softmax -------------------------------------------------------------------------------------


@public(method=False, out=False)
def _safe_softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """`softmax`, but zeros where all elements are -inf.

    Args:
        input: floating point
        dim: the dimension along which the results sum to 1
        dtype: what the input is converted to first

    Example:
        >>> inf = float("inf")
        >>> clew._safe_softmax(clew.tensor([[-inf, -inf], [0.0, -inf]]), 1)
        tensor([[0., 0.],
                [1., 0.]])
    """
    values = input if dtype is None else input.to(dtype)
    if values.dtype.category != dtypes.FLOAT:
        raise errors.no_kernel("softmax_lastdim_kernel_impl", values.dtype)
    result: Tensor = SAFE_SOFTMAX(values, dim=wrap_dim(dim, values._array.ndim))
    return result


@public(method=False, out=False)
def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: dtypes.dtype
) -> Tensor:
    """The gradient by the input of a softmax.

    Args:
        grad_output: the gradient by its result
        output: its result
        dim: the dimension along which it sums to 1
        input_dtype: the dtype of its input

    Example:
        >>> y = clew.tensor([0.25, 0.75])
        >>> clew._softmax_backward_data(clew.tensor([1.0, 0.0]), y, 0, clew.float32)
        tensor([ 0.1875, -0.1875])
    """
    place = wrap_dim(dim, output._array.ndim)
    if grad_output._array.shape != output._array.shape:
        raise RuntimeError(
            "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 "
            f"'output'; but {errors.shape_list(grad_output._array.shape)} does not equal "
            f"{errors.shape_list(output._array.shape)} (while checking arguments for "
            "softmax_backward)" + errors.at_user_line()
        )
    if grad_output.dtype.category != dtypes.FLOAT:
        raise errors.no_kernel("softmax_backward_lastdim_kernel_impl", grad_output.dtype)
    require_dtype(grad_output.dtype, output, found_scalar_type)
    result: Tensor = SOFTMAX_BACKWARD(grad_output, output, dim=place)
    return result
