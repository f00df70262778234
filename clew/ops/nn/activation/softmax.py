"""softmax, log_softmax and softmin.

The backward of each is an operation with gradients of its own. As in PyTorch, the result is saved.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.elementwise import F32, F64
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import where
from clew.kernels.codegen.ufunc import across, over_rows
from clew.kernels.numpy.arrays import rounded, row_by_row, sum_of_products, widened
from clew.kernels.numpy.conversion import converted
from clew.ops.create.constants import empty_like, zeros_like
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, wrap_dim
from clew.source import user_stacklevel

Array = np.ndarray
# Arguments by position: the names take as long to read as small arrays to reduce.
_largest: Any = np.maximum.reduce
_total: Any = np.add.reduce
# Fewer columns than the shortest of PyTorch's vectors of halves has elements.
_FEW_COLUMNS = 16


def _shifted(self: Array, dim: int) -> Array:
    """A fresh array, in the compute dtype, whose largest element along `dim` is 0."""
    values = widened(self if self.ndim else self.reshape(1))
    return np.subtract(values, _largest(values, dim, None, None, True))


def _vectors(self: Array) -> Array:
    return self if self.ndim else self.reshape(1)


def _like(result: Array, original: Array) -> Array:
    """A result in the dtype and shape of what it was computed from."""
    if result.dtype is original.dtype and original.ndim:
        return result
    return converted(result, original.dtype).reshape(original.shape)


@over_rows("softmax", "(n)->(n)", cost=6)
def SOFTMAX_KERNEL(x: Any) -> Any:
    weights = (x - x.row_max()).exp_of_negative().materialize()
    return weights * (1.0 / weights.row_sum())


# A row that is masked out entirely has no largest element; attention wants zeros there.
@over_rows("safe_softmax", "(n)->(n)", cost=6)
def SAFE_SOFTMAX_KERNEL(x: Any) -> Any:
    largest = x.row_max()
    weights = (x - largest).exp_of_negative().materialize()
    return where(largest.eq(-math.inf), 0.0, weights * (1.0 / weights.row_sum()))


@over_rows("softmax_backward", "(n),(n)->(n)", cost=2)
def SOFTMAX_BACKWARD_KERNEL(g: Any, y: Any) -> Any:
    return (g - (g * y).row_sum()) * y


@over_rows("log_softmax", "(n)->(n)", cost=4)
def LOG_SOFTMAX_KERNEL(x: Any) -> Any:
    shifted = x - x.row_max()
    return shifted - shifted.exp_of_negative().row_sum().log()


@over_rows("log_softmax_backward", "(n),(n)->(n)", cost=4)
def LOG_SOFTMAX_BACKWARD_KERNEL(g: Any, y: Any) -> Any:
    return g - y.exp() * g.row_sum()


# The same for another dimension than the last.
_ACROSS = {
    kernel: across(kernel)
    for kernel in (
        SOFTMAX_KERNEL, SOFTMAX_BACKWARD_KERNEL, LOG_SOFTMAX_KERNEL,
        LOG_SOFTMAX_BACKWARD_KERNEL,
    )
}  # fmt: skip


def _run(kernel: Any, dim: int, *arrays: Array) -> Array | None:
    """The result of the compiled form; None for dtypes that it does not have."""
    first = arrays[-1]
    if dim == first.ndim - 1:
        ufunc = kernel.specialize(first)
        return None if ufunc is None else ufunc(*arrays)
    ufunc = _ACROSS[kernel].specialize(first) if first.ndim else None
    if ufunc is None:
        return None
    if dim == first.ndim - 2:
        result: Array = ufunc(*arrays)
        return result
    shape = (*first.shape[: dim + 1], -1)
    return ufunc(*[each.reshape(shape) for each in arrays]).reshape(first.shape)


def _softmax(self: Array, *, dim: int) -> Array:
    if not self.size:
        return np.empty_like(self)
    self = row_by_row(self)
    compiled = _run(SOFTMAX_KERNEL, dim, self)
    if compiled is not None:
        return compiled
    result = _shifted(self, dim)
    np.exp(result, result)
    total = _total(result, dim, None, None, True)
    if dim < self.ndim - 1 and math.prod(self.shape[dim + 1 :]) < _FEW_COLUMNS:
        # PyTorch stores the exponentials of so few columns, and divides what it has stored.
        result = rounded(result, self.dtype)
    np.divide(result, total, result)
    return _like(result, self)


def _softmax_backward(grad_output: Array, output: Array, *, dim: int) -> Array:
    if not output.size:
        return np.empty_like(output)
    compiled = _run(SOFTMAX_BACKWARD_KERNEL, dim, grad_output, output)
    if compiled is not None:
        return compiled
    g, y = widened(_vectors(grad_output)), widened(_vectors(output))
    result = g - sum_of_products(g, y, (dim,))
    result *= y
    return _like(result, output)


def _softmax_backward_of_output(g: Tensor, grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    total = (grad_output * output).sum(dim, keepdim=True)
    return g * (grad_output - total) - grad_output * (g * output).sum(dim, keepdim=True)


SOFTMAX_BACKWARD: Op = Op(
    "_softmax_backward_data", _softmax_backward, node="SoftmaxBackwardDataBackward0",
    grads={
        "grad_output": lambda g, output, dim: SOFTMAX_BACKWARD(g, output, dim=dim),
        "output": _softmax_backward_of_output,
    },
)  # fmt: skip


def _softmax_gradient(g: Any, out: Any, dim: int) -> Any:
    """Of tensors or bare arrays."""
    return (_softmax_backward if type(g) is Array else SOFTMAX_BACKWARD)(g, out, dim=dim)


SOFTMAX = Op("softmax", _softmax, grads={"self": _softmax_gradient}, bare=True)


def _log_softmax(self: Array, *, dim: int) -> Array:
    if not self.size:
        return np.empty_like(self)
    self = row_by_row(self)
    compiled = _run(LOG_SOFTMAX_KERNEL, dim, self)
    if compiled is not None:
        return compiled
    result = _shifted(self, dim)
    total = _total(np.exp(result), dim, None, None, True)
    if dim == self.ndim - 1:
        total = rounded(np.log(rounded(total, self.dtype)), self.dtype)
    else:
        np.log(total, total)
    np.subtract(result, total, result)
    return _like(result, self)


def _log_softmax_backward(grad_output: Array, output: Array, *, dim: int) -> Array:
    if not output.size:
        return np.empty_like(output)
    compiled = _run(LOG_SOFTMAX_BACKWARD_KERNEL, dim, grad_output, output)
    if compiled is not None:
        return compiled
    g, y = widened(_vectors(grad_output)), widened(_vectors(output))
    result = np.exp(y)
    result *= _total(g, dim, None, None, True)
    np.subtract(g, result, result)
    return _like(result, output)


LOG_SOFTMAX_BACKWARD = Op(
    "_log_softmax_backward_data", _log_softmax_backward, node="LogSoftmaxBackwardDataBackward0",
    grads={
        "grad_output": lambda g, output, dim: g - (g * output.exp()).sum(dim, keepdim=True),
        "output": lambda g, grad_output, output, dim: -g
        * output.exp()
        * grad_output.sum(dim, keepdim=True),
    },
)  # fmt: skip


def _log_softmax_gradient(g: Any, out: Any, dim: int) -> Any:
    """Of tensors or bare arrays."""
    return (_log_softmax_backward if type(g) is Array else LOG_SOFTMAX_BACKWARD)(g, out, dim=dim)


LOG_SOFTMAX = Op("log_softmax", _log_softmax, grads={"self": _log_softmax_gradient}, bare=True)


def _safe_softmax(self: Array, *, dim: int) -> Array:
    kernel = SAFE_SOFTMAX_KERNEL.specialize(self) if dim == self.ndim - 1 else None
    if kernel is not None:
        weights: Array = kernel(row_by_row(self))
        return weights
    result = _softmax(self, dim=dim)
    masked = np.logical_and.reduce(self == -np.inf, axis=dim, keepdims=True)
    if masked.any():
        np.copyto(result, 0, where=masked)
    return result


SAFE_SOFTMAX = Op(
    "_safe_softmax", _safe_softmax, node="SafeSoftmaxBackward0",
    grads={"self": _softmax_gradient}, bare=True,
)  # fmt: skip


def _implicit_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=user_stacklevel(),
    )
    return 0 if ndim in (0, 1, 3) else 1


def _along_rows(name: str, words: str, op: Op, kernel: Any) -> Callable[..., Tensor]:
    """The function of an operation along a dimension, which is the last one as a rule."""

    def function(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
        if not isinstance(input, Tensor):
            raise errors.wrong_argument(name, "input", 1, "Tensor", input)
        array, state = input._array, local.state
        last = array.ndim - 1
        # What is usual: rows one after another, of a type that the kernel is ready for.
        if (
            type(dim) is int
            and (dim == -1 or dim == last)
            and array.dtype in kernel.ready
            and dtype is None
            and state.intercept is None
            and array.size
            and (not last or (last > 0 and array.flags.c_contiguous))
        ):
            return op.output(state, (input,), {"dim": last}, kernel.ufunc(array))
        return _along(op, input, dim, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = words
    return public(accept=out_checks.exact, differentiable=None)(numpy_names(function))


def _along(op: Op, input: Tensor, dim: int, dtype: dtypes.dtype | None) -> Tensor:
    if dtype is not None and input.dtype is not dtype:
        input = input.to(dtype)
    array, state = input._array, local.state
    wrapped = wrap_dim(dim, array.ndim)
    if (array.dtype is F32 or array.dtype is F64) and state.intercept is None:
        return op.output(state, (input,), {"dim": wrapped}, op.forward(array, dim=wrapped))
    if input.dtype.category != dtypes.FLOAT and array.size:
        is_last = wrapped >= array.ndim - 1
        words = f"{op.name}_lastdim_kernel_impl" if is_last else f"{op.name}_kernel_impl"
        raise errors.no_kernel(words, input.dtype)
    if input.dtype.is_complex and state.grad_enabled and input.requires_grad:
        raise RuntimeError(
            f"_{op.name} does not support automatic differentiation for outputs with complex dtype."
            + errors.at_user_line()
        )
    return cast(Tensor, op(input, dim=wrapped))


_SOFTMAX_WORDS = """exp(x) divided by its sum along a dimension.

