"""The sweep for cliffs: elementwise operations, special functions, comparisons, conversions."""

from collections.abc import Callable
from typing import Any

from clew.bench.cliffs.inputs import Build, Inputs, calls, functions, without_gradient

_UNARY = """
abs acos asin asinh atan atanh ceil cos cosh exp exp2 expm1 floor frac log log10 log1p log2 neg
positive reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc deg2rad
rad2deg nan_to_num erf erfc sgn isnan isinf isfinite isneginf isposinf signbit logical_not
clone nn.functional.relu nn.functional.relu6 nn.functional.elu nn.functional.selu
nn.functional.celu nn.functional.gelu nn.functional.silu nn.functional.mish
nn.functional.leaky_relu nn.functional.hardtanh nn.functional.hardswish nn.functional.hardsigmoid
nn.functional.softplus nn.functional.softsign nn.functional.softshrink nn.functional.hardshrink
nn.functional.tanhshrink nn.functional.logsigmoid nn.functional.rrelu
"""
_UNARY_FLOATS = """
digamma lgamma erfinv i0 logit isreal frexp angle
special.entr special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.ndtr
special.ndtri special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1
special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0
special.modified_bessel_k1 special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1
special.spherical_bessel_j0 special.airy_ai
"""
_BINARY = """
add sub mul div pow true_divide maximum minimum fmax fmin fmod remainder atan2 copysign hypot eq
ne lt le gt ge isclose logical_and logical_or logical_xor xlogy
logaddexp logaddexp2 rsub float_power ldexp dist
"""
_BINARY_FLOATS = "nextafter special.xlog1py polar complex"
_BINARY_VALUES = "special.zeta igamma igammac"
_POLYNOMIALS = """
special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
special.chebyshev_polynomial_w special.shifted_chebyshev_polynomial_t
special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v
special.shifted_chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he
special.laguerre_polynomial_l special.legendre_polynomial_p
"""
_COMPLEX = """
abs angle conj conj_physical resolve_conj real imag sgn exp log sqrt sin cos tanh reciprocal
square neg sigmoid log1p expm1 isnan isfinite isreal view_as_real acos asinh
"""
_COMPLEX_BINARY = "add sub mul div pow eq ne isclose"
_INTEGERS = "bitwise_and bitwise_or bitwise_xor gcd lcm floor_divide remainder fmod mul add eq lt"


def _half_open(c: Inputs) -> list[object]:
    return [c(low=0.0, high=0.99)]


ELEMENTWISE: dict[str, Build] = {
    **functions(_UNARY, _half_open),
    **without_gradient(functions("floor_divide heaviside", lambda c: [c(), c(c.vector, 0.5, 2.0)])),
    **functions("acosh", lambda c: [c(low=1.1, high=9.0)]),
    **functions(_BINARY, lambda c: [c(), c(c.vector, 0.5, 2.0)]),
    **calls(
        {
            "clamp": lambda c: lambda x: x.clamp(0.5, 1.0),
            "clamp_min": lambda c: lambda x: x.clamp_min(0.5),
            "clamp_max": lambda c: lambda x: x.clamp_max(0.5),
            "threshold": lambda c: lambda x: c.t.nn.functional.threshold(x, 0.5, 0.0),
            "round_decimals": lambda c: lambda x: x.round(decimals=2),
            "pow_2": lambda c: lambda x: x**2,
            "pow_3": lambda c: lambda x: x**3,
            "pow_half": lambda c: lambda x: x**0.5,
            "pow_float": lambda c: lambda x: x**2.3,
            "rpow": lambda c: lambda x: 2.0**x,
            "mul_scalar": lambda c: lambda x: x * 2.0,
            "rdiv": lambda c: lambda x: 1.0 / x,
            "fmod_scalar": lambda c: lambda x: x.fmod(0.3),
            "remainder_scalar": lambda c: lambda x: x % 0.3,
            "div_floor": lambda c: lambda x: x.div(0.3, rounding_mode="floor"),
            "div_trunc": lambda c: lambda x: x.div(0.3, rounding_mode="trunc"),
            "lerp_scalar": lambda c: lambda x: c.t.lerp(x, x, 0.3),
            "add_": lambda c: lambda x: x.detach().add_(1.0),
            "fill_": lambda c: lambda x: x.detach().fill_(1.0),
            "zero_": lambda c: lambda x: x.detach().zero_(),
        },
        "vector",
    ),
    **calls(
        {
            "where": lambda c: (lambda m: lambda x, y: c.t.where(m, x, y))(c.mask()),
            "where_scalar": lambda c: (lambda m: lambda x, y: c.t.where(m, x, 0.0))(c.mask()),
            "masked_fill": lambda c: (lambda m: lambda x, y: x.masked_fill(m, 0.0))(c.mask()),
            "addcmul": lambda c: lambda x, y: c.t.addcmul(x, x, y),
            "addcdiv": lambda c: lambda x, y: c.t.addcdiv(x, x, y),
            "lerp": lambda c: lambda x, y: c.t.lerp(x, y, x),
            "copy_": lambda c: lambda x, y: x.detach().copy_(y),
            "allclose": lambda c: lambda x, y: c.t.tensor(c.t.allclose(x, y)),
            "equal": lambda c: lambda x, y: c.t.tensor(c.t.equal(x, x.detach().clone())),
        },
        "vector",
        "vector",
    ),
    **calls(
        {
            "add_broadcast": lambda c: lambda x: x + x[0],
            "mul_column": lambda c: lambda x: x * x[:, :1],
            "add_transposed": lambda c: lambda x: x + x.t(),
            "nn.functional.prelu": lambda c: lambda x: c.t.nn.functional.prelu(x, x[0]),
            "nn.functional.glu": lambda c: lambda x: c.t.nn.functional.glu(x),
        },
        "matrix",
    ),
}

