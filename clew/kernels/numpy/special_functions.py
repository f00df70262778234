"""Special functions over arrays: the error function, gamma, zeta and Bessel families.

NumPy has none of these. Each is computed in float64 to a few units in the last place, from
Chebyshev series whose coefficients were fitted to 40-digit values of the functions; the float32
error function, which activations use, has a short rational form of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.kernels.codegen.special_coefficients import (
    DIGAMMA,
    ERF_NEAR_ZERO,
    ERFCX,
    EULER_MACLAURIN,
    I0_FAR,
    I0_NEAR,
    I1_FAR,
    I1_NEAR,
    LGAMMA,
    STIRLING,
)
from clew.kernels.codegen.ufunc import elementwise
from clew.kernels.compiled.series import chebyshev, polynomial
from clew.kernels.numpy.arrays import compute_dtype, redo_single_elements, rounded, widened
from clew.kernels.numpy.conversion import converted

Array = np.ndarray

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
SQRT_HALF = math.sqrt(0.5)

# Elements per block: a block and its few temporaries stay in the cache.
BLOCK = 32768


def in_double(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compute a function of real arrays in float64, flat, and give back shape and dtype."""

    def wrapped(*arrays: Any) -> Array:
        broadcast = np.broadcast_arrays(*arrays)
        flat = [np.asarray(a, np.float64).ravel() for a in broadcast]
        dtype = np.result_type(*(a.dtype for a in broadcast))
        result = np.empty(flat[0].shape, np.float64)
        for start in range(0, result.size, BLOCK):
            part = slice(start, start + BLOCK)
            result[part] = function(*(a[part] for a in flat))
        return result.reshape(broadcast[0].shape).astype(dtype, copy=False)

    wrapped.__name__ = function.__name__
    wrapped.__doc__ = function.__doc__
    return wrapped


def choose(result: Array, where: Array, function: Callable[[Array], Array], x: Array) -> None:
    """Fill the elements of `result` where a condition holds."""
    if where.any():
        result[where] = function(x[where])


# -- the error function ----------------------------------------------------------------------


def _erfcx_positive(x: Array) -> Array:
    """exp(x²) erfc(x) for x >= 0, as (1 + 2x)⁻¹ times a series in (x - 3.75) / (x + 3.75)."""
    t = np.where(np.isinf(x), 1.0, (x - 3.75) / (x + 3.75))
    return chebyshev(ERFCX, t) / (1.0 + 2.0 * x)


def _exp_minus_square(x: Array) -> Array:
    """exp(-x²): the square is taken in two parts, whose rounding errors are small."""
    x = np.clip(x, -40.0, 40.0)  # beyond, the result is 0 and the parts would overflow
    head = x.astype(np.float32).astype(np.float64)
    tail = (x - head) * (x + head)
    return np.exp(-head * head) * np.exp(-tail)


def _erf_near_zero(x: Array) -> Array:
    return x * polynomial(ERF_NEAR_ZERO, x * x)


def _erfc_tail(x: Array) -> Array:
    return _exp_minus_square(x) * _erfcx_positive(x)


@in_double
def erfc(x: Array) -> Array:
    """1 - erf(x), without cancellation for large x."""
    result = np.full_like(x, np.nan)
    choose(result, np.abs(x) < 0.5, lambda v: 1.0 - _erf_near_zero(v), x)
    choose(result, x >= 0.5, _erfc_tail, x)
    choose(result, x <= -0.5, lambda v: 2.0 - _erfc_tail(-v), x)
    return result


@in_double
def erfcx(x: Array) -> Array:
    """exp(x²) erfc(x)."""
    result = np.full_like(x, np.nan)
    choose(result, x >= 0, _erfcx_positive, x)
    choose(result, x < 0, lambda v: 2.0 * np.exp(v * v) - _erfcx_positive(-v), x)
    return result


def _erfc_inverse(y: Array) -> Array:
    """The x >= 0 with erfc(x) = y, for 0 < y <= 1: Newton's method on log erfc."""
    logs = np.log(y)
    # Winitzki's closed form is within 0.2 % everywhere.
    a = 0.147
    inner = logs + np.log(2.0 - y)
    first = 2.0 / (math.pi * a) + inner / 2.0
    x = np.sqrt(np.maximum(np.sqrt(first * first - inner / a) - first, 0.0))
    for _ in range(3):
        scaled = _erfcx_positive(x)
        off = np.log(scaled) - x * x - logs
        slope = -TWO_OVER_SQRT_PI / scaled
        # Halley's correction: the second derivative is slope · (-2x - slope).
        step = off / slope
        x -= step / (1.0 - 0.5 * step * (-2.0 * x - slope))
    return np.maximum(x, 0.0)