Args:
    dim: the dimension along which the results sum to 1
    dtype: what the input is converted to first

Example:
    >>> clew.softmax(clew.tensor([[0.0, 1.0], [5.0, 5.0]]), dim=1)
    tensor([[0.2689, 0.7311],
            [0.5000, 0.5000]])
"""
_LOG_SOFTMAX_WORDS = """The logarithm of `softmax`, computed without its underflow.

Args:
    dim: the dimension along which the probabilities sum to 1
    dtype: what the input is converted to first

Example:
    >>> clew.log_softmax(clew.tensor([0.0, 100.0]), dim=0)
    tensor([-100.,    0.])
"""
softmax = _along_rows("softmax", _SOFTMAX_WORDS, SOFTMAX, SOFTMAX_KERNEL)
log_softmax = _along_rows("log_softmax", _LOG_SOFTMAX_WORDS, LOG_SOFTMAX, LOG_SOFTMAX_KERNEL)


def functional_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """exp(x) divided by its sum along a dimension.

    Args:
        dim: the dimension along which the results sum to 1; None, deprecated, chooses by rank
        dtype: what the input is converted to first

    Example:
        >>> F.softmax(clew.tensor([[0.0, 1.0], [5.0, 5.0]]), dim=1)
        tensor([[0.2689, 0.7311],
                [0.5000, 0.5000]])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input._array.ndim)
    return softmax(input, dim, dtype)


