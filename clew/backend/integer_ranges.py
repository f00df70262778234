"""The integers that `random_` may draw for a dtype, with PyTorch's checks and words."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import ml_dtypes
import numpy as np

from clew.source import user_stacklevel

from .dtypes import BY_NUMPY

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
MANTISSA_BITS: dict[np.dtype[Any], int] = {
    np.dtype(np.float16): 11, BFLOAT16: 8, np.dtype(np.float32): 24, np.dtype(np.float64): 53,
}  # fmt: skip
INT64_MIN = -(2**63)


def largest_integer(kind: np.dtype[Any]) -> int:
    if kind == np.bool_:
        return 1
    if kind in MANTISSA_BITS:
        return int(2 ** MANTISSA_BITS[kind])
    return int(np.iinfo(kind).max)


def checked_span(kind: np.dtype[Any], low: int, high: int | None) -> tuple[int, int]:
    """Return the first integer to draw and how many there are."""
    if high is not None and low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if kind in MANTISSA_BITS:
        low, high = _representable(kind, low, high)
    smallest, largest = _bounds(kind)
    last = high - 1 if high is not None else largest_integer(kind)
    for name, bound in (("from", low), ("to - 1", last)):
        if not smallest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {BY_NUMPY[kind].c_name}")
        if kind in MANTISSA_BITS and abs(bound) > 2 ** MANTISSA_BITS[kind]:
            bits, c_name = MANTISSA_BITS[kind], BY_NUMPY[kind].c_name
            warnings.warn(
                f"{name} is out of bounds [-(2^{bits}), 2^{bits}]. Due to precision limitations "
                f"{c_name} can support discrete uniform distribution only within this range. This "
                "warning will become an error in version 1.7 release, please fix the code in "
                "advance",
                stacklevel=user_stacklevel(),
            )
    return low, last - low + 1


@functools.cache
def _bounds(kind: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and the largest number of a dtype."""
    if kind in MANTISSA_BITS:
        largest = float(ml_dtypes.finfo(kind).max)
        return -largest, largest
    if kind == np.bool_:
        return 0, 1
    # Bounds are signed 64-bit numbers, so the upper half of uint64 is out of reach.
    return int(np.iinfo(kind).min), min(int(np.iinfo(kind).max), 2**63 - 1)


def _representable(kind: np.dtype[Any], low: int, high: int | None) -> tuple[int, int | None]:
    """Move bounds inwards where rounding to ``kind`` would carry a drawn integer outside them."""
    bits = MANTISSA_BITS[kind]
    after = _rounded(kind, low + 1)
    if after < low:
        low = after + _gap(low + 1, bits)
    if high is not None:
        before = _rounded(kind, high - 1)
        if before >= high:
            high = before - _gap(high - 1, bits)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but "
                f"got from={low} >= to={high}"
            )
    return low, high


def _rounded(kind: np.dtype[Any], value: int) -> int:
    with np.errstate(over="ignore"):
        rounded = float(np.asarray(value, np.float64).astype(kind))
    return int(rounded) if math.isfinite(rounded) else INT64_MIN


def _gap(value: int, bits: int) -> int:
    return 1 << (abs(value).bit_length() - bits)