FLOATS: dict[str, Build] = {
    **functions(_UNARY_FLOATS, _half_open),
    **functions(_BINARY_FLOATS, lambda c: [c(low=1.1, high=3.0), c(c.vector, 0.5, 2.0)]),
    **without_gradient(
        functions(_BINARY_VALUES, lambda c: [c(low=1.1, high=3.0), c(c.vector, 0.5, 2.0)])
    ),
    **calls(
        {
            "polygamma_1": lambda c: lambda x: c.t.polygamma(1, x),
            "polygamma_3": lambda c: lambda x: c.t.polygamma(3, x),
            "i0_wide": lambda c: lambda x: c.t.i0(x * 20),
            "i1e_wide": lambda c: lambda x: c.t.special.i1e(x * 20),
            "lgamma_wide": lambda c: lambda x: c.t.lgamma(x * 50),
            "digamma_wide": lambda c: lambda x: c.t.digamma(x * 50),
            "bessel_j0_wide": lambda c: lambda x: c.t.special.bessel_j0(x * 20),
            "sin_wide": lambda c: lambda x: c.t.sin(x * 1e6),
            "fmod_wide": lambda c: lambda x: c.t.fmod(x * 1e6, 0.7),
            "mvlgamma": lambda c: lambda x: c.t.mvlgamma(x + 1.0, 2),
        },
        "vector",
    ),
}

POLYNOMIALS: dict[str, Build] = functions(
    _POLYNOMIALS, lambda c: [c(low=-0.9, high=0.9).detach(), c.integers(8)]
)

COMPLEX: dict[str, Build] = {
    **functions(_COMPLEX, lambda c: [c.t.complex(c.real(), c.real().flip(0)).requires_grad_()]),
    **functions(
        _COMPLEX_BINARY,
        lambda c: [
            c.t.complex(c.real(), c.real().flip(0)).requires_grad_(),
            c.t.complex(c.real().flip(0), c.real()).requires_grad_(),
        ],
    ),
    **functions("view_as_complex", lambda c: [c.real().reshape(-1, 2).requires_grad_()]),
}

INTEGERS: dict[str, Build] = {
    **functions(_INTEGERS, lambda c: [c(), c().flip(0)]),
    **functions("bitwise_not neg abs sign sum prod", lambda c: [c()]),
    **functions("bitwise_left_shift bitwise_right_shift", lambda c: [c(), c.integers(8)]),
}

_DTYPES = "float double half bfloat16 long int short char byte bool"


def _converted(name: str) -> Callable[[Inputs], Callable[..., Any]]:
    return lambda c: lambda x: getattr(x, name)()


CONVERSIONS: dict[str, Build] = calls(
    {name: _converted(name) for name in _DTYPES.split()}, "vector"
)