def _erfinv_near_zero(y: Array) -> Array:
    """Newton's method on erf itself, which is accurate where erf is small."""
    x = y / TWO_OVER_SQRT_PI
    for _ in range(4):
        off = (_erf_near_zero(x) - y) / (TWO_OVER_SQRT_PI * np.exp(-x * x))
        x = x - off / (1.0 + x * off)
    return x


@in_double
def ndtri(p: Array) -> Array:
    """The inverse of the normal distribution function."""
    result = np.full_like(p, np.nan)
    choose(result, p == 0.0, lambda v: v - np.inf, p)
    choose(result, p == 1.0, lambda v: v + np.inf, p)
    low, high = (p > 0.0) & (p < 0.25), (p > 0.75) & (p < 1.0)
    choose(result, low, lambda v: -_erfc_inverse(2.0 * v) / SQRT_HALF, p)
    choose(result, high, lambda v: _erfc_inverse(2.0 * (1.0 - v)) / SQRT_HALF, p)
    middle = (p >= 0.25) & (p <= 0.75)
    choose(result, middle, lambda v: _erfinv_near_zero(2.0 * v - 1.0) / SQRT_HALF, p)
    return result


def log_ndtr(x: Array) -> Array:
    """The logarithm of the normal distribution function.

    The square, which its gradient subtracts again, is rounded by itself, as in PyTorch.
    """
    z = np.asarray(x * x.dtype.type(SQRT_HALF))
    result = np.asarray(_log_ndtr_remainder(z))
    below = z < -SQRT_HALF
    result[below] -= z[below] * z[below]
    return result


@in_double
def _log_ndtr_remainder(z: Array) -> Array:
    result = np.full_like(z, np.nan)
    choose(result, z < -SQRT_HALF, lambda v: np.log(_erfcx_positive(-v) / 2.0), z)
    choose(result, z >= -SQRT_HALF, lambda v: np.log1p(-erfc(v) / 2.0), z)
    return result


# -- the gamma family ------------------------------------------------------------------------


def _stirling(x: Array) -> Array:
    """log Γ(x) for x >= 8."""
    inverse = 1.0 / x
    series = inverse * polynomial(STIRLING, inverse * inverse)
    return (x - 0.5) * np.log(x) - x + LOG_SQRT_2PI + series


def _lgamma_middle(x: Array) -> Array:
    """3 <= x < 8: raised to 8 and above by Γ(x + 1) = x Γ(x)."""
    product = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0)
    return _stirling(x + 5.0) - np.log(product)


def _lgamma_near(x: Array) -> Array:
    """1 <= x < 3: the zeros at 1 and 2 are factored out, so they stay exact."""
    return (x - 1.0) * (x - 2.0) * chebyshev(LGAMMA, x - 2.0)


def _lgamma_positive(x: Array) -> Array:
    result = np.full_like(x, np.inf)
    choose(result, (x > 0.0) & (x < 1.0), lambda v: _lgamma_near(v + 1.0) - np.log(v), x)
    choose(result, (x >= 1.0) & (x < 3.0), _lgamma_near, x)
    choose(result, (x >= 3.0) & (x < 8.0), _lgamma_middle, x)
    choose(result, (x >= 8.0) & np.isfinite(x), _stirling, x)
    return result


def _sin_pi(x: Array) -> Array:
    """sin(πx), exactly zero at integers."""
    nearest = np.rint(x)
    return np.where(nearest % 2 == 0, 1.0, -1.0) * np.sin(math.pi * (x - nearest))


def _lgamma_negative(x: Array) -> Array:
    """By reflection: Γ(x) Γ(1 - x) = π / sin(πx)."""
    return np.log(math.pi / np.abs(_sin_pi(x))) - _lgamma_positive(1.0 - x)


@in_double
def lgamma(x: Array) -> Array:
    """log |Γ(x)|; infinite at 0, -1, -2, ..."""
    result = np.full_like(x, np.nan)
    choose(result, x >= 0.0, _lgamma_positive, x)
    choose(result, x < 0.0, _lgamma_negative, x)
    result[(x < 0.0) & (x == np.floor(x))] = np.inf
    # Where it vanishes it is 0, not -0.
    return result + 0.0


