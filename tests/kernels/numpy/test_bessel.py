"""Bessel and Airy functions and orthogonal polynomials against 30 digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from clew.kernels.numpy import bessel
from clew.kernels.numpy import orthogonal_polynomials as polynomials

Reference = Callable[[Any], Any]

# The function, its value to 30 digits, and where. Waves have zeros: near them the error is measured
# against the amplitude.
WAVES: dict[str, tuple[Any, Reference, tuple[float, float]]] = {
    "j0": (bessel.j0, lambda x: mpmath.besselj(0, x), (-60, 20)),
    "j1": (bessel.j1, lambda x: mpmath.besselj(1, x), (-60, 20)),
    "y0": (bessel.y0, lambda x: mpmath.bessely(0, x), (0, 20)),
    "y1": (bessel.y1, lambda x: mpmath.bessely(1, x), (0, 20)),
    "airy": (bessel.airy_ai, mpmath.airyai, (-12, 20)),
}
OTHERS: dict[str, tuple[Any, Reference, tuple[float, float]]] = {
    "k0": (bessel.k0, lambda x: mpmath.besselk(0, x), (0, 20)),
    "k1": (bessel.k1, lambda x: mpmath.besselk(1, x), (0, 20)),
    "k0e": (bessel.k0e, lambda x: mpmath.exp(x) * mpmath.besselk(0, x), (0, 20)),
    "k1e": (bessel.k1e, lambda x: mpmath.exp(x) * mpmath.besselk(1, x), (0, 20)),
    "i0": (bessel.i0, lambda x: mpmath.besseli(0, x), (-60, 20)),
    "i1": (bessel.i1, lambda x: mpmath.besseli(1, x), (-60, 20)),
    "j0 near its zeros": (bessel.j0, lambda x: mpmath.besselj(0, x), (-8, 8)),
    "j1 near its zeros": (bessel.j1, lambda x: mpmath.besselj(1, x), (-8, 8)),
    "airy above 0": (bessel.airy_ai, mpmath.airyai, (0, 12)),
}


def _compared(function: Any, reference: Reference, domain: tuple[float, float]) -> Any:
    """Absolute errors and exact values."""
    random = np.random.default_rng(0)
    points = np.concatenate([random.uniform(*domain, 120), 10 ** random.uniform(-5, 0, 30)])
    with mpmath.workdps(30):
        exact = [reference(mpmath.mpf(float(x))) for x in points]
        pairs = zip(function(points), exact, strict=True)
        errors = [float(abs(mpmath.mpf(float(ours)) - value)) for ours, value in pairs]
    return np.array(errors), np.abs(np.array([float(value) for value in exact]))


@pytest.mark.parametrize("name", WAVES)
def test_waves_are_accurate(name: str) -> None:
    errors, sizes = _compared(*WAVES[name])
    assert (errors <= 4e-15 * np.maximum(sizes, 1)).all()


@pytest.mark.parametrize("name", OTHERS)
def test_relative_errors_are_small(name: str) -> None:
    errors, sizes = _compared(*OTHERS[name])
    assert (errors <= 1e-14 * sizes).all()


# Value at x and n, to 30 digits.
POLYNOMIALS: dict[str, tuple[Any, Callable[[int, Any], Any]]] = {
    "chebyshev t": (polynomials.chebyshev_t, mpmath.chebyt),
    "chebyshev u": (polynomials.chebyshev_u, mpmath.chebyu),
    "chebyshev v": (
        polynomials.chebyshev_v,
        lambda n, x: mpmath.chebyu(n, x) - mpmath.chebyu(n - 1, x),
    ),
    "chebyshev w": (
        polynomials.chebyshev_w,
        lambda n, x: mpmath.chebyu(n, x) + mpmath.chebyu(n - 1, x),
    ),
    "hermite h": (polynomials.hermite_h, mpmath.hermite),
    "hermite he": (
        polynomials.hermite_he,
        lambda n, x: mpmath.hermite(n, x / mpmath.sqrt(2)) / mpmath.sqrt(2) ** n,
    ),
    "laguerre": (polynomials.laguerre_l, lambda n, x: mpmath.laguerre(n, 0, x)),
    "legendre": (polynomials.legendre_p, mpmath.legendre),
}


@pytest.mark.parametrize("degree", [1, 5, 12, 60])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_are_accurate(name: str, degree: int) -> None:
    function, reference = POLYNOMIALS[name]
    x = np.random.default_rng(0).uniform(-1.5, 1.5, 40)
    ours = function(x, np.full(40, degree))
    with mpmath.workdps(30):
        exact = np.array([float(reference(degree, mpmath.mpf(float(v)))) for v in x])
    # Errors of a recurrence are those of its largest terms.
    assert (np.abs(ours - exact) <= 1e-12 * np.maximum(np.abs(exact), np.abs(exact).mean())).all()
