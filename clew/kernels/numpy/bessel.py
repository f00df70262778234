"""Bessel functions of orders 0 and 1 and the Airy function Ai, over arrays.

As in `special_functions`: float64 inside, Chebyshev series of coefficients that were fitted to
50-digit values. Near 0 they are series in x², further out amplitude and phase of a wave, or of an
exponential, as series in 1/x.
"""

from __future__ import annotations

import math

import numpy as np

from clew.kernels.compiled.series import chebyshev
from clew.kernels.numpy import bessel_coefficients as fitted
from clew.kernels.numpy import special_functions
from clew.kernels.numpy.arrays import Array
from clew.kernels.numpy.special_functions import choose, in_double

TWO_OVER_PI = 2.0 / math.pi
SQRT_HALF = math.sqrt(0.5)
# Where series in x² end, and those in 1/x begin.
FAR = 8.0
K_FAR = 2.0
AIRY_FAR = 2.0
AIRY_WAVE = -6.0
# ζ = 2/3 |x|^(3/2) there.
ZETA_FAR = 2.0 / 3.0 * AIRY_FAR**1.5
ZETA_WAVE = 2.0 / 3.0 * (-AIRY_WAVE) ** 1.5
# Above, Ai(x) is less than the smallest normal number, and PyTorch gives 0.
AIRY_ZERO = 103.892


def _from_zeros(x: Array, zeros: tuple[tuple[float, float], ...]) -> Array:
    """The product of x² - z² over zeros z, each given in two parts, so that it is exact near z."""
    product = np.ones_like(x)
    for high, low in zeros:
        product *= ((x - high) - low) * (x + high)
    return product


# -- of the first and second kind ----------------------------------------------------------------


def _j0_near(x: Array) -> Array:
    series = chebyshev(fitted.J0_NEAR, x * x / 32.0 - 1.0)
    return series * _from_zeros(x, fitted.J0_ZEROS)


def _j1_near(x: Array) -> Array:
    series = chebyshev(fitted.J1_NEAR, x * x / 32.0 - 1.0)
    return x * series * _from_zeros(x, fitted.J1_ZEROS)


def _y0_near(x: Array) -> Array:
    series = chebyshev(fitted.Y0_NEAR, x * x / 32.0 - 1.0)
    return series + TWO_OVER_PI * np.log(x) * _j0_near(x)


def _y1_near(x: Array) -> Array:
    series = chebyshev(fitted.Y1_NEAR, x * x / 32.0 - 1.0)
    return x * series + TWO_OVER_PI * (np.log(x) * _j1_near(x) - 1.0 / x)


def _wave(x: Array, even: Array, odd: Array) -> tuple[Array, Array, Array, Array]:
    """sin x + cos x, sin x - cos x, and the two amplitudes, for x > 8."""
    u = FAR / x
    t = 2.0 * u * u - 1.0
    size = np.sqrt(TWO_OVER_PI / x) * SQRT_HALF
    sine, cosine = np.sin(x), np.cos(x)
    amplitudes = size * chebyshev(even, t), size * u * chebyshev(odd, t)
    return sine + cosine, sine - cosine, *amplitudes


def _j0_far(x: Array) -> Array:
    plus, minus, p, q = _wave(x, fitted.J0_FAR_P, fitted.J0_FAR_Q)
    return p * plus - q * minus


def _y0_far(x: Array) -> Array:
    plus, minus, p, q = _wave(x, fitted.J0_FAR_P, fitted.J0_FAR_Q)
    return p * minus + q * plus


def _j1_far(x: Array) -> Array:
    plus, minus, p, q = _wave(x, fitted.J1_FAR_P, fitted.J1_FAR_Q)
    return p * minus + q * plus


def _y1_far(x: Array) -> Array:
    plus, minus, p, q = _wave(x, fitted.J1_FAR_P, fitted.J1_FAR_Q)
    return q * minus - p * plus


@in_double
def j0(x: Array) -> Array:
    """The Bessel function of the first kind, order 0."""
    size = np.abs(x)
    result = np.full_like(x, np.nan)
    choose(result, size <= FAR, _j0_near, size)
    choose(result, (size > FAR) & np.isfinite(x), _j0_far, size)
    return result


@in_double
def j1(x: Array) -> Array:
    """The Bessel function of the first kind, order 1."""
    size = np.abs(x)
    result = np.full_like(x, np.nan)
    choose(result, size <= FAR, _j1_near, size)
    choose(result, (size > FAR) & np.isfinite(x), _j1_far, size)
    return np.where(x < 0, -result, result)


@in_double
def y0(x: Array) -> Array:
    """The Bessel function of the second kind, order 0."""
    result = np.full_like(x, np.nan)
    result[x == 0] = -np.inf
    choose(result, (x > 0) & (x <= FAR), _y0_near, x)
    choose(result, (x > FAR) & np.isfinite(x), _y0_far, x)
    return result


