"""Softmax, norms to 1 and running sums along a dimension, over the elements that count."""

from __future__ import annotations

from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.masked.masks import converted, filled, filled_with, largest, place_of, smallest
from clew.masked.reductions import norm
from clew.ops.nn.activation import softmax as softmaxes
from clew.ops.pointwise.combining import logaddexp as plain_logaddexp


def softmax(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The softmax along a dimension over the elements that count.

    Args:
        input: floating point
        dim: the dimension along which the results add up to 1
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> clew.masked.softmax(clew.zeros(3), 0, mask=clew.tensor([True, False, True]))
        tensor([0.5000, 0.0000, 0.5000])
    """
    values = converted(input, dtype)
    place = place_of(dim, input._array.ndim)
    return softmaxes.softmax(filled_with(smallest, "amax", values, mask), place)


def log_softmax(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax` along a dimension over the elements that count.

    Args:
        input: floating point
        dim: the dimension
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> clew.masked.log_softmax(clew.zeros(3), 0, mask=clew.tensor([True, False, True]))
        tensor([-0.6931,    -inf, -0.6931])
    """
    values = converted(input, dtype)
    place = place_of(dim, input._array.ndim)
    return softmaxes.log_softmax(filled_with(smallest, "amax", values, mask), place)


def softmin(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The softmax of `-input` along a dimension over the elements that count.

    Args:
        input: floating point
        dim: the dimension along which the results add up to 1
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> clew.masked.softmin(clew.zeros(3), 0, mask=clew.tensor([True, False, True]))
        tensor([0.5000, 0.0000, 0.5000])
    """
    values = converted(input, dtype)
    place = place_of(dim, input._array.ndim)
    return softmaxes.softmax(-filled_with(largest, "amin", values, mask), place)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that count, divided by their norm along a dimension; the others are 0.

    Args:
        input: floating point or complex
        ord: the order of the norm
        dim: the dimension
        eps: the smallest number to divide by
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> mask = clew.tensor([True, False, True])
        >>> clew.masked.normalize(clew.tensor([3., 100., 4.]), 2, 0, mask=mask)
        tensor([0.6000, 0.0000, 0.8000])
    """
    values = converted(input, dtype)
    place = place_of(dim, input._array.ndim)
    length = norm(values, ord, place, keepdim=True, mask=mask)
    return filled(values, mask, 0) / length.clamp(min=eps)


def cumsum(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The running sums along a dimension of the elements that count.

    Args:
        input: the tensor
        dim: the dimension
        dtype: of the result; by default that of the input, and integers wrap around
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> clew.masked.cumsum(clew.tensor([1, 2, 3]), 0, mask=clew.tensor([True, False, True]))
        tensor([1, 1, 4])
    """
    place = place_of(dim, input._array.ndim)
    wanted = input.dtype if dtype is None else dtype
    return filled(converted(input, wanted), mask, 0).cumsum(place, dtype=wanted)


def cumprod(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The running products along a dimension of the elements that count.

    Args:
        input: the tensor
        dim: the dimension
        dtype: of the result; by default that of the input, and integers wrap around
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> clew.masked.cumprod(clew.tensor([2, 3, 4]), 0, mask=clew.tensor([True, False, True]))
        tensor([2, 2, 8])
    """
    place = place_of(dim, input._array.ndim)
    wanted = input.dtype if dtype is None else dtype
    return filled(converted(input, wanted), mask, 1).cumprod(place, dtype=wanted)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: dtypes.dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """`log(exp(input) + exp(other))` of the elements that count.

    Args:
        input: floating point
        other: floating point
        dtype: what to convert to first
        input_mask: True for the elements of `input` that count. By default all
        other_mask: True for those of `other`. By default all

    Example:
        >>> x, mask = clew.tensor([0., 5.]), clew.tensor([True, False])
        >>> clew.masked.logaddexp(x, x, other_mask=mask)
        tensor([0.6931, 5.0000])
    """
    one, two = converted(input, dtype), converted(other, dtype)
    result: Tensor = plain_logaddexp(
        filled_with(smallest, "logaddexp", one, input_mask),
        filled_with(smallest, "logaddexp", two, other_mask),
    )
    return result.to(one.dtype)
