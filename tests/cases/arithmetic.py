"""Arithmetic and comparison of two operands, bitwise and logical ops."""

from __future__ import annotations

import torch

from ..sampling import (
    INTEGERS,
    Maker,
    OpCase,
    Sample,
    also,
    binary,
    binary_full,
    binary_promoting,
    extremes_binary,
    given,
    mismatched,
    none,
    pairs,
    with_scalars,
)
from .elementwise import POSITIVE, binary_row


def _rounding(make: Maker) -> list[Sample]:
    modes = ("trunc", "floor", None)
    return [
        *(Sample(make(3, 4), make(3, 4, low=1, high=3), rounding_mode=m) for m in modes),
        *(Sample(make.strided(3, 4), 2, rounding_mode=m) for m in modes),
        *(Sample(make(2, 3), -1.5, rounding_mode=m) for m in modes),
        *(Sample(make(0, 3), make(3, low=1, high=2), rounding_mode=m) for m in modes),
    ]


def _bad_rounding(make: Maker) -> list[Sample]:
    return [Sample(make(3), make(3, low=1, high=3), rounding_mode="up")]


def _with_alpha(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), make(4), alpha=2),
        Sample(make(3, 1), make(4), alpha=-1),
        Sample(make(2, 3), 2, alpha=3),
        Sample(make.strided(3, 4), make(3, 4), alpha=0),
    ]


def _fractional_alpha(make: Maker) -> list[Sample]:
    return [Sample(make(3, 4), make(4), alpha=0.5)] if make.is_inexact else []


def _bad_alpha(make: Maker) -> list[Sample]:
    if make.is_inexact:
        return mismatched(make)
    return [*mismatched(make), Sample(make(3), make(3), alpha=0.5)]


def _power_scalars(make: Maker) -> list[Sample]:
    exponents = (0, 1, 2, 3, -1, 0.5, -0.5, 2.5)
    return [
        *(Sample(make(2, 3, low=0.5, high=3.0), e) for e in exponents),
        Sample(2, make(2, 3)),
        Sample(0.5, make(2, 3)),
        Sample(1, make(2, 3)),
    ]


def _power_kinks(make: Maker) -> list[Sample]:
    base = (0.0, 0.0, 0.0, 1.0, 2.0)
    exponent = (0.0, 1.0, 2.0, 0.0, 0.0)
    return [
        Sample(make.values(*base), make.values(*exponent)),
        *(Sample(make.values(0.0, 1.0), e) for e in (0, 1, 2, 0.0, 1.0, 2.0)),
        Sample(0.0, make.values(0.0, 1.0, 2.0)),
    ]


def _nonzero_divisor(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), make(3, 4, low=1, high=3)),
        Sample(make(3, 1), make(4, low=1, high=3)),
        Sample(make.strided(3, 4), make.strided(3, 4, low=1, high=3)),
        Sample(make(0, 3), make(1, low=1, high=3)),
        Sample(make(), make(low=1, high=3)),
        Sample(make(2, 3), make(2, 3, dtype=torch.int32, low=1, high=3)),
        *(Sample(make(2, 3), d) for d in (2, -2, 1.5, -0.7)),
    ]


