"""Where the elements of float32 or int32 are in their order along a dimension.

Each gets a key: an integer whose upper half is ordered as the elements are, and whose lower half is
the element's place. NumPy sorts integers in vectors, several times as fast as it finds places; and
as no two keys are equal, every way to order them keeps equal elements in order. NaN is greater than
every number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.codegen.ir import F32, I32, I64, position, where
from clew.kernels.codegen.ufunc import over_rows

Array = np.ndarray

# The lower half of a key, and the largest number of the upper half.
_PLACE = np.int64(0xFFFFFFFF)
_LARGEST = 0x7FFFFFFF
# Which of the upper half's bits change: none, or all of them, for the opposite order.
_ASCENDING, _DESCENDING = np.array(0), np.array(-1)


@over_rows("order_keys", "(n),()->(n)", types=[([each, I64], [I64]) for each in (F32, I32)])
def _KEYS(x: Any, turn: Any) -> Any:
    order = _order_of_bits(x) if x.dtype == F32 else x
    return ((order.convert(I64) ^ turn) << 32) | position()


def _order_of_bits(x: Any) -> Any:
    """Of negative numbers all bits but the sign count the other way; both zeros are equal."""
    bits = (x + 0.0).bits()
    order = where(bits < 0, bits ^ _LARGEST, bits)
    return where(x.ne(x), order.like(_LARGEST), order)


def _keys(array: Array, dim: int, descending: bool) -> Array | None:
    """A key for each element, with `dim` as the last dimension; None for other dtypes."""
    kernel = _KEYS.when(array)
    if kernel is None or not array.size or array.shape[dim] > _LARGEST:
        return None
    keys: Array = kernel(array.swapaxes(dim, -1), _DESCENDING if descending else _ASCENDING)
    return keys


def _places(keys: Array, dim: int) -> Array:
    """Where the elements are that keys belong to, with the dimension back at its place."""
    places: Array = keys & _PLACE
    return places if dim == keys.ndim - 1 else np.ascontiguousarray(places.swapaxes(dim, -1))


def argsort(array: Array, dim: int, descending: bool) -> Array | None:
    """The places in order; None for a dtype without keys."""
    keys = _keys(array, dim, descending)
    if keys is None:
        return None
    keys.sort(-1)
    return _places(keys, dim)


def argtop(array: Array, count: int, dim: int, largest: bool) -> Array | None:
    """The places of the first few in descending, or in ascending order, in this order."""
    keys = _keys(array, dim, largest)
    if keys is None:
        return None
    if 0 < count < keys.shape[-1]:
        keys.partition(count - 1, -1)
    first = keys[..., :count].copy()
    first.sort(-1)
    return _places(first, dim)


def argrank(array: Array, rank: int, dim: int) -> Array | None:
    """The place of the element with so many before it in ascending order."""
    keys = _keys(array, dim, descending=False)
    if keys is None:
        return None
    keys.partition(rank, -1)
    return _places(keys[..., rank : rank + 1], dim)
