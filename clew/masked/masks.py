"""Masks over tensors, and values that stand for the elements they leave out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor, wrap
from clew.ops.define.dims import wrap_dim

Dims = int | Sequence[int] | None


def mask_of(input: Tensor, mask: Tensor) -> Tensor:
    """The mask in the input's shape."""
    have, want = mask._array.ndim, input._array.ndim
    if have > want:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input)" + errors.at_user_line()
        )
    if mask.dtype is not dtypes.bool_:
        mask = mask != 0
    return mask.expand(input._array.shape) if mask._array.shape != input._array.shape else mask


def filled(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """The input with a value in place of what the mask leaves out."""
    if mask is None:
        return input
    return input.where(mask_of(input, mask), wrap(np.asarray(value, input._array.dtype)))


def filled_with(
    identity: Callable[[dtypes.dtype, str], Any], function: str, input: Tensor, mask: Tensor | None
) -> Tensor:
    """`filled`, with the value that the function named does not see."""
    return input if mask is None else filled(input, mask, identity(input.dtype, function))


def converted(input: Tensor, dtype: dtypes.dtype | None) -> Tensor:
    return input if dtype is None or input.dtype is dtype else input.to(dtype)


def sum_dtype(input: Tensor, dtype: dtypes.dtype | None) -> dtypes.dtype:
    """What sums and products are computed in: integers in int64."""
    if dtype is not None:
        return dtypes.of_python(dtype)
    return input.dtype if input.dtype.category >= dtypes.FLOAT else dtypes.int64


def largest(dtype: dtypes.dtype, function: str) -> Any:
    """What stands for an element left out where the smallest one is looked for."""
    return math.inf if dtype.is_floating_point else _of_integers(dtype, function).max


def smallest(dtype: dtypes.dtype, function: str) -> Any:
    """What stands for an element left out where the largest one is looked for."""
    return -math.inf if dtype.is_floating_point else _of_integers(dtype, function).min


def _of_integers(dtype: dtypes.dtype, function: str) -> Any:
    if dtype is dtypes.bool_:
        raise NotImplementedError(
            f"identity of {function} on {dtype} input\n  Convert it to integers first."
            + errors.at_user_line()
        )
    return dtypes.iinfo(dtype)


def reduced_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, rising; None means all, and so does an empty list."""
    if dim is None:
        return tuple(range(ndim))
    listed = (dim,) if isinstance(dim, int) else tuple(dim)
    if not listed:
        return tuple(range(ndim))
    dims: list[int] = []
    for each in listed:
        place = wrap_dim(each, ndim) if ndim else wrap_dim(each, 0)
        if place in dims:
            raise RuntimeError(
                f"dim={each} appears multiple times in the list of dims" + errors.at_user_line()
            )
        dims.append(place)
    return tuple(sorted(dims)) if ndim else ()


def place_of(dim: int, ndim: int) -> int:
    """The one dimension along which a function works."""
    return (reduced_dims(dim, ndim) or (0,))[0]


def _reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    kept = (1 if place in dims else n for place, n in enumerate(shape))
    return tuple(kept) if keepdim else tuple(n for i, n in enumerate(shape) if i not in dims)


def count_of(input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements count for each element of the result."""
    shape = input._array.shape
    if mask is None:
        size = math.prod(shape[place] for place in dims)
        return wrap(np.full(_reduced_shape(shape, dims, keepdim), size, np.int64))
    ones = mask.expand(shape).to(dtypes.int64)
    return ones.sum(dims, keepdim) if dims else ones
