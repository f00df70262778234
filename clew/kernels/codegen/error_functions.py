"""The error function, its complement and its inverse as expressions."""

from __future__ import annotations

import math

from clew.kernels.codegen.elementary import (
    chebyshev,
    exp,
    exp_reduction,
    is_nan,
    log,
    polynomial,
    two_product,
)
from clew.kernels.codegen.ir import F32, Expr, where
from clew.kernels.codegen.special_coefficients import ERF_NEAR_ZERO, ERFCX

# erf(x) / x in x², for |x| < 0.9
_ERF_SINGLE_NEAR = (
    1.1283791668, -0.376126353113, 0.112837197321, -0.0268607531239, 0.00520443647258,
    -0.000818192958312, 8.53883988934e-5,
)  # fmt: skip
# log(erfc(x)), for x between 0.9 and the least number whose erf rounds to 1
_ERFC_SINGLE_LOG = (
    0.000170552311786, -1.1294951619, -0.633386637557, -0.108236633051, 0.0250915082086,
    -0.00416053231907, 0.000432304306755, -2.09096852736e-5,
)  # fmt: skip
_ERF_SINGLE_ONE = 3.95

# erfinv(x) / x in w - 2.5, for w = -log(1 - x²) < 5
_ERFINV_NEAR = (
    1.501409353507, 0.24664028762151, -0.0041773393647185, -0.001252744644624,
    0.00021828259297579, -4.9619162036586e-6, -3.4345965059613e-6, 4.6589215070796e-7,
    1.8034553614964e-8, -8.7727759500008e-9, 3.3570624528792e-10,
)  # fmt: skip
# The same in √w - 3, for all larger w of float32, and in √w - 4, for those of float64.
_ERFINV_SINGLE_FAR = (
    2.8329770220724, 1.001673572742, 0.0094344725683345, -0.0076169712889241,
    0.0057656294418484, -0.0036891797522368, 0.0013050697165957, 0.00011553915365081,
    -0.00018107680211261,
)  # fmt: skip
_ERFINV_DOUBLE_FAR = (
    3.8397817185992, 1.0095075727543, 0.0012895203691764, -0.00092892123828772,
    0.00026300878011696, -4.167984408149e-5, 8.6544397811555e-5, -7.3368421991788e-5,
    1.8522720604744e-5, -7.4177812433281e-7,
)  # fmt: skip


def erf(x: Expr) -> Expr:
    size = x.abs()
    if x.dtype == F32:
        size = where(size > _ERF_SINGLE_ONE, _ERF_SINGLE_ONE, size)
        far = 1.0 - exp(polynomial(_ERFC_SINGLE_LOG, size))
        return where(size < 0.9, _erf_near(x), far.copysign(x))
    far = (1.0 - _erfc_tail(size)).copysign(x)
    return where(size < 1.0, _erf_near(x), where(is_nan(x), x, far))


def erfc(x: Expr) -> Expr:
    tail = _erfc_tail(x.abs())
    far = where(x < 0.0, 2.0 - tail, tail)
    return where(x.abs() < 0.5, 1.0 - _erf_near(x), where(is_nan(x), x, far))


def _erf_near(x: Expr) -> Expr:
    """erf(x) for |x| < 0.9 in float32, 1 in float64."""
    return x * polynomial(_ERF_SINGLE_NEAR if x.dtype == F32 else ERF_NEAR_ZERO, x * x)


def _erfc_tail(x: Expr) -> Expr:
    """erfc(x) for x >= 0, accurate where it is small."""
    x = where(x > 40.0, 40.0, x)
    return _exp_minus_square(x) * _erfcx(x)


def _erfcx(x: Expr) -> Expr:
    """exp(x²) erfc(x) for x >= 0, as (1 + 2x)⁻¹ times a series in (x - 3.75) / (x + 3.75)."""
    terms = ERFCX[:12] if x.dtype == F32 else ERFCX
    return chebyshev(terms, (x - 3.75) / (x + 3.75)) / x.fma(2.0, 1.0)


def _exp_minus_square(x: Expr) -> Expr:
    """exp(-x²), with the rounding error of the square made good."""
    square, error = two_product(x, x)
    expm1_r, first, second = exp_reduction(-square, -error)
    return first.fma(expm1_r, first) * second


def erfinv(x: Expr) -> Expr:
    size = x.abs()
    w = -log((1.0 - size) * (1.0 + size))
    root = w.sqrt()
    if x.dtype == F32:
        far = polynomial(_ERFINV_SINGLE_FAR, root - 3.0)
    else:
        far = polynomial(_ERFINV_DOUBLE_FAR, root - 4.0)
    result = size * where(w < 5.0, polynomial(_ERFINV_NEAR, w - 2.5), far)
    if x.dtype != F32:
        result = _erfinv_improved(size, result)
    return where(size.eq(1.0), math.inf, result).copysign(x)


def _erfinv_improved(x: Expr, guess: Expr) -> Expr:
    """One step of Halley's method, which triples the digits, for x >= 0."""
    scale = math.sqrt(math.pi) / 2
    density = _exp_minus_square(guess)
    # (erf(guess) - x) / density; far out both are near 1, and their complements are compared.
    near = (_erf_near(guess) - x) / density
    far = (1.0 - x) / density - _erfcx(guess)
    step = where(x < 0.7, near, far) * scale
    return guess - step / guess.fma(step, 1.0)
