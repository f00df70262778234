"""x to the power y as an expression: exp(y log(x)), with extra precision in between."""

from __future__ import annotations

import math

from clew.kernels.codegen.elementary import (
    clamp,
    exp_reduction,
    exponent_and_mantissa,
    fast_two_sum,
    polynomial,
    two_product,
    two_sum,
)
from clew.kernels.codegen.ir import F32, F64, Expr, where

# log((1 + s) / (1 - s)) = 2 s + s z P(z) with z = s², to 45 bits
_LOG_45_BITS = (
    0.66666666675800779067, 0.39999995614499613231, 0.28572110409109041699,
    0.22176122398668588649, 0.19585263751245174232,
)  # fmt: skip
# log((1 + s) / (1 - s)) = 2 s + 2/3 s z + s z² P(z), to 73 bits
_LOG_73_BITS = (
    0.39999999999999990296, 0.28571428571438415467, 0.22222222218906418098,
    0.18181818725330809451, 0.15384565561490483252, 0.1333601941885670591,
    0.116802721002073405, 0.11947682356564238492,
)  # fmt: skip
_TWO_THIRDS = 0.6666666666666666, 3.700743415417188e-17
_LN2 = 0.6931471805599453, 2.319046813846299558e-17


def pow(x: Expr, y: Expr | float) -> Expr:
    y = x.like(y)
    size = x.abs()
    if x.dtype == F32:
        wide = _power_of_single(size.convert(F64), y.convert(F64)).convert(F32)
    else:
        wide = _power_of_double(size, y)
    is_whole = y.rint().eq(y)
    is_odd = is_whole & (y * 0.5).rint().ne(y * 0.5)
    is_negative = x.like(1.0).copysign(x) < 0.0
    result = where(is_odd & is_negative, -wide, wide)
    no_root = (x < 0.0) & (x > -math.inf) & ~is_whole & y.eq(y)
    result = where(no_root, math.nan, result)
    always_one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & y.abs().eq(math.inf))
    return where(always_one, 1.0, result)


def _with_special_cases(x: Expr, logarithm: Expr) -> Expr:
    """The logarithm of x >= 0, or that of zero, infinity or NaN."""
    beyond = where(x.eq(0.0), -math.inf, where(x.eq(math.inf), x, logarithm))
    return where(x.eq(x), beyond, x)


def _power_of_single(x: Expr, y: Expr) -> Expr:
    """For float32 inputs, computed in float64."""
    k, t = exponent_and_mantissa(x)
    s = t / (t + 2.0)
    z = s * s
    logarithm = k.fma(_LN2[0], s.fma(2.0, s * z * polynomial(_LOG_45_BITS, z)))
    expm1_r, first, second = exp_reduction(
        clamp(y * _with_special_cases(x, logarithm), -200.0, 200.0)
    )
    scale = first * second
    return scale.fma(expm1_r, scale)


def _power_of_double(x: Expr, y: Expr) -> Expr:
    high, low = _log_double_double(x)
    product, error = two_product(high, y)
    error = low.fma(y, error)
    # For special cases, the rounding error is NaN, and does not matter.
    product = y * _with_special_cases(x, high)
    is_small = product.abs() < 800.0
    expm1_r, first, second = exp_reduction(product, where(is_small, error, 0.0))
    return first.fma(expm1_r, first) * second


def _log_double_double(x: Expr) -> tuple[Expr, Expr]:
    """log(x) to about 65 bits, as a sum of two (double-double)."""
    k, t = exponent_and_mantissa(x)
    # s = t / (2 + t)
    below, below_low = fast_two_sum(t.like(2.0), t)
    s = t / below
    s_low = ((-s).fma(below, t) - s * below_low) / below
    # u = s² (2/3 + s² P(s²))
    z, z_low = two_product(s, s)
    z_low = (s + s).fma(s_low, z_low)
    c, c_low = fast_two_sum(x.like(_TWO_THIRDS[0]), z * polynomial(_LOG_73_BITS, z))
    c_low = c_low + _TWO_THIRDS[1]
    u, u_low = two_product(z, c)
    u_low = z.fma(c_low, z_low.fma(c, u_low))
    # log(1 + t) = s (2 + u)
    v, v_low = fast_two_sum(x.like(2.0), u)
    v_low = v_low + u_low
    main, main_low = two_product(s, v)
    main_low = s.fma(v_low, s_low.fma(v, main_low))
    whole, whole_low = two_product(k, x.like(_LN2[0]))
    whole_low = k.fma(_LN2[1], whole_low)
    high, low = two_sum(whole, main)
    return fast_two_sum(high, low + (whole_low + main_low))
