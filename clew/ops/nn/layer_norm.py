"""Normalisations: what they share, and layer_norm.

The forward keeps the mean and the reciprocal standard deviation beside the result. The gradient
exists twice: written in tensor operations, for when a graph of the gradient is asked for, and over
bare arrays with few temporaries, for when it is not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import explain
from clew.core.elementwise import F32, F64, NO_PARAMS
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels.codegen.ufunc import over_columns, over_rows
from clew.kernels.numpy.arrays import rounded, row_by_row, sum_of_products, widened

Array = np.ndarray
# Arguments by position: the names take as long to read as small arrays to reduce.
_add_up: Any = np.add.reduce
Gradients = tuple[Tensor | None, Tensor | None, Tensor | None]


def graph_is_wanted() -> bool:
    """Whether gradients must be made by operations: for a graph of them, or for an interceptor."""
    state = local.state
    watcher = state.intercept
    return state.grad_enabled or (watcher is not None and watcher.needs_operations)


def statistics(x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array, Array]:
    """Centred values (fresh), mean, 1 / sqrt(variance + eps) and variance; dimensions are kept."""
    count = math.prod([x.shape[axis] for axis in axes])
    mean = _add_up(x, axes, None, None, True)
    mean /= count
    centred = x - mean
    variance = sum_of_products(centred, centred, axes)
    variance /= count
    return centred, mean, reciprocal_root(variance, eps), variance


def reciprocal_root(variance: Array, eps: float) -> Array:
    rstd: Array = variance + float(eps)
    np.sqrt(rstd, rstd)
    return np.reciprocal(rstd, rstd)


def back_through_statistics(
    weighted: Array, normal: Array, rstd: Array, axes: tuple[int, ...]
) -> Array:
    """The gradient of the input, given those of the normalised values; writes into `weighted`."""
    count = math.prod([normal.shape[axis] for axis in axes])
    along = sum_of_products(weighted, normal, axes)
    total = _add_up(weighted, axes, None, None, True)
    total /= count
    along /= count
    weighted -= total
    weighted -= normal * along
    weighted *= rstd
    return weighted


def composed_normal(input: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """The normalised values and the reciprocal deviation, in differentiable operations."""
    mean = input.mean(dims, keepdim=True)
    centred = input - mean
    rstd = ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    return centred * rstd, rstd


def composed_gradient(
    weighted: Tensor, normal: Tensor, rstd: Tensor, dims: tuple[int, ...]
) -> Tensor:
    along = (weighted * normal).mean(dims, keepdim=True)
    return rstd * (weighted - weighted.mean(dims, keepdim=True) - normal * along)


def statistics_in_half(
    input: Array, mean: Array, rstd: Array, variance: Array, eps: float
) -> list[Array]:
    """The mean and deviation of channels as PyTorch keeps them beside parameters of the dtype."""
    if input.dtype == dtypes.bfloat16.np:
        # There it rounds the sum of squares, too.
        count = np.float32(input.size // input.shape[1])
        squares = rounded(variance * count, input.dtype)
        rstd = reciprocal_root(rounded(squares / count, input.dtype), eps)
    return [rounded(mean, input.dtype), rounded(rstd, input.dtype)]


def kept_statistics(input: Tensor, weight: Tensor | None, *found: Tensor) -> list[Array]:
    """The statistics that gradients see: PyTorch keeps them in the dtype of the parameters."""
    dtype = (input if weight is None else weight)._array.dtype
    return [rounded(each._array, dtype) for each in found]


# -- layer_norm ----------------------------------------------------------------------------


def row_statistics(x: Any, eps: Any) -> tuple[Any, Any, Any]:
    """Of a kernel's row: centred values, mean, and 1 / sqrt(variance + eps)."""
    mean = x.row_mean()
    centred = x - mean
    return centred, mean, 1.0 / ((centred * centred).row_mean() + eps).sqrt()


@over_rows("layer_norm", "(n),(n),(n),()->(n),(),()", cost=3)
def LAYER_NORM_KERNEL(x: Any, weight: Any, bias: Any, eps: Any) -> Any:
    centred, mean, rstd = row_statistics(x, eps)
    return centred * rstd * weight + bias, mean, rstd


