"""Logarithms of complex numbers near 1, and of sums of exponentials."""

from __future__ import annotations

import numpy as np

from clew.kernels.numpy.arrays import Array


def log1p(z: Array) -> Array:
    """log(1 + z); NumPy's loses the real part of small numbers.

    |1 + z|^2 is 1 + x (2 + x) + y^2, and its logarithm is exact where that is close to 1.
    """
    x, y = z.real, z.imag
    if z.dtype == np.complex64:
        x, y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        beyond_one = x * (2 + x) + y * y
        near = np.absolute(beyond_one) < 0.5
        size = np.log(np.hypot(1 + x, y))
        size = np.where(near, 0.5 * np.log1p(np.where(near, beyond_one, 0)), size)
        result = np.empty(z.shape, z.dtype)
        result.real, result.imag = size, np.arctan2(y, 1 + x)
    return result


def logaddexp(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)), shifted by the one with the larger real part."""
    first = a.real >= b.real
    larger, smaller = np.where(first, a, b), np.where(first, b, a)
    with np.errstate(all="ignore"):
        result = larger + log1p(np.exp(smaller - larger))
        # Equal infinities have no difference: nothing is added to nothing, and infinite sums are
        # what their parts make of them.
        infinite = (larger.real == smaller.real) & np.isinf(larger.real)
        if infinite.any():
            plain = np.where(larger.real < 0, a, np.log(np.exp(a) + np.exp(b)))
            result = np.where(infinite, plain, result)
    undefined = np.isnan(a) | np.isnan(b)
    return np.where(undefined, np.asarray(complex(np.nan, np.nan), result.dtype), result)
