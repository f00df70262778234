"""Exponentials and logarithms as expressions, and the building blocks of elementary functions.

They are written in the primitives of the IR, without branches, so that they can be vectorized.
Errors are a few units in the last place over the whole range
(tests/kernels/codegen/test_elementary_functions.py measures them); infinities, NaNs and subnormal
numbers are handled. Polynomial coefficients were fitted to 40-digit values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from clew.kernels.codegen.ir import F32, Expr, unlikely, where


class Format:
    """Constants that depend on the float format."""

    def __init__(
        self,
        mantissa: int,
        bias: int,
        ln2: tuple[float, float],
        log10_2: tuple[float, float],
        exp_range: tuple[float, float],
        expm1: Sequence[float],
        log: Sequence[float],
    ) -> None:
        self.mantissa = mantissa
        self.bias = bias
        # Adding this to a float rounds it to an integer, which is then found in the low bits.
        self.shifter = 1.5 * 2.0**mantissa
        self.shifter_bits = (bias + mantissa) << mantissa | 1 << (mantissa - 1)
        # ln(2) as a sum; the high part has so few bits that its products with exponents are exact.
        self.ln2_high, self.ln2_low = ln2
        self.log10_2 = log10_2
        # Below the first exp underflows to zero; above the second even exp / 2 overflows.
        self.lowest, self.highest = exp_range
        # expm1(r) = r + r² P(r) for |r| <= ln(2) / 2
        self.expm1 = expm1
        # log((1 + s) / (1 - s)) = 2 s + s z P(z) with z = s²
        self.log = log
        self.smallest_normal = 2.0 ** (1 - bias)
        self.sqrt_half_bits = {23: 0x3F3504F3, 52: 0x3FE6A09E667F3BCD}[mantissa]


SINGLE = Format(
    23, 127, (0.693145751953125, 1.428606765330187045e-06),
    (0.301025390625, 4.6050389811952137389e-6), (-104.0, 90.0),
    (
        0.50000000151568124018, 0.16666666683501193737, 0.041666448365716592297,
        0.0083333090865152563161, 0.0013935451843874688739, 0.00019892991763014593422,
    ),
    (
        0.66666666553821972874, 0.40000122391549318292, 0.28550758267113831562,
        0.23332167963754724575,
    ),
)  # fmt: skip
DOUBLE = Format(
    52, 1023, (6.93147180369123816490e-01, 1.90821492927058770002e-10),
    (0.3010299956631570239551, 8.2417125860235717261e-13), (-746.0, 711.0),
    (
        0.5, 0.16666666666666671933, 0.041666666666666670427, 0.0083333333333249057068,
        0.0013888888888882870364, 0.00019841269879033043828, 0.000024801587328555859122,
        2.7557250163029179928e-6, 2.7557269903215792866e-7, 2.5107353767261877357e-8,
        2.0916212837493853322e-9,
    ),
    (
        0.66666666666666666462, 0.40000000000000886266, 0.28571428570797931882,
        0.22222222393000648194, 0.18181795502739436403, 0.15386247170362732841,
        0.13268573298949258624, 0.13088714507747483744,
    ),
)  # fmt: skip


def format_of(x: Expr) -> Format:
    return SINGLE if x.dtype == F32 else DOUBLE


def polynomial(coefficients: Iterable[Any], x: Expr) -> Expr:
    """c0 + c1 x + c2 x² + ..., by Horner's rule."""
    *rest, last = map(float, coefficients)
    result = x.like(last)
    for coefficient in reversed(rest):
        result = result.fma(x, coefficient)
    return result


def chebyshev(coefficients: Iterable[Any], t: Expr) -> Expr:
    """A Chebyshev series on [-1, 1], by Clenshaw's recurrence."""
    ahead, further = t.like(0.0), t.like(0.0)
    twice = t + t
    first, *rest = map(float, coefficients)
    for coefficient in reversed(rest):
        ahead, further = twice.fma(ahead, coefficient - further), ahead
    return t.fma(ahead, first - further)


def is_nan(x: Expr) -> Expr:
    return x.ne(x)


def clamp(x: Expr, low: float, high: float) -> Expr:
    """x clamped to two bounds; NaN stays NaN."""
    return where(x > high, high, where(x < low, low, x))


# -- error-free transformations: a result and its rounding error -------------------------------


def two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a + b, and its error, whichever operand is larger."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a + b, and its error, where |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a * b, and its error."""
    product = a * b
    return product, a.fma(b, -product)