@over_rows("layer_norm_backward", "(n),(n),(n),(),()->(n)", cost=3)
def LAYER_NORM_BACKWARD_KERNEL(g: Any, x: Any, weight: Any, mean: Any, rstd: Any) -> Any:
    weighted, normal = g * weight, (x - mean) * rstd
    return rstd * (weighted - weighted.row_mean() - normal * (weighted * normal).row_mean())


@over_columns("layer_norm_parameters", "(m,n),(m,n),(m),(m)->(n),(n)", cost=2)
def LAYER_NORM_PARAMETERS_KERNEL(g: Any, x: Any, mean: Any, rstd: Any) -> Any:
    # As in PyTorch, the mean is subtracted after the division by the deviation.
    return g * x.fma(rstd, -(mean * rstd)), g


def _row_kernel(kernel: Any, x: Array, *others: Array | None) -> Any:
    """The compiled form, where all arrays are of one type that it has."""
    if not x.size or any(each is not None and each.dtype is not x.dtype for each in others):
        return None
    return kernel.specialize(x)


def as_row(vector: Array | None, default: float, like: Array, ndim: int) -> Array:
    """Parameters of the last dimensions as a row."""
    if vector is not None:
        return vector.reshape(-1)
    size = math.prod(like.shape[like.ndim - ndim :])
    return (_kept_row if size < _SHORT_ROW else np.full)(size, default, like.dtype)


# Rows of one number that are made once: for small inputs they would be half of the time.
_SHORT_ROW = 1 << 12


@functools.lru_cache(maxsize=64)
def _kept_row(size: int, number: float, dtype: np.dtype) -> Array:
    row = np.full(size, number, dtype)
    row.flags.writeable = False
    return row


def _layer_norm(
    input: Array, weight: Array | None, bias: Array | None, *, normalized_ndim: int, eps: float
) -> tuple[Array, Array, Array]:
    input = row_by_row(input)
    kernel = _row_kernel(LAYER_NORM_KERNEL, input, weight, bias)
    if kernel is not None:
        return _layer_norm_by_rows(kernel, input, weight, bias, normalized_ndim, eps)
    x = widened(input)
    axes = tuple(range(x.ndim - normalized_ndim, x.ndim))
    normal, mean, rstd, _ = statistics(x, axes, eps)
    normal *= rstd
    if weight is not None:
        normal *= weight
    if bias is not None:
        normal += bias
    return normal.astype(input.dtype, copy=False), mean, rstd


def _layer_norm_by_rows(
    kernel: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    normalized_ndim: int,
    eps: float,
) -> tuple[Array, Array, Array]:
    leading = input.shape[: input.ndim - normalized_ndim]
    flat = input.reshape(*leading, -1) if normalized_ndim != 1 else input
    factor = as_row(weight, 1, input, normalized_ndim)
    offset = as_row(bias, 0, input, normalized_ndim)
    out, mean, rstd = kernel(flat, factor, offset, dtypes.as_scalar(eps, input.dtype))
    kept = leading + (1,) * normalized_ndim
    return out.reshape(input.shape), np.reshape(mean, kept), np.reshape(rstd, kept)


def _layer_norm_gradients(
    g: Any,
    input: Any,
    weight: Any,
    out1: Any,
    out2: Any,
    normalized_ndim: int,
    eps: float,
    needs: tuple[bool, ...],
) -> Any:
    """Of tensors, `g` for each of the outputs, or of bare arrays, for the first."""
    if type(g) is not Array:
        return _of_tensors(g, input, weight, out1, out2, normalized_ndim, eps, needs)
    kernel = _row_kernel(LAYER_NORM_BACKWARD_KERNEL, input, g, weight)
    if kernel is not None:
        factor = as_row(weight, 1, input, normalized_ndim)
        shape = input.shape[input.ndim - normalized_ndim :]
        return _layer_norm_gradients_by_rows(
            kernel, g, input, factor.reshape(shape), out1, out2, needs
        )
    found = _of_tensors(
        (wrap(g),), wrap(input), None if weight is None else wrap(weight), wrap(out1), wrap(out2),
        normalized_ndim, eps, needs,
    )  # fmt: skip
    return [None if each is None else each._array for each in found]


