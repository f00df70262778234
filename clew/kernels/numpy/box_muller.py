"""Float32 normals from random words by the Box-Muller transform, with PyTorch's bits.

Eight words of a row of 16 give radii, the other eight give angles. The order of operations and the
fused multiply-adds are those of PyTorch's AVX2 code.
"""

from __future__ import annotations

import math
from typing import Any

from clew.kernels.codegen.ir import F32, I32, where
from clew.kernels.codegen.ufunc import elementwise

# The single-precision polynomials of the Cephes library.
_LOG_POLYNOMIAL = [
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
]  # fmt: skip
_SIN_POLYNOMIAL = [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]
_COS_POLYNOMIAL = [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]
# ln 2 and pi / 4 as sums of short floats, so that their multiples subtract without error.
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_QUARTER_PI = [0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8]


def uniform_of(word: Any) -> Any:
    """24 bits of a word as a number from [0, 1)."""
    return (word & (2**24 - 1)).convert(F32) * 2.0**-24


def _polynomial(coefficients: list[float], x: Any) -> Any:
    value = x.like(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value.fma(x, coefficient)
    return value


def _log(x: Any) -> Any:
    bits = x.bits()
    fraction = ((bits & 0x7FFFFF) | 0x3F000000).from_bits()
    exponent = ((bits >> 23) - 126).convert(F32)
    small = fraction < math.sqrt(0.5)
    power = where(small, exponent - 1.0, exponent)
    # Below sqrt(1/2) the fraction counts twice; both steps are exact.
    x = (fraction - 1.0) + where(small, fraction, 0.0)
    square = x * x
    cubic = _polynomial(_LOG_POLYNOMIAL, x) * x
    tail = cubic.fma(square, power * _LN2_LOW) - square * 0.5
    return power.fma(_LN2_HIGH, x + tail)


def _sine_and_cosine(theta: Any) -> tuple[Any, Any]:
    octant = ((theta * (4.0 / math.pi)).convert(I32) + 1) & ~1
    turns = octant.convert(F32)
    x = theta
    for part in _QUARTER_PI:
        x = (-turns).fma(part, x)
    square = x * x
    cosine = _polynomial(_COS_POLYNOMIAL, square) * square
    cosine = cosine.fma(square, square * -0.5) + 1.0
    sine = (_polynomial(_SIN_POLYNOMIAL, square) * square).fma(x, x)
    # Turn (cosine, sine) back by the quarter turns that were taken out.
    quarters = (octant >> 1) & 3
    odd = (quarters & 1).eq(1)
    first, second = where(odd, cosine, sine), where(odd, sine, cosine)
    return (
        where(quarters >= 2, -first, first),
        where(quarters.eq(1) | quarters.eq(2), -second, second),
    )


@elementwise(
    "box_muller", 4, outputs=2, scalars=(2, 3), cost=16,
    types=[([I32, I32, F32, F32], [F32, F32])],
)  # fmt: skip
def BOX_MULLER(word: Any, angle: Any, mean: Any, std: Any) -> Any:
    radius = (_log(1.0 - uniform_of(word)) * -2.0).sqrt()
    sine, cosine = _sine_and_cosine(uniform_of(angle) * (2.0 * math.pi))
    return (radius * cosine).fma(std, mean), (radius * sine).fma(std, mean)
