"""argsort and medians of float32 and int32, by sorting 64-bit keys.

The upper half of a key is ordered as the elements are, the lower half is the element's index. NumPy
sorts integers with vector instructions, several times as fast as its argsort; and as no two keys
are equal, every sort is stable. NaN is greater than every number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.codegen.ir import F32, I32, I64, position, where
from clew.kernels.codegen.ufunc import over_rows

Array = np.ndarray

# The lower half of a key, and the largest number of the upper half.
_INDEX_BITS = np.int64(0xFFFFFFFF)
_LARGEST = 0x7FFFFFFF
# Which bits of the upper half are flipped: none, or all of them, for the opposite order.
_ASCENDING, _DESCENDING = np.array(0), np.array(-1)


@over_rows("order_keys", "(n),()->(n)", types=[([each, I64], [I64]) for each in (F32, I32)])
def _KEYS(x: Any, flip: Any) -> Any:
    order = _order_of_bits(x) if x.dtype == F32 else x
    return ((order.convert(I64) ^ flip) << 32) | position()


def _order_of_bits(x: Any) -> Any:
    """The bits of floats as integers of the same order: sign-magnitude to two's complement."""
    bits = (x + 0.0).bits()
    order = where(bits < 0, bits ^ _LARGEST, bits)
    return where(x.ne(x), order.like(_LARGEST), order)


def _keys(array: Array, dim: int, descending: bool) -> Array | None:
    """A key for each element, with `dim` as the last dimension; None for other dtypes."""
    kernel = _KEYS.specialize(array)
    if kernel is None or not array.size or array.shape[dim] > _LARGEST:
        return None
    keys: Array = kernel(array.swapaxes(dim, -1), _DESCENDING if descending else _ASCENDING)
    return keys


def _indices(keys: Array, dim: int) -> Array:
    """The indices in keys, with the dimension moved back."""
    indices: Array = keys & _INDEX_BITS
    return indices if dim == keys.ndim - 1 else np.ascontiguousarray(indices.swapaxes(dim, -1))


def argsort(array: Array, dim: int, descending: bool) -> Array | None:
    """The indices in order; None for a dtype without keys."""
    keys = _keys(array, dim, descending)
    if keys is None:
        return None
    keys.sort(-1)
    return _indices(keys, dim)


def argrank(array: Array, rank: int, dim: int) -> Array | None:
    """The index of the element of a rank in ascending order."""
    keys = _keys(array, dim, descending=False)
    if keys is None:
        return None
    keys.partition(rank, -1)
    return _indices(keys[..., rank : rank + 1], dim)