def _of_tensors(
    g: tuple[Tensor | None, ...],
    input: Tensor,
    weight: Tensor | None,
    out1: Tensor,
    out2: Tensor,
    normalized_ndim: int,
    eps: float,
    needs: tuple[bool, ...],
) -> Gradients:
    grad = g[0]
    if grad is None:
        return None, None, None
    ndim = input._array.ndim
    dims = tuple(range(ndim - normalized_ndim, ndim))
    leading = tuple(range(ndim - normalized_ndim))
    if graph_is_wanted():
        return _composed_layer_norm(grad, input, weight, dims, leading, eps, needs)
    factor = None if weight is None else weight._array
    kernel = _row_kernel(LAYER_NORM_BACKWARD_KERNEL, input._array, grad._array, factor)
    if kernel is not None:
        factor = as_row(factor, 1, input._array, normalized_ndim)
        shape = input._array.shape[ndim - normalized_ndim :]
        found = _layer_norm_gradients_by_rows(
            kernel, grad._array, input._array, factor.reshape(shape), out1._array, out2._array,
            needs,
        )  # fmt: skip
        of_input, of_weight, of_bias = (None if each is None else wrap(each) for each in found)
        return of_input, of_weight, of_bias
    gradient, x = widened(grad._array), widened(input._array)
    of_bias = wrap(np.add.reduce(gradient, axis=leading)) if needs[2] else None
    if not needs[0] and not needs[1]:
        return None, None, of_bias
    mean, rstd = kept_statistics(input, weight, out1, out2)
    normal = x - mean
    normal *= rstd
    of_weight = of_input = None
    if needs[1]:
        of_weight = wrap(np.add.reduce(gradient * normal, axis=leading))
    if needs[0]:
        weighted = gradient.copy() if weight is None else gradient * widened(weight._array)
        of_input = wrap(back_through_statistics(weighted, normal, rstd, dims))
    return of_input, of_weight, of_bias


def _layer_norm_gradients_by_rows(
    kernel: Any,
    g: Array,
    x: Array,
    weight: Array,
    mean: Array,
    rstd: Array,
    needs: tuple[bool, ...],
) -> tuple[Array | None, Array | None, Array | None]:
    shape, (rows, size) = x.shape, (mean.size, weight.size)
    g, x = g.reshape(rows, size), x.reshape(rows, size)
    mean, rstd = mean.reshape(rows), rstd.reshape(rows)
    of_input = of_weight = of_bias = None
    if needs[0]:
        of_input = kernel(g, x, weight.reshape(size), mean, rstd).reshape(shape)
    if needs[1] or needs[2]:
        weights, biases = LAYER_NORM_PARAMETERS_KERNEL.ufunc(g, x, mean, rstd)
        of_weight = weights.reshape(weight.shape) if needs[1] else None
        of_bias = biases.reshape(weight.shape) if needs[2] else None
    return of_input, of_weight, of_bias


def _composed_layer_norm(
    grad: Tensor,
    input: Tensor,
    weight: Tensor | None,
    dims: tuple[int, ...],
    leading: tuple[int, ...],
    eps: float,
    needs: tuple[bool, ...],
) -> Gradients:
    normal, rstd = composed_normal(input, dims, eps)
    weighted = grad if weight is None else grad * weight
    of_input = composed_gradient(weighted, normal, rstd, dims) if needs[0] else None
    of_weight = grad * normal if needs[1] else None
    if of_weight is not None and leading:
        of_weight = of_weight.sum(leading)
    return of_input, of_weight, grad.sum(leading) if needs[2] and leading else grad


LAYER_NORM = Op(
    "native_layer_norm", _layer_norm, joint=_layer_norm_gradients, outputs=3, bare=True,
    node="NativeLayerNormBackward0",
)  # fmt: skip