def _digamma_positive(x: Array) -> Array:
    """The asymptotic series, after raising x to 8 and above."""
    lowered = np.zeros_like(x)
    x = x.copy()
    for _ in range(8):
        small = x < 8.0
        if not small.any():
            break
        lowered[small] += 1.0 / x[small]
        x[small] += 1.0
    inverse = 1.0 / (x * x)
    return np.log(x) - 0.5 / x - inverse * polynomial(DIGAMMA, inverse) - lowered


def _digamma_negative(x: Array) -> Array:
    reduced = x - np.rint(x)
    return _digamma_positive(1.0 - x) - math.pi / np.tan(math.pi * reduced)


@in_double
def digamma(x: Array) -> Array:
    """The derivative of log Γ(x): NaN at negative integers, infinite at 0."""
    result = np.full_like(x, np.nan)
    choose(result, (x > 0.0) & np.isfinite(x), _digamma_positive, x)
    choose(result, (x < 0.0) & (x != np.floor(x)), _digamma_negative, x)
    choose(result, x == np.inf, lambda v: v, x)
    choose(result, x == 0.0, lambda v: np.copysign(np.inf, -v), x)
    return result


def _zeta_regular(s: Array, q: Array, sums: Any) -> Array:
    """Hurwitz zeta for s > 1: a direct sum, then the Euler-Maclaurin tail from q > 9.

    `sums` is the dtype to add up in: its rounding shows where terms of both signs cancel.
    """
    total = np.zeros_like(s, sums)
    q = q.copy()
    while True:
        small = q <= 9.0
        if not small.any():
            break
        total[small] += (q[small] ** -s[small]).astype(sums)
        q[small] += 1.0
    tail = q**-s
    total += (q * tail / (s - 1.0) + 0.5 * tail).astype(sums)
    factor, power = s / q, np.ones_like(s)
    for k, coefficient in enumerate(EULER_MACLAURIN):
        total += (coefficient * factor * power * tail).astype(sums)
        factor = factor * (s + 2 * k + 1) * (s + 2 * k + 2)
        power = power / (q * q)
    return total


@in_double
def zeta(s: Array, q: Array) -> Array:
    """The Hurwitz zeta function sum_k (k + q)^-s; at infinity and NaN as PyTorch's."""
    return _zeta(s, q, np.float64)


@in_double
def _zeta_in_single(s: Array, q: Array) -> Array:
    return _zeta(s, q, np.float32)


def _zeta(s: Array, q: Array, sums: Any) -> Array:
    result = np.full_like(s, np.nan)
    result[s == 1.0] = np.inf
    pole = ~(s <= 1.0) & (q <= 0.0) & (q == np.floor(q))
    result[pole] = np.inf
    whole = s == np.floor(s)
    regular = (s > 1.0) & ~pole & ((q > 0.0) | whole) & np.isfinite(q) & np.isfinite(s)
    if regular.any():
        result[regular] = _zeta_regular(s[regular], q[regular], sums)
    # Powers of less than 1 grow, those of 1 stay.
    result[np.isposinf(s) & (q < 1.0)] = np.inf
    result[np.isposinf(s) & (q == 1.0)] = 1.0
    return result


def polygamma(n: int, x: Array) -> Array:
    """The n-th derivative of digamma."""
    if n < 2:
        return converted((_trigamma if n else digamma)(widened(x)), x.dtype)
    sign = 1.0 if n % 2 else -1.0
    order, wide = np.float64(n + 1), np.asarray(x, np.float64)
    if compute_dtype(x.dtype) == x.dtype:
        return converted(sign * math.factorial(n) * zeta(order, wide), x.dtype)
    # As PyTorch's halves: summed in float32, rounded before they are multiplied, too, and that by
    # a factorial which comes from its logarithm.
    values = rounded(_zeta_in_single(order, wide), x.dtype)
    return converted(sign * float(np.exp(np.float32(math.lgamma(n + 1)))) * values, x.dtype)


# Bernoulli numbers, of the asymptotic series of trigamma.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_RAISED = 12


@elementwise("trigamma", 1, cost=16)
def _TRIGAMMA_KERNEL(x: Any) -> Any:
    """For positive numbers: the asymptotic series, after raising x by 12."""
    lowered = 0.0
    for k in range(_RAISED):
        inverse = 1.0 / (x + float(k))
        lowered = lowered + inverse * inverse
    inverse = 1.0 / (x + float(_RAISED))
    square = inverse * inverse
    tail = x.like(0.0)
    for number in reversed(_BERNOULLI):
        tail = (tail + number) * square
    return lowered + (inverse + inverse * tail + 0.5 * square)


