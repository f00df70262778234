"""Sine, cosine and arc tangent as expressions.

Arguments of any size are reduced exactly. x · 2/π is needed modulo 4 only, and x is a whole number
times a power of two: so 2/π times that power, modulo 4, can be put into a table by the exponent,
with as many bits as the worst case needs. Where all arguments are of moderate size, two or three
subtractions of parts of π/2 do.
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
from clew.kernels.codegen.ir import F32, F64, Expr, rarely, table, where

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
    """2/π to 1,280 bits, by Machin's formula in whole numbers."""
    from fractions import Fraction  # late, as most programs have no sines to compile

    one = 1 << 1300

    def arc_cotangent(x: int) -> int:
        power, total, divisor, sign = one // x, 0, 1, 1
        while power:
            total += sign * (power // divisor)
            power, divisor, sign = power // (x * x), divisor + 2, -sign
        return total

    return Fraction(2 * one, 4 * (4 * arc_cotangent(5) - arc_cotangent(239)))


def _parts(step: int, entries: int, count: int) -> list[list[float]]:
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
    """q, and x · 2^(-step q), which is a whole number below 2^(start + step) unless q is 0."""
    exponent = (x.bits() >> DOUBLE.mantissa) & 0x7FF
    q = (exponent - (DOUBLE.bias + start)).maximum(0) >> int(math.log2(step))
    q = q.minimum(entries - 1)
    scale = ((DOUBLE.bias - q * step) << DOUBLE.mantissa).from_bits()
    return q, x * scale


def _modulo_4(x: Expr) -> Expr:
    """x less a multiple of 4, between -2 and 2; exact."""
    return (x * 0.25).rint().fma(-4.0, x)


# -- reduction to a quarter of a turn ----------------------------------------------------------


def _turned_single(x: Expr) -> tuple[Expr, Expr]:
    """The number of quarter turns nearest to x, modulo 4, and what is left, for float32."""
    q, scaled = _scaled(x.convert(F64), 23, 16, 7)
    high, low = (table(values, q) for values in _parts(16, 7, 2))
    product, error = two_product(scaled, high)
    product = _modulo_4(product)
    turns = product.rint()
    rest = (product - turns) + scaled.fma(low, error)
    return _whole(turns), (rest * _HALF_PI[0]).convert(F32)


def _turned_double(x: Expr) -> tuple[Expr, Expr, Expr]:
    """The same for float64, with what is left in two parts."""
    q, scaled = _scaled(x, 52, 32, 31)
    k1, k2, k3, k4 = (table(values, q) for values in _parts(32, 31, 4))
    p1, e1 = two_product(scaled, k1)
    p2, e2 = two_product(scaled, k2)
    p3, e3 = two_product(scaled, k3)
    # From the largest to the smallest, so that what cancels does so exactly.
    total, low1 = two_sum(_modulo_4(p1), _modulo_4(e1))
    total, low2 = two_sum(total, _modulo_4(p2))
    turns = total.rint()
    middle, low3 = two_sum(e2, p3)
    rest, low4 = two_sum(total - turns, middle)
    rest, low5 = two_sum(rest, low1)
    rest, low6 = two_sum(rest, low2)
    low = ((low4 + low5) + low6) + (low3 + scaled.fma(k4, e3))
    rest, low = fast_two_sum(rest, low)
    angle, error = two_product(rest, x.like(_HALF_PI[0]))
    return _whole(turns), angle, low.fma(_HALF_PI[0], rest.fma(_HALF_PI[1], error))


def _whole(turns: Expr) -> Expr:
    """A small whole number as an integer, from the low bits of its sum with the shifter."""
    return (turns + DOUBLE.shifter).bits()


def _turned_moderate_single(x: Expr) -> tuple[Expr, Expr]:
    """The same for moderate float32."""
    wide = x.convert(F64)
    turns = (wide * (2 / math.pi)).rint()
    rest = turns.fma(-_HALF_PI[1], turns.fma(-_HALF_PI[0], wide))
    return _whole(turns), rest.convert(F32)


def _turned_moderate_double(x: Expr) -> tuple[Expr, Expr, Expr]:
    """The same for moderate float64."""
    turns = (x * (2 / math.pi)).rint()
    high, middle, low = _HALF_PI_IN_THREE
    product, error = two_product(turns, x.like(middle))
    angle, rest = two_sum(turns.fma(-high, x), -product)
    rest = turns.fma(-low, rest - error)
    return _whole(turns), *fast_two_sum(angle, rest)


def _turned(x: Expr) -> tuple[Expr, ...]:
    is_large = x.abs() > (_MODERATE_SINGLE if x.dtype == F32 else _MODERATE_DOUBLE)
    if x.dtype == F32:
        cases: Any = zip(_turned_single(x), _turned_moderate_single(x), strict=True)
    else:
        cases = zip(_turned_double(x), _turned_moderate_double(x), strict=True)
    return tuple(rarely(is_large, any_size, moderate) for any_size, moderate in cases)


def _sin_and_cos(x: Expr) -> tuple[Expr, Expr, Expr]:
    """Quarter turns, and sine and cosine of the rest."""
    if x.dtype == F32:
        turns, r = _turned(x)
        z = r * r
        sine = (r * z).fma(polynomial(_SIN_SINGLE, z), r)
        return turns, sine, (z * z).fma(polynomial(_COS_SINGLE, z), z.fma(-0.5, 1.0))
    turns, r, low = _turned(x)
    z = r * r
    sine = r + (r * z).fma(polynomial(_SIN_DOUBLE, z), z.fma(-0.5, 1.0) * low)
    half = z * 0.5
    top = 1.0 - half
    # What the subtraction has lost, and the part of the angle that is too small for r.
    rest = ((1.0 - top) - half) - r * low
    return turns, sine, top + (z * z).fma(polynomial(_COS_DOUBLE, z), rest)


def _chosen(turns: Expr, even: Expr, odd: Expr) -> Expr:
    """The one or the other by the lowest bit of turns, negative if the next bit is set."""
    result = where((turns & 1).equals(0), even, odd)
    return where((turns & 2).equals(0), result, -result)


def sin(x: Expr) -> Expr:
    turns, sine, cosine = _sin_and_cos(x)
    # Of tiny numbers the products would be subnormal; -0 stays -0.
    return where(x.abs() < 2.0**-30, x, _chosen(turns, sine, cosine))


def cos(x: Expr) -> Expr:
    turns, sine, cosine = _sin_and_cos(x)
    return _chosen(turns + 1, sine, cosine)


def atan(x: Expr) -> Expr:
    size = x.abs()
    is_large, is_small = size > math.tan(3 * math.pi / 8), size < math.tan(math.pi / 8)
    above = where(is_small, size, where(is_large, -1.0, size - 1.0))
    below = where(is_small, 1.0, where(is_large, size, size + 1.0))
    t = above / below
    z = t * t
    bend = t * z * polynomial(_ATAN_SINGLE if x.dtype == F32 else _ATAN_DOUBLE, z)
    low = _rest_of_half_pi(x)
    turned = where(is_large, _HALF_PI[0], x.like(_HALF_PI[0] / 2)) + (
        t + (bend + where(is_large, low, x.like(low / 2)))
    )
    return where(is_small, t + bend, turned).copysign(x)


def _rest_of_half_pi(x: Expr) -> float:
    """What π/2, rounded to the type of x, lacks."""
    return -4.371138828673793e-08 if x.dtype == F32 else _HALF_PI[1]
