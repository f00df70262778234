"""What the kernels share: the array type, computed indices, and the precision to compute in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

from clew.kernels import compiled
from clew.kernels.compiled import complex_parts
from clew.kernels.compiled.copies import copied
from clew.kernels.compiled.threaded_ufuncs import threaded
from clew.kernels.numpy.conversion import converted

Array = NDArray[Any]

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_C32 = np.dtype(ml_dtypes.complex32)
_WIDER: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.float16): _F32,
    np.dtype(ml_dtypes.bfloat16): _F32,
    _C32: np.dtype(np.complex64),
}


def at(*parts: Any) -> tuple[Any, ...]:
    """An index put together from slices, integers, None and Ellipsis, as in `x[at(..., *where)]`.

    The same tuple written directly has no type that an array accepts as an index.
    """
    return parts


def sum_of_products(a: Array, b: Array, axes: tuple[int, ...]) -> Array:
    """The sum of `a * b` over some axes, which are kept with size 1.

    Along the last axis alone there is a product of rows that needs no temporary array.
    """
    if axes == (a.ndim - 1,) and a.size:
        return np.vecdot(a, b)[..., None]
    return np.asarray(np.add.reduce(a * b, axis=axes, keepdims=True))


def compute_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """What 16-bit floats are computed in, which BLAS does not know; any other dtype itself."""
    resolved: np.dtype[Any] = np.dtype(dtype)
    return _WIDER.get(resolved, resolved)


def widened(array: Array) -> Array:
    """The array in its compute dtype; the array itself when that is its own dtype."""
    if array.dtype is _F32 or array.dtype is _F64:
        return array
    return converted(array, compute_dtype(array.dtype))


def rounded(array: Array, dtype: np.dtype[Any]) -> Array:
    """What `dtype` can hold of an intermediate result, in the compute dtype.

    PyTorch computes with some halves step by step, and rounds after each.
    """
    return widened(converted(array, dtype)) if dtype in _WIDER else array


def redo_single_elements(
    out: Array, block: int, formula: Callable[..., Array], *operands: Array
) -> None:
    """Overwrite those elements of a result in halves that PyTorch computes one by one.

    Its loops take whole blocks of neighbours in memory and round once. What is left of a row, and
    rows with gaps, they take by single elements, and round after each step, as `formula` does.
    """
    views = (out, *(np.broadcast_to(each, out.shape) for each in operands))
    if not all(each.flags.c_contiguous for each in views):
        order = sorted(range(out.ndim), key=lambda axis: -out.strides[axis])
        views = tuple(each.transpose(order) for each in views)
    if all(each.flags.c_contiguous for each in views):
        views = tuple(each.reshape(-1) for each in views)
    if any(each.strides[-1] not in (0, each.itemsize) for each in views):
        start = 0
    else:
        start = views[0].shape[-1] // block * block
    rest = tuple(each[..., start:] for each in views)
    if rest[0].size:
        rest[0][...] = formula(*rest[1:])


def row_by_row(array: Array) -> Array:
    """The array, copied if its elements do not follow each other in memory row by row."""
    if array.flags.c_contiguous:
        return array
    transposed = compiled.transpose.transposed_copy(array)
    return copied(array) if transposed is None else transposed


def as_new(array: Array) -> Array:
    """The array as if it were new: row by row, with the usual strides also where a size is 1."""
    if not array.flags.c_contiguous:
        return row_by_row(array)
    return array.reshape(-1).reshape(array.shape) if 1 in array.shape else array


# NumPy's own complex types have these parts as attributes; complex32 is not one of them.
_HALF_PARTS = np.dtype([("real", np.float16), ("imag", np.float16)])


def real_part(array: Array) -> Array:
    """The real parts of numbers, in the same memory."""
    return array.real if array.dtype != _C32 else array.view(_HALF_PARTS)["real"]


def imaginary_part(array: Array) -> Array:
    """The imaginary parts of complex numbers, in the same memory."""
    return array.imag if array.dtype != _C32 else array.view(_HALF_PARTS)["imag"]


def reciprocals(array: Array) -> Array:
    """1 / x for each element, by a division where numbers are complex.

    NumPy's `reciprocal` rounds them more often, and its 1 / 0 is NaN in both parts.
    """
    if array.dtype.kind == "c":
        return complex_parts.quotients(1, array)
    return np.asarray(threaded(np.reciprocal, array))


def are_below(indices: Array, limit: int) -> bool:
    """Whether integers are all among 0, ..., limit - 1."""
    if not indices.size:
        return True
    # Read as unsigned, negative ones are larger than any limit. To look for the place of the
    # largest takes a quarter of the time of a reduction of few.
    unsigned = indices.view(_UNSIGNED[indices.itemsize])
    return bool(unsigned.item(unsigned.argmax()) < limit)


def is_inexact(dtype: DTypeLike) -> bool:
    """Whether values of the dtype are real or complex floating point numbers."""
    return compute_dtype(dtype).kind in "fc"