def functional_log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of `softmax`, computed without its underflow.

    Args:
        dim: the dimension along which the probabilities sum to 1; None, deprecated, chooses by rank
        dtype: what the input is converted to first

    Example:
        >>> F.log_softmax(clew.tensor([0.0, 100.0]), dim=0)
        tensor([-100.,    0.])
    """
    if dim is None:
        dim = _implicit_dim("log_softmax", input._array.ndim)
    return log_softmax(input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample that is nearly one-hot, with a gradient for the logits.

    Args:
        logits: log-probabilities, which need not be normalized
        tau: the temperature; the lower, the closer to one-hot
        hard: make the sample one-hot, with the gradient of the soft one
        eps: deprecated; it changes nothing
        dim: the dimension of the classes

    Example:
        >>> F.gumbel_softmax(clew.tensor([0.0, 100.0, 0.0]), hard=True)
        tensor([0., 1., 0.])
    """
    if eps != 1e-10:
        warnings.warn(
            "`eps` parameter is deprecated and has no effect.", stacklevel=user_stacklevel()
        )
    gumbels = -empty_like(logits).exponential_().log()
    soft = softmax((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    chosen = soft.detach().argmax(dim, keepdim=True)
    one_hot = zeros_like(logits).scatter_(dim, chosen, 1.0)
    return one_hot - soft.detach() + soft


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """`softmax` of the negated input.

    Args:
        dim: the dimension along which the results sum to 1; None, deprecated, chooses by rank
        dtype: what the input is converted to first

    Example:
        >>> F.softmin(clew.tensor([1.0, 2.0]), dim=0)
        tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = _implicit_dim("softmin", input._array.ndim)
    return softmax(-input, dim, dtype)
