"""Elementwise functions of one operand, aliases, clamping, and functions of three operands."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from ..sampling import (
    FLOATS,
    WIDE_FLOATS,
    Maker,
    OpCase,
    Sample,
    Samples,
    also,
    at,
    binary,
    binary_full,
    extremes_unary,
    given,
    mismatched,
    none,
    pairs,
    unary,
    with_scalars,
)

POSITIVE = (0.1, 4.0)


def _unary(name: str, **row: Any) -> OpCase:
    """A unary op with function, method, in-place method and out=."""
    row.setdefault("inplace", f"{name}_")
    row.setdefault("out", True)
    row.setdefault("extremes", extremes_unary)
    return OpCase(name, unary, **row)


def _predicate(name: str, **row: Any) -> OpCase:
    """A unary test with a bool result: no in-place form."""
    row.setdefault("out", False)
    return _unary(name, inplace=None, **row)


def binary_row(name: str, samples: Samples = binary_full, **row: Any) -> OpCase:
    """A binary op with function, method, in-place method and out=."""
    row.setdefault("inplace", f"{name}_")
    row.setdefault("out", True)
    row.setdefault("errors", mismatched)
    return OpCase(name, samples, **row)


def _alias(name: str, samples: Samples = unary, **row: Any) -> OpCase:
    row.setdefault("inplace", f"{name}_")
    return OpCase(name, samples, **row)


UNARY: list[OpCase] = [
    _unary("abs", variants=("function", "method", "operator"), kinks=at(0.0, -0.0)),
    _unary("neg", variants=("function", "method", "operator")),
    _unary("positive", variants=("function", "method", "operator"), inplace=None, out=False),
    _unary("exp"),
    _unary("exp2"),
    _unary("expm1"),
    _unary("log", domain=POSITIVE),
    _unary("log2", domain=POSITIVE),
    _unary("log10", domain=POSITIVE),
    _unary("log1p", domain=(-0.9, 4.0)),
    _unary("sqrt", domain=POSITIVE, kinks=at(0.0)),
    _unary("rsqrt", domain=POSITIVE, kinks=at(0.0)),
    _unary("square"),
    _unary("reciprocal", domain=POSITIVE, kinks=at(0.0, -0.0)),
    _unary("sin"),
    _unary("cos"),
    _unary("tan", domain=(-1.2, 1.2)),
    _unary("asin", domain=(-0.95, 0.95), kinks=at(-1.0, 1.0)),
    _unary("acos", domain=(-0.95, 0.95), kinks=at(-1.0, 1.0)),
    _unary("atan"),
    _unary("sinh"),
    _unary("cosh"),
    _unary("tanh"),
    _unary("asinh"),
    _unary("acosh", domain=(1.1, 5.0), kinks=at(1.0)),
    _unary("atanh", domain=(-0.9, 0.9), kinks=at(-1.0, 1.0)),
    _unary("sigmoid"),
    _unary("erf"),
    _unary("erfc"),
    _unary("erfinv", domain=(-0.95, 0.95), kinks=at(-1.0, 0.0, 1.0)),
    _unary("lgamma", domain=POSITIVE, kinks=at(1.0, 2.0)),
    _unary("digamma", domain=POSITIVE),
    _unary("floor", kinks=at(0.0, 1.0)),
    _unary("ceil", kinks=at(0.0, 1.0)),
    _unary("trunc", kinks=at(0.0, 1.0)),
    _unary("frac", kinks=at(0.0, 1.0)),
    _unary("sign", kinks=at(0.0)),
    _unary("sgn", kinks=at(0.0, -0.0)),
    _unary("sinc", kinks=at(0.0, 1.0)),
    _unary("i0"),
    _unary("angle", inplace=None, kinks=at(0.0, -0.0)),
    _unary("deg2rad"),
    _unary("rad2deg"),
    _unary("nn.functional.relu", variants=("function",), inplace=None, out=False, kinks=at(0.0)),
    _unary("relu", out=False, kinks=at(0.0, -0.0)),
    _unary("logical_not"),
    _unary("bitwise_not", variants=("function", "method", "operator"), extremes=none),
    _unary("conj_physical"),
    _predicate("conj"),
    _predicate("isnan"),
    _predicate("isinf"),
    _predicate("isfinite"),
    _predicate("isposinf", out=True),
    _predicate("isneginf", out=True),
    _predicate("isreal"),
    _predicate("signbit", out=True),
    _predicate("real"),
    _predicate("imag", dtypes=(torch.complex64, torch.complex128, torch.float32), extremes=none),
]

ALIASES: list[OpCase] = [
    *(
        _alias(name)
        for name in (
            "absolute",
            "negative",
            "arctan",
            "arcsinh",
            "fix",
        )
    ),
    *(_alias(name, domain=(-0.9, 0.9)) for name in ("arcsin", "arccos", "arctanh")),
    _alias("arccosh", domain=(1.1, 5.0)),
    *(
        _alias(name, binary_full, domain=POSITIVE)
        for name in (
            "multiply",
            "subtract",
            "divide",
            "true_divide",
            "greater",
            "greater_equal",
            "less",
            "less_equal",
            "not_equal",
            "arctan2",
        )
    ),
    *(
        OpCase(f"special.{name}", unary, variants=("function",), out=True, domain=(0.1, 0.9))
        for name in (
            "expit",
            "exp2",
            "expm1",
            "log1p",
            "erf",
            "erfc",
            "erfinv",
            "gammaln",
            "digamma",
            "psi",
            "sinc",
            "i0",
            "i1",
            "i1e",
            "ndtr",
            "ndtri",
            "log_ndtr",
            "entr",
            "erfcx",
        )
    ),
    OpCase("special.i0e", unary, variants=("function",), out=True, domain=(0.1, 0.9)),
]


def _clamp_scalars(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), -1, 1),
        Sample(make(3, 4), min=0),
        Sample(make.strided(3, 4), max=1),
        Sample(make(3, 4), -0.5, 0.5),
        Sample(make(3, 4), 1, -1),
        Sample(make(), 0, 1),
        Sample(make(0, 2), 0, 1),
    ]


def _clamp_tensors(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), make(4), make(3, 1)),
        Sample(make(3, 4), min=make(3, 4)),
        Sample(make(2, 3), None, make(3)),
        Sample(make.strided(3, 4), make(), make()),
    ]


def _clamp_kinks(make: Maker) -> list[Sample]:
    points = (0.0, 1.0, 0.5, -1.0, 2.0)
    return [
        Sample(make.values(*points), 0.0, 1.0),
        Sample(make.values(*points), min=0.0),
        Sample(make.values(*points), max=1.0),
        Sample(make.values(*points), 1.0, 0.0),
        Sample(make.values(*points), make.values(0.0), make.values(1.0)),
        Sample(make.values(*points), make.values(1.0), make.values(1.0)),
    ]


def _clamp_errors(make: Maker) -> list[Sample]:
    return [Sample(make(3)), Sample(make(3), make(4), make(4))]


def _three(make: Maker) -> list[Sample]:
    shapes: Iterable[tuple[Any, Any, Any]] = (
        ((3, 4), (3, 4), (3, 4)),
        ((3, 4), (4,), (3, 1)),
        ((2, 3, 4), (), (4,)),
        ((), (), ()),
        ((0, 3), (1,), (3,)),
    )
    rows = [Sample(*(make(*s, low=0.5) for s in three)) for three in shapes]
    return [*rows, Sample(*(make.strided(3, 4, low=0.5) for _ in range(3)))]


def _three_with_value(make: Maker) -> list[Sample]:
    value = 0.5 if make.is_inexact else 2
    return [
        *_three(make),
        Sample(make(3, 4), make(4), make(3, 1, low=1), value=value),
        Sample(make(2), make(2), make(2, low=1), value=-1),
    ]


def _three_mismatched(make: Maker) -> list[Sample]:
    return [Sample(make(3), make(4), make(2, 3))]


def _lerp(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), make(3, 4), 0.25),
        Sample(make(3, 4), make(4), 0.75),
        Sample(make(3, 4), make(3, 4), make(4)),
        Sample(make(3, 1), make(4), make()),
        Sample(make.strided(3, 4), make(3, 4), 2.0),
        Sample(make(0), make(0), 0.5),
        Sample(make(), make(), make()),
    ]


def _where(make: Maker) -> list[Sample]:
    def mask(*shape: int) -> torch.Tensor:
        return make(*shape, dtype=torch.bool)

    return [
        Sample(mask(3, 4), make(3, 4), make(3, 4)),
        Sample(mask(3, 1), make(4), make(3, 4)),
        Sample(mask(4), make(), make(3, 4)),
        Sample(mask(3), 1.0, make(3)),
        Sample(mask(3), make(3), 2),
        Sample(mask(3), 1, 2),
        Sample(mask(3), 1.5, 2.0),
        Sample(mask(0, 2), make(2), make(0, 1)),
        Sample(mask(), make(), make()),
        Sample(mask(3), make(3), make(3, dtype=torch.int32)),
        Sample(mask(3, 4)),
        Sample(mask(4, 3).t(), make.strided(3, 4), make(3, 4)),
    ]


def _where_errors(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, dtype=torch.float32), make(3), make(3)),
        Sample(make(4, dtype=torch.bool), make(3), make(3)),
    ]


def _nan_to_num(make: Maker) -> list[Sample]:
    nan, inf = float("nan"), float("inf")
    special = make.values(nan, inf, -inf, 0.0, 1.0) if make.is_inexact else make(5)
    return [
        *unary(make),
        Sample(special),
        Sample(special, 1.0),
        Sample(special, nan=2.0, posinf=3.0),
        Sample(special, neginf=-4.0),
        Sample(special, 0.5, 1.5, -1.5),
    ]


def _logit(make: Maker) -> list[Sample]:
    return [*unary(make), Sample(make(3, 4), 0.2), Sample(make(3, 4), eps=0.4)]


def _rounded(make: Maker) -> list[Sample]:
    return [
        *unary(make),
        Sample(make(3, 4), decimals=0),
        Sample(make(3, 4), decimals=2),
        Sample(make(3, 4, low=-300.0, high=300.0), decimals=-1),
    ]


def _polygamma(make: Maker) -> list[Sample]:
    return [Sample(n, make(3, 4)) for n in (0, 1, 2)]


def _negative_abs(make: Maker) -> list[Sample]:
    return [Sample(make(3, 4, low=-2.0, high=-1.0), make(3, 4, low=-3.0, high=3.0))]


def _igamma_limits(make: Maker) -> list[Sample]:
    """Zeros, infinities and negative numbers, and where the methods of computation meet."""
    if not make.dtype.is_floating_point:
        return []
    values = (0.0, 0.5, 1.0, 3.0, 19.0, 30.0, 250.0, math.inf, -1.0)
    column = torch.tensor(values, dtype=make.dtype)
    return [Sample(column.reshape(-1, 1).clone(), column * scale) for scale in (1.0, 0.9, 1.1)]


def _igamma_errors(make: Maker) -> list[Sample]:
    return [*mismatched(make), Sample(make(3), 2.0)]


MIXED: list[OpCase] = [
    OpCase(
        "clamp",
        also(_clamp_scalars, _clamp_tensors),
        inplace="clamp_",
        out=True,
        kinks=_clamp_kinks,
        errors=_clamp_errors,
    ),
    OpCase("clip", also(_clamp_scalars, _clamp_tensors), inplace="clip_", out=True),
    OpCase(
        "clamp_min",
        also(binary, with_scalars(0, 0.5)),
        inplace="clamp_min_",
        out=True,
        kinks=also(pairs((0.0, 0.0), (1.0, 1.0)), given(lambda m: Sample(m.values(0.0), 0.0))),
    ),
    OpCase(
        "clamp_max",
        also(binary, with_scalars(0, 0.5)),
        inplace="clamp_max_",
        out=True,
        kinks=also(pairs((0.0, 0.0), (1.0, 1.0)), given(lambda m: Sample(m.values(0.0), 0.0))),
    ),
    OpCase("addcmul", _three_with_value, inplace="addcmul_", out=True, errors=_three_mismatched),
    OpCase("addcdiv", _three_with_value, inplace="addcdiv_", out=True, errors=_three_mismatched),
    OpCase("lerp", _lerp, inplace="lerp_", out=True),
    OpCase("where", _where, method_order=(1, 0, 2), errors=_where_errors),
    OpCase(
        "nan_to_num",
        _nan_to_num,
        inplace="nan_to_num_",
        out=True,
        kinks=at(float("nan"), float("inf"), float("-inf"), 1.0),
    ),
    OpCase(
        "logit",
        _logit,
        inplace="logit_",
        out=True,
        domain=(0.05, 0.95),
        kinks=at(0.0, 1.0, -1.0),
    ),
    OpCase("round", _rounded, inplace="round_", out=True, extremes=extremes_unary),
    OpCase("polygamma", _polygamma, method_order=(1, 0), domain=POSITIVE, dtypes=FLOATS),
    *(
        OpCase(
            name,
            binary,
            inplace=f"{name}_",
            out=True,
            domain=POSITIVE,
            extremes=_igamma_limits,
            errors=_igamma_errors,
        )
        for name in ("igamma", "igammac")
    ),
    OpCase(
        "mvlgamma",
        given(lambda m: Sample(m(3, 4), 1), lambda m: Sample(m(3, 4), p=3)),
        inplace="mvlgamma_",
        domain=(3.0, 6.0),
    ),
    OpCase("frexp", unary, dtypes=FLOATS),
    OpCase("complex", binary, variants=("function",), dtypes=WIDE_FLOATS, errors=mismatched),
    # torch's forward-mode formula takes abs(result) for `abs`, and so drops a minus sign; gradients
    # are right for negative ones, too.
    OpCase(
        "polar",
        binary,
        variants=("function",),
        dtypes=WIDE_FLOATS,
        domain=POSITIVE,
        kinks=pairs((-1.0, 0.5), (-2.0, -2.0), (0.0, 1.0)),
        extremes=_negative_abs,
    ),
    OpCase(
        "view_as_real",
        unary,
        variants=("function",),
        dtypes=(torch.complex64, torch.complex128, torch.float32),
    ),
]

CASES: list[OpCase] = [*UNARY, *ALIASES, *MIXED]