def _trigamma_positive(x: Array) -> Array:
    result: Array = _TRIGAMMA_KERNEL.specialize(x)(x)
    return result


def _trigamma(x: Array) -> Array:
    result = _trigamma_in_double(x)
    reflected = x < 0.0
    if x.dtype == np.float64:
        reflected &= x == np.floor(x)
    if reflected.any():
        # As PyTorch's, which multiplies by π in the dtype: in single precision that shows.
        at = x[reflected].astype(np.promote_types(x.dtype, np.float32))
        peak = (math.pi / np.sin(at * at.dtype.type(math.pi))) ** 2
        result[reflected] = peak - _trigamma_positive(1.0 - at.astype(np.float64))
    return result


@in_double
def _trigamma_in_double(x: Array) -> Array:
    result = np.full_like(x, np.nan)
    choose(result, x > 0.0, _trigamma_positive, x)

    def reflect(v: Array) -> Array:
        return (math.pi / _sin_pi(v)) ** 2 - _trigamma_positive(1.0 - v)

    choose(result, x <= 0.0, reflect, x)
    result[np.isposinf(x)] = 0.0
    return result


# -- modified Bessel functions ---------------------------------------------------------------


@in_double
def i0e(x: Array) -> Array:
    """exp(-|x|) I0(x)."""
    size = np.abs(x)
    result = np.full_like(x, np.nan)
    choose(result, size <= 8.0, lambda v: chebyshev(I0_NEAR, v / 4.0 - 1.0), size)
    choose(result, size > 8.0, lambda v: chebyshev(I0_FAR, 16.0 / v - 1.0) / np.sqrt(v), size)
    # The series is off by a bit there.
    result[size == 0.0] = 1.0
    return result


def i0e_of_halves(x: Array) -> Array:
    """`i0e`, with the elements that PyTorch computes one by one rounded after each step."""
    order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])
    in_memory = x.transpose(order)
    result = converted(i0e(widened(in_memory)), x.dtype)
    redo_single_elements(result, 32, _i0e_step_by_step, in_memory)
    return result.transpose(np.argsort(order)) if order else result


def _i0e_step_by_step(x: Array) -> Array:
    def step(values: Array) -> Array:
        return rounded(np.asarray(values), x.dtype)

    def series(coefficients: Array, y: Array) -> Array:
        terms = [2 * coefficients[0], *coefficients[1:]]
        last, before = np.zeros_like(y), np.zeros_like(y)
        for term in step(np.asarray(terms[::-1], y.dtype)):
            before, last, two_before = last, step(step(step(y * last) - before) + term), before
        return step(0.5 * step(last - two_before))

    size = np.abs(widened(x))
    with np.errstate(all="ignore"):
        near = series(I0_NEAR, step(step(size / 2) - 2))
        far = step(series(I0_FAR, step(step(32 / size) - 2)) / np.sqrt(size))
    return converted(np.where(size <= 8, near, far), x.dtype)


@in_double
def i1e(x: Array) -> Array:
    """exp(-|x|) I1(x)."""
    size = np.abs(x)
    result = np.full_like(x, np.nan)
    choose(result, size <= 8.0, lambda v: v * chebyshev(I1_NEAR, v / 4.0 - 1.0), size)
    choose(result, size > 8.0, lambda v: chebyshev(I1_FAR, 16.0 / v - 1.0) / np.sqrt(v), size)
    return np.copysign(result, x)


@in_double
def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind, order 0."""
    return np.exp(np.abs(x)) * i0e(x)


@in_double
def i1(x: Array) -> Array:
    """The modified Bessel function of the first kind, order 1."""
    return np.exp(np.abs(x)) * i1e(x)


# -- logarithms of probabilities -------------------------------------------------------------


def logit(x: Array, eps: float | None) -> Array:
    """log(x / (1 - x)); halves are rounded after each step, as PyTorch does it."""
    dtype, wide = x.dtype, widened(x)
    if eps is not None:
        low = rounded(np.asarray(eps, wide.dtype), dtype)
        wide = np.minimum(np.maximum(wide, low), rounded(1 - low, dtype))
    odds = rounded(wide / rounded(1 - wide, dtype), dtype)
    return converted(np.log(odds), dtype)


def entr(x: Array) -> Array:
    """-x log x; of halves, the logarithm is rounded, too."""
    wide = widened(x)
    inside = np.where(wide > 0, -wide * rounded(np.log(wide), x.dtype), wide)
    return converted(np.where(wide == 0, 0, np.where(wide < 0, -np.inf, inside)), x.dtype)