ARITHMETIC: list[OpCase] = [
    binary_row(
        "add",
        also(binary_full, _with_alpha, _fractional_alpha),
        errors=_bad_alpha,
        variants=("function", "method", "operator"),
        extremes=extremes_binary,
    ),
    binary_row(
        "sub",
        also(binary_full, _with_alpha, _fractional_alpha),
        errors=mismatched,
        variants=("function", "method", "operator"),
        extremes=extremes_binary,
    ),
    binary_row("mul", variants=("function", "method", "operator"), extremes=extremes_binary),
    binary_row(
        "div",
        also(binary_full, _rounding),
        extremes=extremes_binary,
        variants=("function", "method", "operator"),
        errors=also(mismatched, _bad_rounding),
        kinks=pairs((0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (-1.0, 0.0)),
    ),
    binary_row(
        "rsub", also(binary_full, _with_alpha), inplace=None, out=False, variants=("function",)
    ),
    binary_row(
        "pow",
        also(binary, _power_scalars),
        domain=POSITIVE,
        extremes=extremes_binary,
        kinks=_power_kinks,
        variants=("function", "method", "operator"),
    ),
    binary_row("float_power", also(binary, _power_scalars), domain=POSITIVE, kinks=_power_kinks),
    binary_row(
        "floor_divide",
        _nonzero_divisor,
        variants=("function", "method", "operator"),
        extremes=extremes_binary,
    ),
    binary_row(
        "remainder",
        _nonzero_divisor,
        variants=("function", "method", "operator"),
        extremes=extremes_binary,
        kinks=pairs((0.0, 1.0), (2.0, 2.0), (-4.0, 2.0)),
    ),
    binary_row(
        "fmod",
        _nonzero_divisor,
        extremes=extremes_binary,
        kinks=pairs((0.0, 1.0), (2.0, 2.0), (-4.0, 2.0)),
    ),
    binary_row(
        "atan2",
        also(binary, binary_promoting),
        extremes=extremes_binary,
        kinks=pairs((0.0, 0.0), (0.0, 1.0), (0.0, -1.0), (1.0, 0.0)),
    ),
    binary_row("hypot", binary, kinks=pairs((0.0, 0.0), (3.0, 4.0)), extremes=extremes_binary),
    binary_row(
        "copysign",
        binary_full,
        extremes=extremes_binary,
        kinks=pairs((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (1.0, -0.0)),
    ),
    binary_row("nextafter", binary, extremes=none),
    binary_row("ldexp", binary, domain=(-2.0, 2.0)),
    binary_row(
        "logaddexp",
        binary,
        inplace=None,
        extremes=extremes_binary,
        kinks=pairs((0.0, 0.0), (1.0, 1.0)),
    ),
    binary_row(
        "logaddexp2",
        binary,
        inplace=None,
        extremes=extremes_binary,
        kinks=pairs((0.0, 0.0), (1.0, 1.0)),
    ),
    binary_row(
        "xlogy",
        binary_full,
        domain=POSITIVE,
        extremes=extremes_binary,
        kinks=pairs((0.0, 0.0), (0.0, 1.0), (1.0, 0.0)),
    ),
    binary_row(
        "special.xlog1py",
        binary,
        variants=("function",),
        inplace=None,
        domain=POSITIVE,
        kinks=pairs((0.0, 0.0), (0.0, 1.0), (1.0, 0.0)),
    ),
    binary_row(
        "maximum",
        also(binary, binary_promoting),
        inplace=None,
        extremes=extremes_binary,
        kinks=pairs((0.0, 0.0), (1.0, 1.0), (0.0, -0.0)),
    ),
    binary_row(
        "minimum",
        also(binary, binary_promoting),
        inplace=None,
        extremes=extremes_binary,
        kinks=pairs((0.0, 0.0), (1.0, 1.0), (0.0, -0.0)),
    ),
    binary_row(
        "fmax",
        binary,
        inplace=None,
        extremes=extremes_binary,
        kinks=pairs((0.0, 0.0), (1.0, 1.0), (float("nan"), 1.0), (1.0, float("nan"))),
    ),
    binary_row(
        "fmin",
        binary,
        inplace=None,
        extremes=extremes_binary,
        kinks=pairs((0.0, 0.0), (1.0, 1.0), (float("nan"), 1.0), (1.0, float("nan"))),
    ),
    binary_row("heaviside", binary, kinks=none, extremes=extremes_binary),
    binary_row("gcd", binary, dtypes=(*INTEGERS, torch.float32), domain=(1, 40)),
    binary_row("lcm", binary, dtypes=(*INTEGERS, torch.float32), domain=(1, 10)),
]

COMPARISONS: list[OpCase] = [
    *(
        binary_row(name, variants=("function", "method", "operator"), extremes=extremes_binary)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    ),
    *(
        binary_row(name, also(binary, binary_promoting), extremes=extremes_binary)
        for name in ("logical_and", "logical_or", "logical_xor")
    ),
    *(
        binary_row(
            name,
            also(binary, with_scalars(3, True)),
            dtypes=(*INTEGERS, torch.bool, torch.float32),
            variants=("function", "method", "operator"),
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    ),
    *(
        binary_row(
            name,
            also(binary, with_scalars(2)),
            dtypes=INTEGERS,
            domain=(0, 5),
            variants=("function", "method", "operator"),
        )
        for name in ("bitwise_left_shift", "bitwise_right_shift")
    ),
    binary_row(
        "isclose",
        also(
            binary,
            given(
                lambda m: Sample(m(4), m(4), rtol=0.5),
                lambda m: Sample(m(4), m(4), atol=2.0),
                lambda m: Sample(m.values(1, 2), m.values(1, 2), equal_nan=True),
            ),
        ),
        inplace=None,
        out=False,
        extremes=extremes_binary,
    ),
    OpCase("allclose", also(binary, given(lambda m: Sample(m(0), m(0))))),
    OpCase(
        "equal",
        given(
            lambda m: Sample(m.values(1, 0), m.values(1, 0)),
            lambda m: Sample(m(2, 3), m(2, 3)),
            lambda m: Sample(m(2, 3), m(3, 2)),
            lambda m: Sample(m(0), m(0)),
        ),
    ),
]

CASES: list[OpCase] = [*ARITHMETIC, *COMPARISONS]
