"""Reductions of the elements that a mask lets count."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.masked.masks import (
    Dims,
    converted,
    count_of,
    filled,
    filled_with,
    largest,
    place_of,
    reduced_dims,
    smallest,
    sum_dtype,
)
from clew.ops.reduce import norms


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that count.

    Args:
        input: the tensor
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first; integers are added up in int64 otherwise
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> x, mask = clew.tensor([[1, 2], [3, 4]]), clew.tensor([[True, False], [True, True]])
        >>> clew.masked.sum(x, 1, mask=mask)
        tensor([1, 7])
    """
    dims, wanted = reduced_dims(dim, input._array.ndim), sum_dtype(input, dtype)
    values = filled(converted(input, wanted), mask, 0)
    return values.sum(dims, keepdim, dtype=wanted) if dims else values.clone()


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that count.

    Args:
        input: the tensor
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first; integers are multiplied in int64 otherwise
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> x, mask = clew.tensor([[1, 2], [3, 4]]), clew.tensor([[True, False], [True, True]])
        >>> clew.masked.prod(x, 0, mask=mask)
        tensor([3, 4])
    """
    # Other than for sums, an empty list (not an empty tuple) is no dimension at all.
    dims = () if dim == [] else reduced_dims(dim, input._array.ndim)
    wanted = sum_dtype(input, dtype)
    values = filled(converted(input, wanted), mask, 1)
    for place in reversed(dims):
        values = values.prod(place, keepdim, dtype=wanted)
    return values if dims else values.clone()


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest of the elements that count.

    Args:
        input: the tensor
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> x, mask = clew.tensor([[1, 2], [3, 4]]), clew.tensor([[True, False], [True, True]])
        >>> clew.masked.amax(x, 1, mask=mask)
        tensor([1, 4])
    """
    return _extreme("amax", smallest, input, dim, keepdim, dtype, mask)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The smallest of the elements that count.

    Args:
        input: the tensor
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> x, mask = clew.tensor([[1, 2], [3, 4]]), clew.tensor([[False, True], [True, True]])
        >>> clew.masked.amin(x, 1, mask=mask)
        tensor([2, 3])
    """
    return _extreme("amin", largest, input, dim, keepdim, dtype, mask)


def _extreme(
    name: str,
    identity: Callable[[dtypes.dtype, str], Any],
    input: Tensor,
    dim: Dims,
    keepdim: bool,
    dtype: dtypes.dtype | None,
    mask: Tensor | None,
) -> Tensor:
    values = filled_with(identity, name, input, mask)
    dims = reduced_dims(dim, input._array.ndim)
    return converted(getattr(values, name)(dims, keepdim), dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the largest of the elements that count is.

    Args:
        input: the tensor
        dim: the dimension; None for the position among all elements
        keepdim: keep the reduced dimension, with size 1
        dtype: of the position; by default that of the input
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> clew.masked.argmax(clew.tensor([5, 7, 6]), mask=clew.tensor([True, False, True]))
        tensor(2)
    """
    places = filled_with(smallest, "argmax", input, mask).argmax(dim, keepdim)
    return places.to(input.dtype if dtype is None else dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the smallest of the elements that count is.

    Args:
        input: the tensor
        dim: the dimension; None for the position among all elements
        keepdim: keep the reduced dimension, with size 1
        dtype: of the position; by default that of the input
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> clew.masked.argmin(clew.tensor([5, 4, 6]), mask=clew.tensor([True, False, True]))
        tensor(0)
    """
    places = filled_with(largest, "argmin", input, mask).argmin(dim, keepdim)
    return places.to(input.dtype if dtype is None else dtype)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that count; NaN where there are none.

    Args:
        input: floating point or complex
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> x, mask = clew.tensor([[1., 2.], [3., 5.]]), clew.tensor([[True, False], [True, True]])
        >>> clew.masked.mean(x, 1, mask=mask)
        tensor([1., 4.])
    """
    values = converted(input, dtype)
    if values.dtype.category < dtypes.FLOAT:
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {values.dtype}\n  Give dtype=torch.float32."
            + errors.at_user_line()
        )
    dims = reduced_dims(dim, input._array.ndim)
    if mask is None:
        return values.mean(dims, keepdim) if dims else values.clone()
    return sum(values, dims, keepdim=keepdim, mask=mask) / count_of(values, dims, keepdim, mask)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of the elements that count.

    Args:
        input: floating point or complex
        ord: the order, as for `linalg.vector_norm`
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> mask = clew.tensor([True, False, True])
        >>> clew.masked.norm(clew.tensor([3., 100., 4.]), mask=mask)
        tensor(5.)
    """
    order = 2.0 if ord is None else float(ord)
    dims = reduced_dims(dim, input._array.ndim)
    values = converted(input, dtype)
    values = filled(values, mask, math.inf if order < 0 else 0)
    return norms.vector_norm(values, order, dims if dims else None, keepdim)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of exp of the elements that count.

    Args:
        input: the tensor
        dim: the dimension, or several; by default all
        keepdim: keep reduced dimensions, with size 1
        dtype: of the result; by default that of the input, so that integers are rounded
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> mask = clew.tensor([True, False, True])
        >>> clew.masked.logsumexp(clew.tensor([0., 100., 0.]), 0, mask=mask)
        tensor(0.6931)
    """
    dims = reduced_dims(dim, input._array.ndim)
    if input.dtype.is_complex:
        values = filled(input, mask, -math.inf)
    else:
        values = filled_with(smallest, "logsumexp", input, mask)
    return values.logsumexp(dims, keepdim).to(input.dtype if dtype is None else dtype)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median of the elements that count; the lower one of two.

    Args:
        input: the tensor; NaN counts as left out
        dim: the dimension
        keepdim: keep the reduced dimension, with size 1
        dtype: of the result, where the input is not floating point; by default that of the input
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> mask = clew.tensor([True, True, True, False])
        >>> clew.masked.median(clew.tensor([1., 9., 3., 100.]), mask=mask)
        tensor(3.)
    """
    place = place_of(dim, input._array.ndim)
    wanted = input.dtype if dtype is None else dtype
    if input.dtype.is_floating_point:
        return filled(input, mask, math.nan).nanmedian(place, keepdim).values
    # Their own dtype has no value for an element left out.
    found = filled(input.to(dtypes.float64), mask, math.nan).nanmedian(place, keepdim).values
    if found.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
            + errors.at_user_line()
        )
    return found.to(wanted)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that count.

    Args:
        input: the tensor; integers are computed in float32, and complex numbers stay complex
        dim: the dimension, or several; by default all
        unbiased: older form of `correction`: False is 0, True 1
        correction: what is subtracted from the number of elements; 1 unless given
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> mask = clew.tensor([True, False, True])
        >>> clew.masked.var(clew.tensor([1., 100., 3.]), 0, mask=mask)
        tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise RuntimeError(
            "Only one of unbiased and correction may be given" + errors.at_user_line()
        )
    taken = 1.0 if correction is None else float(correction)
    taken = taken if unbiased is None else float(unbiased)
    values = converted(input, dtype)
    dims = reduced_dims(dim, input._array.ndim)
    count = count_of(values, dims, True, mask)
    middle = sum(values, dims, keepdim=True, mask=mask) / count
    distance = values - middle
    squares = distance * distance.conj() if values.dtype.is_complex else distance * distance
    total = sum(squares, dims, keepdim=keepdim, mask=mask)
    left = (count if keepdim else count.reshape(total._array.shape)) - taken
    return total / left.clamp(min=0).to(total.dtype)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the elements that count: the root of their variance.

    Args:
        input: the tensor; integers are computed in float32, and complex numbers stay complex
        dim: the dimension, or several; by default all
        unbiased: older form of `correction`: False is 0, True 1
        correction: what is subtracted from the number of elements; 1 unless given
        keepdim: keep reduced dimensions, with size 1
        dtype: what to convert to first
        mask: True for the elements that count; broadcasts to the input. By default all

    Example:
        >>> mask = clew.tensor([True, False, True])
        >>> clew.masked.std(clew.tensor([1., 100., 3.]), 0, correction=0, mask=mask)
        tensor(1.)
    """
    options = {"correction": correction, "keepdim": keepdim, "dtype": dtype, "mask": mask}
    return var(input, dim, unbiased, **options).sqrt()  # type: ignore[arg-type]  # each its own