# -- exponentials ----------------------------------------------------------------------------


def _power_of_two(shifted: Expr) -> Expr:
    """2^n for an integer n that was rounded by adding the shifter."""
    f = format_of(shifted)
    exponent = shifted.bits() - f.shifter_bits
    return ((exponent + f.bias) << f.mantissa).from_bits()


def _expm1_near_zero(r: Expr) -> Expr:
    """expm1(r) for |r| <= ln(2) / 2."""
    return (r * r).fma(polynomial(format_of(r).expm1, r), r)


def exp_reduction(x: Expr, tail: Expr | None = None) -> tuple[Expr, Expr, Expr]:
    """Range reduction: expm1(r), and two powers of two whose product times exp(r) is exp(x + tail).

    Two, because a single power of two may overflow or underflow where the result does not.
    """
    f = format_of(x)
    x = clamp(x, f.lowest, f.highest)
    whole = x.fma(1 / math.log(2), f.shifter)
    n = whole - f.shifter
    r = n.fma(-f.ln2_high, x)
    r = n.fma(-f.ln2_low, r)
    if tail is not None:
        r = r + tail
    half = x.fma(0.5 / math.log(2), f.shifter)
    rest = (n - (half - f.shifter)) + f.shifter
    return _expm1_near_zero(r), _power_of_two(half), _power_of_two(rest)


def _exp_of_normal(x: Expr) -> tuple[Expr, Expr]:
    """Range reduction where exp(x) is a normal number: expm1(r), and the power of two."""
    f = format_of(x)
    whole = x.fma(1 / math.log(2), f.shifter)
    n = whole - f.shifter
    r = n.fma(-f.ln2_low, n.fma(-f.ln2_high, x))
    return _expm1_near_zero(r), _power_of_two(whole)


def exp_of_negative(x: Expr) -> Expr:
    """exp(x) for x up to about zero; results below the smallest normal number are zero."""
    expm1_r, power = _exp_of_normal(x)
    return where(x < math.log(format_of(x).smallest_normal), 0.0, power.fma(expm1_r, power))


def exp_with_fast_path(x: Expr) -> Expr:
    """exp(x), with a fast path for results that are normal numbers."""
    expm1_r, power = _exp_of_normal(x)
    is_normal = x.abs() < -math.log(format_of(x).smallest_normal)
    return unlikely(~is_normal, exp(x), power.fma(expm1_r, power))


def exp(x: Expr) -> Expr:
    expm1_r, first, second = exp_reduction(x)
    return first.fma(expm1_r, first) * second


def exp2(x: Expr) -> Expr:
    f = format_of(x)
    # 2 to an integer is exact.
    x = clamp(x, -f.bias - f.mantissa - 2.0, f.bias + 1.0)
    whole = x + f.shifter
    n = whole - f.shifter
    half = x.fma(0.5, f.shifter)
    rest = (n - (half - f.shifter)) + f.shifter
    first, second = _power_of_two(half), _power_of_two(rest)
    return first.fma(_expm1_near_zero((x - n) * math.log(2)), first) * second


def expm1(x: Expr) -> Expr:
    expm1_r, first, second = exp_reduction(x)
    scale = first * second
    # Where a single power of two would overflow, the 1 no longer matters.
    near = scale.fma(expm1_r, scale - 1.0)
    return where(x > 80.0, first.fma(expm1_r, first) * second, where(x.eq(0.0), x, near))


def sigmoid(x: Expr) -> Expr:
    small = exp(-x.abs())
    return where(x >= 0.0, x.like(1.0), small) / (small + 1.0)


def tanh(x: Expr) -> Expr:
    twice = x.abs() * -2.0
    # Beyond it the result rounds to 1.
    cut = -0.7 * (format_of(x).mantissa + 3)
    expm1_r, power = _exp_of_normal(where(twice < cut, cut, twice))
    shrunk = power.fma(expm1_r, power - 1.0)
    return (-shrunk / (shrunk + 2.0)).copysign(x)


def _half_exp(x: Expr) -> Expr:
    """exp(x) / 2, finite for some x where exp(x) overflows."""
    expm1_r, first, second = exp_reduction(x)
    return first.fma(expm1_r, first) * (second * 0.5)


def sinh(x: Expr) -> Expr:
    size = x.abs()
    shrunk, half = expm1(size), _half_exp(size)
    near = (shrunk + shrunk / (shrunk + 1.0)) * 0.5
    return where(size < 1.0, near, half - 0.25 / half).copysign(x)


