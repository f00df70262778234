"""The regularized incomplete gamma functions over arrays.

The power series serves where x is below a, a continued fraction elsewhere; for very large a,
where both would take long, an expansion in 1/a that holds for all x.
"""

from __future__ import annotations

import math

import numpy as np

from clew.kernels.numpy.special_functions import erfc, in_double, lgamma

Array = np.ndarray

# From here on the expansion's two terms are exact to about 1e-10.
LARGE = 1e6
MAX_TERMS = 20_000
EPSILON = float(np.finfo(np.float64).eps)
# After so many terms, elements that have converged are left out of those that follow.
ROUND = 8
# A stand-in for zero denominators in the continued fraction.
TINY = 1e-300


def _prefix(a: Array, x: Array) -> Array:
    """x^a e^-x / Gamma(a + 1)."""
    return np.exp(a * np.log(x) - x - lgamma(a + 1.0))


def _by_series(a: Array, x: Array) -> Array:
    """P(a, x) as the sum of x^k / ((a + 1) ... (a + k)), times the prefix."""
    sums = np.empty_like(a)
    left = np.arange(a.size)
    part_a, part_x = a, x
    term, total = np.ones_like(a), np.ones_like(a)
    for k in range(1, MAX_TERMS):
        term *= part_x / (part_a + k)
        total += term
        if k % ROUND == 0:
            going = term > EPSILON * total
            sums[left] = total
            if not going.any():
                break
            left, part_a, part_x = left[going], part_a[going], part_x[going]
            term, total = term[going], total[going]
    sums[left] = total
    return sums * _prefix(a, x)


def _by_fraction(a: Array, x: Array) -> Array:
    """Q(a, x) by its continued fraction, evaluated from the front (Lentz)."""
    values = np.empty_like(a)
    left = np.arange(a.size)
    part_a, b = a, x + 1.0 - a
    c = np.full_like(a, 1.0 / TINY)
    d = 1.0 / np.where(b == 0, TINY, b)
    value = d.copy()
    for k in range(1, MAX_TERMS):
        numerator = -k * (k - part_a)
        b = b + 2.0
        d = numerator * d + b
        d[d == 0] = TINY
        d = 1.0 / d
        c = b + numerator / c
        c[c == 0] = TINY
        factor = c * d
        value *= factor
        if k % ROUND == 0:
            # The last bits of the factor go on changing for ever.
            going = np.abs(factor - 1.0) > 4 * EPSILON
            values[left] = value
            if not going.any():
                break
            left, part_a, b = left[going], part_a[going], b[going]
            c, d, value = c[going], d[going], value[going]
    values[left] = value
    return values * a * _prefix(a, x)


def _upper_large(a: Array, x: Array) -> Array:
    """Q(a, x) for very large a, in terms of erfc (Temme)."""
    excess = (x - a) / a
    half_square = excess - np.log1p(excess)
    eta = np.copysign(np.sqrt(2.0 * half_square), excess)
    near = np.abs(eta) < 1e-3
    safe = np.where(near, 1.0, eta)
    correction = np.where(
        near, -1.0 / 3.0 + eta / 12.0, 1.0 / np.where(near, 1.0, excess) - 1.0 / safe
    )
    tail = np.exp(-a * half_square) / np.sqrt(2.0 * math.pi * a)
    return 0.5 * erfc(eta * np.sqrt(0.5 * a)) + tail * correction


def _regular(a: Array, x: Array, upper: bool) -> Array:
    """P or Q for finite positive a and x; each method's own side loses no digits."""
    result = np.empty_like(a)
    large = a > LARGE
    series = ~large & ((x < a) | (x < 1.0))
    fraction = ~large & ~series
    for where, method, gives_upper in (
        (large, _upper_large, True), (series, _by_series, False), (fraction, _by_fraction, True),
    ):  # fmt: skip
        if where.any():
            value = method(a[where], x[where])
            result[where] = value if gives_upper is upper else 1.0 - value
    return np.clip(result, 0.0, 1.0)


def _incomplete(a: Array, x: Array, upper: bool) -> Array:
    empty, full = (1.0, 0.0) if upper else (0.0, 1.0)
    result = np.full_like(a, np.nan)
    # As in PyTorch, a NaN does not matter beside a 0 or an infinity.
    valid = ~((a < 0) | (x < 0))
    result[valid & (a == 0) & (x > 0)] = full
    result[valid & (a != 0) & (x == 0)] = empty
    result[valid & np.isinf(a) & ~np.isinf(x)] = empty
    result[valid & np.isinf(x) & ~np.isinf(a)] = full
    regular = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    if regular.any():
        result[regular] = _regular(a[regular], x[regular], upper)
    return result


@in_double
def igamma(a: Array, x: Array) -> Array:
    """The regularized lower incomplete gamma function P(a, x)."""
    return _incomplete(a, x, upper=False)


@in_double
def igammac(a: Array, x: Array) -> Array:
    """The regularized upper incomplete gamma function Q(a, x)."""
    return _incomplete(a, x, upper=True)
