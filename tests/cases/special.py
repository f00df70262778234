"""Bessel and Airy functions, and orthogonal polynomials: none of them has a derivative in torch."""

from __future__ import annotations

import torch

from tests.sampling import (
    INTEGERS,
    WIDE_FLOATS,
    Maker,
    OpCase,
    Sample,
    also,
    binary,
    extremes_binary,
    extremes_unary,
    given,
    mismatched,
    unary,
    with_scalars,
)

_FUNCTION = ("function",)
_NOT_TENSORS = given(lambda make: Sample(2.0), lambda make: Sample([1.0]))

# torch's short series are off by up to 4e-6 at some points; clew is compared with mpmath in
# tests/kernels/numpy/test_bessel.py.
_SHORT_SERIES = {"float64": (5e-6, 5e-6), "float32": (1.3e-6, 2e-5)}


def _both_sides(make: Maker) -> list[Sample]:
    points = (-60.0, -9.5, -5.5, -2.0, -0.5, 0.0, 0.5, 2.0, 4.5, 7.9, 8.1, 20.0, 75.0, 150.0)
    return [Sample(make.values(*points))] if make.is_inexact else []


def _wave(name: str) -> OpCase:
    return OpCase(
        f"special.{name}", also(unary, _both_sides), variants=_FUNCTION, out=True,
        domain=(-2.0, 3.0),
        extremes=extremes_unary, errors=_NOT_TENSORS, tolerance=_SHORT_SERIES,
    )  # fmt: skip


def _smooth(name: str) -> OpCase:
    return OpCase(
        f"special.{name}", also(unary, _both_sides), variants=_FUNCTION, out=True,
        extremes=extremes_unary, errors=_NOT_TENSORS,
    )  # fmt: skip


# ---------------------------------------------------------------- polynomials


def _degrees(make: Maker) -> torch.Tensor:
    whole = torch.arange(-1, 11).reshape(3, 4)
    return whole.clamp(min=0).to(make.dtype) if make.dtype == torch.uint8 else whole.to(make.dtype)


def _of_degree(make: Maker) -> list[Sample]:
    degrees = _degrees(make)
    return [
        Sample(make(3, 4), degrees),
        Sample(make(5, 1, 1), degrees),
        Sample(make.strided(3, 4), degrees.T.contiguous().T),
        Sample(make(3, 4), 5),
        Sample(make(3, 4), -2),
        Sample(make.strided(3, 4), 3.7),
        Sample(1.5, degrees),
        Sample(True, degrees),
        Sample(make(), degrees[1, 1]),
        Sample(make(0, 3), 4),
        Sample(make(2, 3), torch.tensor([2, 9, 4])),
        Sample(make(2, 3, low=0, high=1), 40),
        Sample(make.values(0, 1), 7),
    ]


def _extreme_points(make: Maker) -> list[Sample]:
    """Infinities, and degrees that overflow; at NaN torch's result is what lay in its memory."""
    if not make.dtype.is_floating_point:
        return []
    inf, nan = float("inf"), float("nan")
    points = make.values(0.0, 0.5, 1.0, -1.0, 1.5, inf, -inf)
    degrees = (0, 1, 2, 6, 7, 50, inf, -inf, nan, -0.5, 1e20)
    return [Sample(points, degree) for degree in degrees] + [Sample(points[4:], 3000)]


def _refused(make: Maker) -> list[Sample]:
    narrow = (torch.float16, torch.bfloat16, torch.complex64)
    return [Sample(2.0, 3.0), *(Sample(make(3, dtype=each), 2) for each in narrow)]


def _polynomial(name: str) -> OpCase:
    return OpCase(
        f"special.{name}", _of_degree, variants=_FUNCTION, out=True, extremes=_extreme_points,
        errors=also(mismatched, _refused), dtypes=(*WIDE_FLOATS, *INTEGERS, torch.bool),
        rounds_once=name.startswith("chebyshev"),
    )  # fmt: skip


CASES = [
    OpCase(
        "special.zeta",
        also(binary, with_scalars(2, 0.5)),
        variants=_FUNCTION,
        out=True,
        domain=(1.5, 4.0),
        extremes=extremes_binary,
        errors=mismatched,
    ),
    *(_wave(name) for name in ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")),
    *(
        _smooth(name)
        for name in (
            "modified_bessel_i0",
            "modified_bessel_i1",
            "modified_bessel_k0",
            "modified_bessel_k1",
            "scaled_modified_bessel_k0",
            "scaled_modified_bessel_k1",
            "spherical_bessel_j0",
        )
    ),
    *(
        _polynomial(name)
        for name in (
            *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
            *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
            "hermite_polynomial_h",
            "hermite_polynomial_he",
            "laguerre_polynomial_l",
            "legendre_polynomial_p",
        )
    ),
]
