"""Orthogonal polynomials over arrays, by the recurrences that define them.

`degree` has an integer for each element of `x`; degrees below 0 give 0. They are computed in the
dtype of `x` and rounded as PyTorch rounds them. Chebyshev polynomials are computed in float64:
between -1 and 1 they are cosines and sines of multiples of an angle, so that high degrees are
accurate, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew.kernels.compiled.series import recurrence
from clew.kernels.numpy.arrays import Array

# Up to this degree, recurrences are used between -1 and 1, too: they are exact for fractions.
LOW_DEGREE = 6


def _chebyshev_step(x: Any, k: Any, now: Any, before: Any) -> Any:
    return (x + x).fma(now, -before)


def _hermite_h_step(x: Any, k: Any, now: Any, before: Any) -> Any:
    return (x + x).fma(now, -((k + k) * before))


def _hermite_he_step(x: Any, k: Any, now: Any, before: Any) -> Any:
    return x.fma(now, -(k * before))


def _laguerre_step(x: Any, k: Any, now: Any, before: Any) -> Any:
    return (k + k + (1.0 - x)).fma(now, -(k * before)) / (k + 1.0)


def _legendre_step(x: Any, k: Any, now: Any, before: Any) -> Any:
    return ((k + k + 1.0) * x).fma(now, -(k * before)) / (k + 1.0)


def _chebyshev(
    x: Array, degree: Array, first: Callable[[Array], Array], wave: Callable[[Array, Array], Array]
) -> Array:
    """`wave` is the polynomial as a function of the degree and the angle whose cosine is x."""
    x = x.astype(np.float64, copy=False)
    inside = (degree > LOW_DEGREE) & (np.absolute(x) < 1)
    if not inside.any():
        return recurrence("chebyshev", _chebyshev_step, x, degree, first(x))
    result = np.empty_like(x)
    result[inside] = wave(degree[inside].astype(x.dtype), np.arccos(x[inside]))
    rest = x[~inside]
    result[~inside] = recurrence("chebyshev", _chebyshev_step, rest, degree[~inside], first(rest))
    return result


def chebyshev_t(x: Array, degree: Array) -> Array:
    """cos(nθ), where x = cos θ."""
    return _chebyshev(x, degree, lambda x: x, lambda n, angle: np.cos(n * angle))


def chebyshev_u(x: Array, degree: Array) -> Array:
    """sin((n + 1)θ) / sin θ."""
    return _chebyshev(
        x, degree, lambda x: x + x, lambda n, angle: np.sin((n + 1) * angle) / np.sin(angle)
    )


def chebyshev_v(x: Array, degree: Array) -> Array:
    """cos((n + ½)θ) / cos(θ/2)."""
    return _chebyshev(
        x,
        degree,
        lambda x: x + x - 1,
        lambda n, angle: np.cos((n + n + 1) * angle / 2) / np.cos(angle / 2),
    )


def chebyshev_w(x: Array, degree: Array) -> Array:
    """sin((n + ½)θ) / sin(θ/2)."""
    return _chebyshev(
        x,
        degree,
        lambda x: x + x + 1,
        lambda n, angle: np.sin((n + n + 1) * angle / 2) / np.sin(angle / 2),
    )


def hermite_h(x: Array, degree: Array) -> Array:
    """The physicist's Hermite polynomials, orthogonal with the weight exp(-x²)."""
    return recurrence("hermite_h", _hermite_h_step, x, degree, x + x)


def hermite_he(x: Array, degree: Array) -> Array:
    """The probabilist's Hermite polynomials, orthogonal with the weight exp(-x²/2)."""
    return recurrence("hermite_he", _hermite_he_step, x, degree, x)


def laguerre_l(x: Array, degree: Array) -> Array:
    """Laguerre polynomials, orthogonal with the weight exp(-x) for x > 0."""
    return recurrence("laguerre", _laguerre_step, x, degree, 1 - x)


def legendre_p(x: Array, degree: Array) -> Array:
    """Legendre polynomials, orthogonal between -1 and 1."""
    return recurrence("legendre", _legendre_step, x, degree, x)


def of_numbers(polynomial: Callable[[Array, Array], Array], x: Array, n: Array) -> Array:
    """A polynomial over arrays that broadcast, with degrees as floats, which are truncated."""
    # A number beside an array has its dtype.
    dtype = np.result_type(*(each.dtype for each in (x, n) if isinstance(each, np.ndarray)))
    x, n = np.broadcast_arrays(np.asarray(x), np.asarray(n))
    fits = np.isfinite(n) & (np.absolute(n) < 2**62)
    degree = np.where(fits, n, -1).astype(np.int64)
    shape = x.shape
    x = np.ascontiguousarray(x, dtype).reshape(-1)
    with np.errstate(all="ignore"):
        return polynomial(x, degree.reshape(-1)).reshape(shape).astype(dtype, copy=False)
