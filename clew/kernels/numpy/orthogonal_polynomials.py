"""Orthogonal polynomials over arrays, by the recurrences that define them.

`degree` has an integer for each element of `x`; degrees below 0 give 0. They are computed in
float64. Chebyshev polynomials between -1 and 1 are cosines and sines of multiples of an angle, so
that high degrees are accurate, too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clew.kernels.numpy.arrays import Array

# p[k + 1] from x, k, p[k] and p[k - 1].
Step = Callable[[Array, int, Array, Array], Array]

# Up to this degree, recurrences are used between -1 and 1, too: they are exact for fractions.
LOW_DEGREE = 6
# So many steps are taken between two looks at whether all that is left is NaN.
LOOK_EVERY = 64


def recurrence(x: Array, degree: Array, first: Array, step: Step) -> Array:
    """p[degree](x), where p[0] is 1, p[1] is `first`, and `step` leads on."""
    result = (degree == 0).astype(x.dtype)
    before, now = np.ones_like(x), first
    highest = int(degree.max(initial=0))
    for k in range(1, highest + 1):
        np.copyto(result, now, where=degree == k)
        if k % LOOK_EVERY == 0 and np.isnan(now[degree > k]).all():
            result[degree > k] = np.nan
            break
        before, now = now, step(x, k, now, before)
    return result


def _chebyshev_step(x: Array, k: int, now: Array, before: Array) -> Array:
    return (x + x) * now - before


def _chebyshev(
    x: Array, degree: Array, first: Callable[[Array], Array], wave: Callable[[Array, Array], Array]
) -> Array:
    """`wave` is the polynomial as a function of the degree and the angle whose cosine is x."""
    inside = (degree > LOW_DEGREE) & (np.absolute(x) < 1)
    if not inside.any():
        return recurrence(x, degree, first(x), _chebyshev_step)
    result = np.empty_like(x)
    result[inside] = wave(degree[inside].astype(x.dtype), np.arccos(x[inside]))
    rest = x[~inside]
    result[~inside] = recurrence(rest, degree[~inside], first(rest), _chebyshev_step)
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
    return recurrence(x, degree, x + x, lambda x, k, now, before: (x + x) * now - (k + k) * before)


def hermite_he(x: Array, degree: Array) -> Array:
    """The probabilist's Hermite polynomials, orthogonal with the weight exp(-x²/2)."""
    return recurrence(x, degree, x, lambda x, k, now, before: x * now - k * before)


def laguerre_l(x: Array, degree: Array) -> Array:
    """Laguerre polynomials, orthogonal with the weight exp(-x) for x > 0."""
    return recurrence(
        x,
        degree,
        1 - x,
        lambda x, k, now, before: ((k + k + 1 - x) * now - k * before) / (k + 1),
    )


def legendre_p(x: Array, degree: Array) -> Array:
    """Legendre polynomials, orthogonal between -1 and 1."""
    return recurrence(
        x, degree, x, lambda x, k, now, before: ((k + k + 1) * x * now - k * before) / (k + 1)
    )


def of_numbers(polynomial: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """The same over arrays that broadcast, with degrees as floats, which are truncated."""

    def function(x: Array, n: Array) -> Array:
        x, n = np.broadcast_arrays(np.asarray(x), np.asarray(n))
        dtype = np.result_type(x, n) if x.dtype != n.dtype else x.dtype
        fits = np.isfinite(n) & (np.absolute(n) < 2**62)
        degree = np.where(fits, n, -1).astype(np.int64)
        shape = x.shape
        x, degree = x.astype(np.float64, copy=False).reshape(-1), degree.reshape(-1)
        with np.errstate(all="ignore"):
            return polynomial(x, degree).reshape(shape).astype(dtype, copy=False)

    return function


def shifted(polynomial: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """The same polynomials, moved from [-1, 1] to [0, 1]."""
    return lambda x, degree: polynomial(x + x - 1, degree)