@in_double
def y1(x: Array) -> Array:
    """The Bessel function of the second kind, order 1."""
    result = np.full_like(x, np.nan)
    result[x == 0] = -np.inf
    choose(result, (x > 0) & (x <= FAR), _y1_near, x)
    choose(result, (x > FAR) & np.isfinite(x), _y1_far, x)
    return result


def spherical_j0(x: Array) -> Array:
    """sin(x) / x."""
    outside = (x == 0) | np.isinf(x)
    safe = np.where(outside, np.ones((), x.dtype), x)
    return np.where(outside, (x == 0).astype(x.dtype), np.sin(safe) / safe)


# -- modified ------------------------------------------------------------------------------------


def i0(x: Array) -> Array:
    """The modified Bessel function of the first kind, order 0; NaN at infinity."""
    return np.where(np.isinf(x), np.array(np.nan, x.dtype), special_functions.i0(x))


def i1(x: Array) -> Array:
    """The modified Bessel function of the first kind, order 1; NaN at infinity."""
    return np.where(np.isinf(x), np.array(np.nan, x.dtype), special_functions.i1(x))


def _k0_near(x: Array) -> Array:
    series = chebyshev(fitted.K0_NEAR, x * x / 2.0 - 1.0)
    return series - np.log(x / 2.0) * special_functions.i0(x)


def _k1_near(x: Array) -> Array:
    series = chebyshev(fitted.K1_NEAR, x * x / 2.0 - 1.0)
    return series / x + np.log(x / 2.0) * special_functions.i1(x)


def _k0e_far(x: Array) -> Array:
    return chebyshev(fitted.K0_FAR, 4.0 / x - 1.0) / np.sqrt(x)


def _k1e_far(x: Array) -> Array:
    return chebyshev(fitted.K1_FAR, 4.0 / x - 1.0) / np.sqrt(x)


@in_double
def k0(x: Array) -> Array:
    """The modified Bessel function of the second kind, order 0."""
    result = np.full_like(x, np.nan)
    result[x == 0] = np.inf
    choose(result, (x > 0) & (x <= K_FAR), _k0_near, x)
    choose(result, x > K_FAR, lambda v: np.exp(-v) * _k0e_far(v), x)
    return result


@in_double
def k1(x: Array) -> Array:
    """The modified Bessel function of the second kind, order 1."""
    result = np.full_like(x, np.nan)
    result[x == 0] = np.inf
    choose(result, (x > 0) & (x <= K_FAR), _k1_near, x)
    choose(result, x > K_FAR, lambda v: np.exp(-v) * _k1e_far(v), x)
    return result


@in_double
def k0e(x: Array) -> Array:
    """exp(x) K0(x)."""
    result = np.full_like(x, np.nan)
    result[x == 0] = np.inf
    choose(result, (x > 0) & (x <= K_FAR), lambda v: np.exp(v) * _k0_near(v), x)
    choose(result, x > K_FAR, _k0e_far, x)
    return result


@in_double
def k1e(x: Array) -> Array:
    """exp(x) K1(x)."""
    result = np.full_like(x, np.nan)
    result[x == 0] = np.inf
    choose(result, (x > 0) & (x <= K_FAR), lambda v: np.exp(v) * _k1_near(v), x)
    choose(result, x > K_FAR, _k1e_far, x)
    return result


# -- Airy ----------------------------------------------------------------------------------------


def _zeta(x: Array) -> Array:
    return 2.0 / 3.0 * x * np.sqrt(x)


def _airy_far(x: Array) -> Array:
    zeta = _zeta(x)
    t = 2.0 * ZETA_FAR / zeta - 1.0
    return np.exp(-zeta) * chebyshev(fitted.AIRY_FAR, t) / (2.0 * math.sqrt(math.pi) * x**0.25)


def _airy_wave(x: Array) -> Array:
    """For x < -6, by the phase ζ + π/4."""
    size = -x
    zeta = _zeta(size)
    u = ZETA_WAVE / zeta
    t = 2.0 * u * u - 1.0
    sine, cosine = np.sin(zeta), np.cos(zeta)
    p, q = chebyshev(fitted.AIRY_WAVE_P, t), u * chebyshev(fitted.AIRY_WAVE_Q, t)
    wave = p * (sine + cosine) - q * (cosine - sine)
    return wave * (SQRT_HALF / math.sqrt(math.pi)) / size**0.25


@in_double
def airy_ai(x: Array) -> Array:
    """The Airy function Ai."""
    result = np.full_like(x, np.nan)
    finite = np.isfinite(x)
    choose(result, finite & (x < AIRY_WAVE), _airy_wave, x)
    negative = (x >= AIRY_WAVE) & (x < 0)
    choose(result, negative, lambda v: chebyshev(fitted.AIRY_NEGATIVE, v / 3.0 + 1.0), x)
    near = (x >= 0) & (x <= AIRY_FAR)
    choose(result, near, lambda v: np.exp(-v) * chebyshev(fitted.AIRY_NEAR, v - 1.0), x)
    choose(result, (x > AIRY_FAR) & (x <= AIRY_ZERO), _airy_far, x)
    result[finite & (x > AIRY_ZERO)] = 0.0
    return result
