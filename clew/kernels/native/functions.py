"""Elementary functions as expressions: what a kernel makes of `exp`, `log`, `tanh`, `erf`, ...

They are written in the primitives of the IR, without branches, so that loops over them become
vector code on any machine. Errors are a few units in the last place over the whole range
(tests/test_native_functions.py measures them); infinities, NaNs and subnormal numbers come out
right. Polynomial coefficients were fitted to 40-digit values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from clew.kernels.native.ir import F32, Expr, const, validate, where
from clew.kernels.special_coefficients import ERF_NEAR_ZERO, ERF_SINGLE, ERFCX


class _Format:
    """The numbers that depend on a float type's layout."""

    def __init__(
        self,
        mantissa: int,
        bias: int,
        ln2: tuple[float, float],
        exp_range: tuple[float, float],
        expm1: Sequence[float],
        log: Sequence[float],
    ) -> None:
        self.mantissa = mantissa
        self.bias = bias
        # Adding this to a float rounds it to an integer, which is then found in the low bits.
        self.shifter = 1.5 * 2.0**mantissa
        self.shifter_bits = (bias + mantissa) << mantissa | 1 << (mantissa - 1)
        self.ln2_high, self.ln2_low = ln2
        self.lowest, self.highest = exp_range
        # expm1(r) = r + r² P(r) for |r| <= ln(2) / 2
        self.expm1 = expm1
        # log((1 + s) / (1 - s)) = 2 s + s z P(z) with z = s²
        self.log = log
        self.smallest_normal = 2.0 ** (1 - bias)
        self.sqrt_half_bits = {23: 0x3F3504F3, 52: 0x3FE6A09E667F3BCD}[mantissa]