def check_normalized_shape(
    input: Tensor, normalized_shape: Sequence[int], name: str
) -> tuple[int, ...]:
    """The shape as a tuple, if the input ends in it."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise errors.wrong_argument(name, "normalized_shape", 2, "tuple of ints", normalized_shape)
    shape = tuple(normalized_shape)
    for place, size in enumerate(shape):
        if not hasattr(type(size), "__index__"):
            raise errors.wrong_argument(
                name, "normalized_shape", 2, "tuple of ints", normalized_shape, place
            )
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []" + errors.at_user_line()
        )
    have = input._array.shape
    if have[-len(shape) :] != shape:
        star = "*, " if name == "layer_norm" else "*"
        raise RuntimeError(
            f"Given normalized_shape={errors.shape_list(shape)}, expected input with shape "
            f"[{star}{', '.join(map(str, shape))}], but got input of size"
            f"{errors.shape_list(have)}" + errors.at_user_line()
        )
    return shape


def check_like_normalized(name: str, value: Tensor | None, shape: tuple[int, ...]) -> None:
    if value is not None and value._array.shape != shape:
        raise RuntimeError(
            f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
            f"{errors.shape_list(value._array.shape)} and normalized_shape = "
            f"{errors.shape_list(shape)}" + errors.at_user_line()
        )


def check_batch(input: Tensor, training: bool, eps: float) -> None:
    """Refuse what has no variance to divide by."""
    shape = input._array.shape
    if training and math.prod(shape[2:]) * shape[0] == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{input.shape}" + errors.at_user_line()
        )
    if eps < 0 or (training and eps == 0):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}" + errors.at_user_line())


def check_norm_dtypes(torch_kernel: str, input: Tensor, *others: Tensor | None) -> None:
    """Floating input; parameters of its dtype, or of float32 beside a low-precision input."""
    have = input.dtype
    if have.category != dtypes.FLOAT:
        raise errors.no_kernel(torch_kernel, have)
    low = have.np in dtypes.LOW_PRECISION
    for other in others:
        if other is None or other.dtype is have or (low and other.dtype is dtypes.float32):
            continue
        expected = "Float" if low else have.scalar_name
        raise RuntimeError(
            f"mixed dtype (CPU): expect parameter to have scalar type of {expected}"
            + errors.at_user_line()
        )


def _is_usual_layer_norm(input: Any, shape: Any, weight: Any, bias: Any) -> bool:
    """Whether nothing is left to check: rows, with parameters, all of one float type."""
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor) and isinstance(bias, Tensor)):
        return False
    x, factor, offset = input._array, weight._array, bias._array
    dtype = x.dtype
    return bool(
        (dtype is F32 or dtype is F64)
        and factor.dtype is dtype
        and offset.dtype is dtype
        and factor.shape == offset.shape == x.shape[-1:] == shape
        and x.size
        and x.ndim
    )


def check_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None
) -> None:
    shape = check_normalized_shape(input, normalized_shape, "layer_norm")
    check_like_normalized("weight", weight, shape)
    check_like_normalized("bias", bias, shape)
    if input.dtype.category != dtypes.FLOAT and any(
        other is not None and other.dtype is not input.dtype for other in (weight, bias)
    ):
        raise RuntimeError(
            "mixed dtype (CPU): all inputs must share same datatype." + errors.at_user_line()
        )
    check_norm_dtypes("LayerNormKernelImpl", input, weight, bias)


def _layer_norm_for_nobody(input: Tensor, weight: Any, bias: Any, eps: float) -> Tensor:
    """Without history, the statistics need not be tensors."""
    x = row_by_row(input._array)
    scalar = dtypes.as_scalar(eps, x.dtype)
    out = LAYER_NORM_KERNEL.specialize(x)(x, weight._array, bias._array, scalar)[0]
    return LAYER_NORM.output(local.state, (input, weight, bias), NO_PARAMS, out)


@public(method=False, out=False, name="layer_norm")
def _plain_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    return layer_norm(input, normalized_shape, weight, bias, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then scaled and shifted.

    Args:
        normalized_shape: the sizes of those dimensions
        weight, bias: the scale and shift of each element; None is 1 and 0
        eps: what is added to the variance

    Example:
        >>> F.layer_norm(clew.tensor([[1.0, 2.0, 3.0, 4.0]]), (4,))
        tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    """
    try:
        if not _is_usual_layer_norm(input, normalized_shape, weight, bias):
            check_layer_norm(input, normalized_shape, weight, bias)
        elif not local.state.grad_enabled and local.state.intercept is None:
            return _layer_norm_for_nobody(input, weight, bias, eps)
        result: tuple[Tensor, ...] = LAYER_NORM(
            input, weight, bias, normalized_ndim=len(normalized_shape), eps=eps
        )
        return result[0]
    except Exception as error:  # whatever it is, the call may explain it
        explain(layer_norm, (input, normalized_shape, weight, bias, eps), {}, error)
        raise
