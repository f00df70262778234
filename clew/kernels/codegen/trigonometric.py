"""Sine, cosine and arc tangent as expressions.

Arguments are reduced to a quadrant. Payne and Hanek's reduction is exact for any size: x · 2/π is
needed modulo 4 only, and x is an integer times a power of two, so a table has 2/π times that power,
modulo 4, by the exponent, with as many bits as the worst case needs. The fast path, for moderate
arguments, is Cody and Waite's: subtractions of multiples of parts of π/2.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from clew.kernels.codegen.elementary import (
    DOUBLE,
    fast_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from clew.kernels.codegen.ir import F32, F64, Expr, table, unlikely, where

if TYPE_CHECKING:
    from fractions import Fraction

# sin(r) = r + r z S(z), cos(r) = 1 - z/2 + z² C(z) with z = r², for |r| <= π/4
_SIN_SINGLE = -0.166666548822, 0.00833217390813, -0.000195166921682
_COS_SINGLE = 0.0416666467972, -0.00138873631307, 2.44378702985e-5
_SIN_DOUBLE = (
    -0.16666666666666631755, 0.0083333333333223359666, -0.00019841269829739046089,
    2.7557313666073683995e-6, -2.5050753793653631521e-8, 1.589653092548137671e-10,
)  # fmt: skip
_COS_DOUBLE = (
    0.041666666666666599641, -0.0013888888888874117528, 0.000024801587289462077754,
    -2.7557314342919910903e-7, 2.0875721598122388473e-9, -1.1359543959195397865e-11,
)  # fmt: skip
# atan(t) = t + t z P(z) with z = t², for |t| <= tan(π/8)
_ATAN_SINGLE = -0.333333163803, 0.199985293211, -0.142444493529, 0.105996802299, -0.0609136308729
_ATAN_DOUBLE = (
    -0.33333333333333232153, 0.1999999999996137733, -0.14285714280847327296,
    0.11111110811483421173, -0.090908984690511740533, 0.076920715779563094607,
    -0.066632215253585445573, 0.058486743186534182838, -0.050425781696081476089,
    0.038142011902585219238, -0.01798660547267311815,
)  # fmt: skip
_HALF_PI = 1.5707963267948966, 6.1232339957367658861e-17
# The first part has 33 bits: times a number of 20 bits it is exact.
_HALF_PI_IN_THREE = 1.5707963267341256, 6.077100506506192e-11, 3.5215598651832e-27
_MODERATE_SINGLE, _MODERATE_DOUBLE = 2.0**30, 2.0**20


# -- the table of 2/π ------------------------------------------------------------------------


@functools.cache
def _two_over_pi() -> Fraction:
    """2/π to 1,280 bits, by Machin's formula in integers."""
    from fractions import Fraction  # late, as most programs have no sines to compile

    one = 1 << 1300

    def arc_cotangent(x: int) -> int:
        power, total, divisor, sign = one // x, 0, 1, 1
        while power:
            total += sign * (power // divisor)
            power, divisor, sign = power // (x * x), divisor + 2, -sign
        return total

    return Fraction(2 * one, 4 * (4 * arc_cotangent(5) - arc_cotangent(239)))


def _two_over_pi_tables(step: int, entries: int, count: int) -> list[list[float]]:
    """Tables whose entries at q sum up to 2/π · 2^(step q), modulo 4."""
    tables: list[list[float]] = [[] for _ in range(count)]
    for q in range(entries):
        left = _two_over_pi() * 2 ** (step * q)
        left -= 4 * round(left / 4)
        for part in tables:
            part.append(float(left))
            left -= type(left)(part[-1])
    return tables


def _scaled(x: Expr, start: int, step: int, entries: int) -> tuple[Expr, Expr]:
    """q, and x · 2^(-step q), which is an integer below 2^(start + step) unless q is 0."""
    exponent = (x.bits() >> DOUBLE.mantissa) & 0x7FF
    q = (exponent - (DOUBLE.bias + start)).maximum(0) >> int(math.log2(step))
    q = q.minimum(entries - 1)
    scale = ((DOUBLE.bias - q * step) << DOUBLE.mantissa).from_bits()
    return q, x * scale


def _modulo_4(x: Expr) -> Expr:
    """x modulo 4, between -2 and 2; exact."""
    return (x * 0.25).rint().fma(-4.0, x)


# -- reduction to a quadrant -------------------------------------------------------------------


def _payne_hanek_single(x: Expr) -> tuple[Expr, Expr]:
    """The nearest multiple of π/2, modulo 4, and the rest, for float32."""
    q, scaled = _scaled(x.convert(F64), 23, 16, 7)
    high, low = (table(values, q) for values in _two_over_pi_tables(16, 7, 2))
    product, error = two_product(scaled, high)
    product = _modulo_4(product)
    quadrant = product.rint()
    rest = (product - quadrant) + scaled.fma(low, error)
    return _as_integer(quadrant), (rest * _HALF_PI[0]).convert(F32)


def _payne_hanek_double(x: Expr) -> tuple[Expr, Expr, Expr]:
    """The same for float64, with the rest as a sum of two."""
    q, scaled = _scaled(x, 52, 32, 31)
    k1, k2, k3, k4 = (table(values, q) for values in _two_over_pi_tables(32, 31, 4))
    p1, e1 = two_product(scaled, k1)
    p2, e2 = two_product(scaled, k2)
    p3, e3 = two_product(scaled, k3)
    # From the largest to the smallest, so that cancellation is exact.
    total, low1 = two_sum(_modulo_4(p1), _modulo_4(e1))
    total, low2 = two_sum(total, _modulo_4(p2))
    quadrant = total.rint()
    middle, low3 = two_sum(e2, p3)
    rest, low4 = two_sum(total - quadrant, middle)
    rest, low5 = two_sum(rest, low1)
    rest, low6 = two_sum(rest, low2)
    low = ((low4 + low5) + low6) + (low3 + scaled.fma(k4, e3))
    rest, low = fast_two_sum(rest, low)
    angle, error = two_product(rest, x.like(_HALF_PI[0]))
    return _as_integer(quadrant), angle, low.fma(_HALF_PI[0], rest.fma(_HALF_PI[1], error))


def _as_integer(quadrant: Expr) -> Expr:
    """A float with a small integer value as an integer, by adding the shifter."""
    return (quadrant + DOUBLE.shifter).bits()


def _cody_waite_single(x: Expr) -> tuple[Expr, Expr]:
    """The fast path for moderate float32."""
    wide = x.convert(F64)
    quadrant = (wide * (2 / math.pi)).rint()
    rest = quadrant.fma(-_HALF_PI[1], quadrant.fma(-_HALF_PI[0], wide))
    return _as_integer(quadrant), rest.convert(F32)


def _cody_waite_double(x: Expr) -> tuple[Expr, Expr, Expr]:
    """The fast path for moderate float64."""
    quadrant = (x * (2 / math.pi)).rint()
    high, middle, low = _HALF_PI_IN_THREE
    product, error = two_product(quadrant, x.like(middle))
    angle, rest = two_sum(quadrant.fma(-high, x), -product)
    rest = quadrant.fma(-low, rest - error)
    return _as_integer(quadrant), *fast_two_sum(angle, rest)


def _reduced(x: Expr) -> tuple[Expr, ...]:
    is_large = x.abs() > (_MODERATE_SINGLE if x.dtype == F32 else _MODERATE_DOUBLE)
    if x.dtype == F32:
        cases: Any = zip(_payne_hanek_single(x), _cody_waite_single(x), strict=True)
    else:
        cases = zip(_payne_hanek_double(x), _cody_waite_double(x), strict=True)
    return tuple(unlikely(is_large, any_size, moderate) for any_size, moderate in cases)


def _sin_and_cos(x: Expr) -> tuple[Expr, Expr, Expr]:
    """The quadrant, and sine and cosine of the rest."""
    if x.dtype == F32:
        quadrant, r = _reduced(x)
        z = r * r
        sine = (r * z).fma(polynomial(_SIN_SINGLE, z), r)
        return quadrant, sine, (z * z).fma(polynomial(_COS_SINGLE, z), z.fma(-0.5, 1.0))
    quadrant, r, low = _reduced(x)
    z = r * r
    sine = r + (r * z).fma(polynomial(_SIN_DOUBLE, z), z.fma(-0.5, 1.0) * low)
    half = z * 0.5
    top = 1.0 - half
    # The rounding error of the subtraction, and the low part of the angle.
    rest = ((1.0 - top) - half) - r * low
    return quadrant, sine, top + (z * z).fma(polynomial(_COS_DOUBLE, z), rest)


def _by_quadrant(quadrant: Expr, even: Expr, odd: Expr) -> Expr:
    """One or the other by the lowest bit of the quadrant, negated by the next bit."""
    result = where((quadrant & 1).eq(0), even, odd)
    return where((quadrant & 2).eq(0), result, -result)


def sin(x: Expr) -> Expr:
    quadrant, sine, cosine = _sin_and_cos(x)
    # Products of tiny numbers would be subnormal; -0 stays -0.
    return where(x.abs() < 2.0**-30, x, _by_quadrant(quadrant, sine, cosine))


def cos(x: Expr) -> Expr:
    quadrant, sine, cosine = _sin_and_cos(x)
    return _by_quadrant(quadrant + 1, sine, cosine)


def atan(x: Expr) -> Expr:
    size = x.abs()
    is_large, is_small = size > math.tan(3 * math.pi / 8), size < math.tan(math.pi / 8)
    above = where(is_small, size, where(is_large, -1.0, size - 1.0))
    below = where(is_small, 1.0, where(is_large, size, size + 1.0))
    t = above / below
    z = t * t
    bend = t * z * polynomial(_ATAN_SINGLE if x.dtype == F32 else _ATAN_DOUBLE, z)
    low = _rest_of_half_pi(x)
    far = where(is_large, _HALF_PI[0], x.like(_HALF_PI[0] / 2)) + (
        t + (bend + where(is_large, low, x.like(low / 2)))
    )
    return where(is_small, t + bend, far).copysign(x)


def _rest_of_half_pi(x: Expr) -> float:
    """The rounding error of π/2 in the type of x."""
    return -4.371138828673793e-08 if x.dtype == F32 else _HALF_PI[1]