SINGLE = _Format(
    23, 127, (0.693145751953125, 1.428606765330187045e-06), (-104.0, 89.0),
    (
        0.50000000151568124018, 0.16666666683501193737, 0.041666448365716592297,
        0.0083333090865152563161, 0.0013935451843874688739, 0.00019892991763014593422,
    ),
    (
        0.66666666553821972874, 0.40000122391549318292, 0.28550758267113831562,
        0.23332167963754724575,
    ),
)  # fmt: skip
DOUBLE = _Format(
    52, 1023, (6.93147180369123816490e-01, 1.90821492927058770002e-10), (-746.0, 710.0),
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


def format_of(x: Expr) -> _Format:
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
    return x.differs(x)


# -- exponentials ----------------------------------------------------------------------------


def _power_of_two(shifted: Expr) -> Expr:
    """2 to an integer that was rounded by adding the shifter."""
    f = format_of(shifted)
    exponent = shifted.bits() - f.shifter_bits
    return ((exponent + f.bias) << f.mantissa).from_bits()


def _reduced(x: Expr) -> tuple[Expr, Expr, Expr]:
    """expm1(r), and two powers of two whose product times exp(r) is exp(x).

    Two, because the whole power may be beyond the largest float, or below the smallest, where the
    product is not.
    """
    f = format_of(x)
    x = where(x > f.highest, f.highest, where(x < f.lowest, f.lowest, x))
    whole = x.fma(1 / math.log(2), f.shifter)
    n = whole - f.shifter
    r = n.fma(-f.ln2_high, x)
    r = n.fma(-f.ln2_low, r)
    half = x.fma(0.5 / math.log(2), f.shifter)
    rest = (n - (half - f.shifter)) + f.shifter
    grown = (r * r).fma(polynomial(f.expm1, r), r)
    return grown, _power_of_two(half), _power_of_two(rest)


def exp(x: Expr) -> Expr:
    grown, first, second = _reduced(x)
    return first.fma(grown, first) * second


def expm1(x: Expr) -> Expr:
    grown, first, second = _reduced(x)
    scale = first * second
    # Beyond the range of a single power the 1 no longer matters.
    near = scale.fma(grown, scale - 1.0)
    return where(x > 80.0, first.fma(grown, first) * second, where(x.equals(0.0), x, near))


def sigmoid(x: Expr) -> Expr:
    small = exp(-x.abs())
    return where(x >= 0.0, x.like(1.0), small) / (small + 1.0)


def tanh(x: Expr) -> Expr:
    shrunk = expm1(x.abs() * -2.0)
    return (-shrunk / (shrunk + 2.0)).copysign(x)


# -- logarithms ------------------------------------------------------------------------------


def log(x: Expr) -> Expr:
    f = format_of(x)
    tiny = x < f.smallest_normal
    scaled = where(tiny, x * 2.0 ** (f.mantissa + 2), x)
    one = x.like(1.0).bits().like(f.bias << f.mantissa)
    bits = scaled.bits() + (one - f.sqrt_half_bits)
    mask = (1 << f.mantissa) - 1
    m = ((bits & mask) + f.sqrt_half_bits).from_bits()
    # The biased exponent as a float, by writing it into the low bits of 2^mantissa.
    magic = (f.bias + f.mantissa) << f.mantissa
    k = ((bits >> f.mantissa) | magic).from_bits() - (2.0**f.mantissa + f.bias)
    k = where(tiny, k - float(f.mantissa + 2), k)
    t = m - 1.0
    s = t / (t + 2.0)
    z = s * s
    half_square = t * t * 0.5
    tail = s * (half_square + z * polynomial(f.log, z))
    result = k.fma(f.ln2_high, t - (half_square - k.fma(f.ln2_low, tail)))
    result = where(x.equals(math.inf), x, result)
    return where(x > 0.0, result, where(x.equals(0.0), -math.inf, x.like(math.nan)))


def log1p(x: Expr) -> Expr:
    whole = x + 1.0
    lost = (x - (whole - 1.0)) / whole
    exact = log(whole) + where((whole > 0.0) & (whole < math.inf), lost, 0.0)
    return where(whole.equals(1.0) & (x.abs() < 0.5), x, exact)


def rsqrt(x: Expr) -> Expr:
    return 1.0 / x.sqrt()


def softplus(x: Expr) -> Expr:
    """log(1 + exp(x)) for all x."""
    return log1p(exp(-x.abs())) + x.maximum(0.0)


# -- the error function ----------------------------------------------------------------------


def erf(x: Expr) -> Expr:
    if x.dtype == F32:
        limited = where(x > 5.0, 5.0, where(x < -5.0, -5.0, x))
        return tanh(polynomial(ERF_SINGLE, limited * limited) * limited)
    near = x * polynomial(ERF_NEAR_ZERO, x * x)
    size = x.abs()
    size = where(size > 40.0, 40.0, size)
    far = (1.0 - _exp_minus_square(size) * _erfcx(size)).copysign(x)
    return where(x.abs() < 1.0, near, where(is_nan(x), x, far))


def _erfcx(x: Expr) -> Expr:
    """exp(x²) erfc(x) for x >= 0, as (1 + 2x)⁻¹ times a series in (x - 3.75) / (x + 3.75)."""
    return chebyshev(ERFCX, (x - 3.75) / (x + 3.75)) / x.fma(2.0, 1.0)


def _exp_minus_square(x: Expr) -> Expr:
    """exp(-x²), with the rounding error of the square made good."""
    square = x * x
    return exp(-square) * (1.0 - x.fma(x, -square))


def attach(**functions: Any) -> None:
    """Give expressions the methods that formulas call."""
    for name, function in functions.items():
        setattr(Expr, name, function)


attach(
    exp=exp, expm1=expm1, log=log, log1p=log1p, tanh=tanh, sigmoid=sigmoid, erf=erf, rsqrt=rsqrt,
    square=lambda x: x * x, where=lambda x, condition, other: where(condition, x, other),
    reciprocal=lambda x: const(1.0, x.dtype) / x,
)  # fmt: skip


def trace(function: Callable[..., Any], dtypes: list[str]) -> list[Expr]:
    """What a formula computes from inputs of the given types."""
    inputs = [Expr("input", dtype, (), number) for number, dtype in enumerate(dtypes)]
    result = function(*inputs)
    roots = list(result) if isinstance(result, tuple) else [result]
    validate(roots)
    return roots
