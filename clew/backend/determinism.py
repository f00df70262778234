"""Deterministic mode, as programs ask for it. Operations are deterministic anyway.

What the mode changes is memory that nobody has written to: `empty` and `resize_` fill it.
"""

from __future__ import annotations

import numpy as np

from clew.backend import dtypes


class Determinism:
    """What was asked for."""

    enabled = False
    warn_only = False
    # Whether new memory is filled while the mode is on.
    fills_memory = True


def fill_unwritten(array: np.ndarray) -> np.ndarray:
    """The same array; in deterministic mode its elements are NaN or the largest integer."""
    if Determinism.enabled and Determinism.fills_memory and array.flags.writeable:
        array[...] = _unlikely(dtypes.BY_NUMPY[array.dtype])
    return array


def _unlikely(dtype: dtypes.dtype) -> complex | float | int:
    if dtype.is_complex:
        return complex(np.nan, 0)
    if dtype.is_floating_point:
        return np.nan
    return True if dtype is dtypes.bool_ else dtypes.iinfo(dtype).max
