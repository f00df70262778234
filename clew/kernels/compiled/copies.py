"""Copies of large arrays on all threads, also of one number or of one number a row.

Elements are moved as floats of their size, so that every dtype has the same few kernels, and all
bits stay as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.kernels.codegen.ir import I32, position, where
from clew.kernels.codegen.ufunc import elementwise, over_rows

Array = np.ndarray

# So many elements NumPy copies more quickly than a second thread wakes up.
THRESHOLD = 1 << 17
# Shorter rows of equal numbers are not worth a kernel over rows.
_MIN_ROW = 8
# The dtypes that elements are moved as, by their size.
_MOVED_AS = {4: np.dtype(np.float32), 8: np.dtype(np.float64)}

MOVE = elementwise("move", 1)(lambda x: x)
_FILL = elementwise("fill", 1, scalars=(0,))(lambda x: x)
# The position makes a value for each element of what is one for the row.
_FILL_ROWS = over_rows("fill_rows", "()->(n)")(lambda x: where(position(I32).eq(-1), 0.0, x))


def copied(array: Array) -> Array:
    """A copy whose elements follow each other row by row."""
    if array.size < THRESHOLD:
        return np.array(array, order="C")
    result = np.empty(array.shape, array.dtype)
    copy_into(result, array)
    return result


def copy_into(target: Array, source: Array) -> None:
    """target[...] = source, of one dtype; the source broadcasts."""
    if target.size < THRESHOLD or not _copy_on_all_threads(target, source):
        if target.itemsize == 2 and source.dtype == target.dtype:
            # NumPy copies a bfloat16 by a call for each element.
            target, source = target.view(np.uint16), source.view(np.uint16)
        target[...] = source


def _copy_on_all_threads(target: Array, source: Array) -> bool:
    """`copy_into` for large arrays; whether there was a kernel for it."""
    moved_as = _MOVED_AS.get(target.itemsize)
    if moved_as is None or source.dtype != target.dtype:
        return False
    to: Any = target.view(moved_as)
    of: Any = source if source.shape == target.shape else np.broadcast_to(source, target.shape)
    of = of.view(moved_as)
    equal = _equal_at_the_end(of)
    if equal == of.ndim:
        _FILL.ufunc(of[(0,) * of.ndim], to)
    elif target.flags.c_contiguous and math.prod(of.shape[of.ndim - equal :]) >= _MIN_ROW:
        rows = of[(..., *(0,) * equal)]
        _FILL_ROWS.ufunc(rows, to.reshape(*rows.shape, -1))
    elif of.strides == to.strides:
        MOVE.ufunc(of, to)
    else:
        return False
    return True


def _equal_at_the_end(array: Array) -> int:
    """The number of dimensions at the end along which all elements are the same."""
    count = 0
    for size, step in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if step and size > 1:
            break
        count += 1
    return count