def cosh(x: Expr) -> Expr:
    half = _half_exp(x.abs())
    return half + 0.25 / half


# -- logarithms ------------------------------------------------------------------------------


def exponent_and_mantissa(x: Expr) -> tuple[Expr, Expr]:
    """k and t with x = 2^k (1 + t) and 1 + t between √½ and √2, for positive finite x."""
    f = format_of(x)
    tiny = x < f.smallest_normal
    k, t = exponent_and_mantissa_of_normal(where(tiny, x * 2.0 ** (f.mantissa + 2), x))
    return where(tiny, k - float(f.mantissa + 2), k), t


def exponent_and_mantissa_of_normal(x: Expr) -> tuple[Expr, Expr]:
    """The same where x is not below the smallest normal number."""
    f = format_of(x)
    bits = x.bits() + ((f.bias << f.mantissa) - f.sqrt_half_bits)
    mask = (1 << f.mantissa) - 1
    m = ((bits & mask) + f.sqrt_half_bits).from_bits()
    # The biased exponent as a float, by writing it into the low bits of 2^mantissa.
    magic = (f.bias + f.mantissa) << f.mantissa
    k = ((bits >> f.mantissa) | magic).from_bits() - (2.0**f.mantissa + f.bias)
    return k, m - 1.0


def _log_parts(t: Expr) -> tuple[Expr, Expr]:
    """h and c with log(1 + t) = t - (h - c)."""
    s = t / (t + 2.0)
    z = s * s
    half_square = t * t * 0.5
    return half_square, s * (half_square + z * polynomial(format_of(t).log, z))


def _with_special_cases(x: Expr, result: Expr) -> Expr:
    """The result of a logarithm, or that of infinity, zero, a negative number or NaN."""
    result = where(x.eq(math.inf), x, result)
    return where(x > 0.0, result, where(x.eq(0.0), -math.inf, x.like(math.nan)))


def _log_of_parts(k: Expr, t: Expr) -> Expr:
    f = format_of(t)
    half_square, tail = _log_parts(t)
    return k.fma(f.ln2_high, t - (half_square - k.fma(f.ln2_low, tail)))


def log(x: Expr) -> Expr:
    return _with_special_cases(x, _log_of_parts(*exponent_and_mantissa(x)))


def log_with_fast_path(x: Expr) -> Expr:
    """log(x), with a fast path for positive normal numbers."""
    is_normal = (x >= format_of(x).smallest_normal) & (x < math.inf)
    return unlikely(~is_normal, log(x), _log_of_parts(*exponent_and_mantissa_of_normal(x)))


# 1 / log(2) and 1 / log(10) as sums of two, by the bits of the mantissa.
_LOG2_E = {
    23: (1.4426950216293335, 1.9259629911266174681e-8),
    52: (1.4426950408889634, 2.035527374093103205e-17),
}
_LOG10_E = {
    23: (0.4342944920063019, -1.0103050052231683581e-8),
    52: (0.4342944819032518, 1.0983196502167651099e-17),
}


def _log_to_base(x: Expr, of_two: tuple[float, float], of_e: tuple[float, float]) -> Expr:
    """The logarithm to a base, given those of 2 and of e, each as a sum of two."""
    k, t = exponent_and_mantissa(x)
    half_square, tail = _log_parts(t)
    main, lost = two_product(t, t.like(of_e[0]))
    rest = (tail - half_square).fma(of_e[0], k.fma(of_two[1], t.fma(of_e[1], lost)))
    total, error = fast_two_sum(k * of_two[0], main)
    return _with_special_cases(x, where(k.eq(0.0), main + rest, total + (error + rest)))


def log2(x: Expr) -> Expr:
    return _log_to_base(x, (1.0, 0.0), _LOG2_E[format_of(x).mantissa])


def log10(x: Expr) -> Expr:
    f = format_of(x)
    return _log_to_base(x, f.log10_2, _LOG10_E[f.mantissa])


def log1p(x: Expr) -> Expr:
    whole = x + 1.0
    lost = (x - (whole - 1.0)) / whole
    exact = log(whole) + where((whole > 0.0) & (whole < math.inf), lost, 0.0)
    return where(whole.eq(1.0) & (x.abs() < 0.5), x, exact)


def softplus(x: Expr) -> Expr:
    """log(1 + exp(x)) for all x."""
    return log1p(exp(-x.abs())) + x.maximum(0.0)


def rsqrt(x: Expr) -> Expr:
    return 1.0 / x.sqrt()
