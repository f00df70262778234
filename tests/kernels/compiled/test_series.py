"""Series, recurrences, searches and sums of rows that are compiled, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clew.kernels.compiled import bisection, gather_scatter, pair_distances, series, triangular
from clew.kernels.pool.window_max import window_max

SIZES = (0, 1, 7, 33, 100)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [2, 9])
def test_series_are_those_of_numpy(size: int, count: int) -> None:
    rng = np.random.default_rng(0)
    coefficients, t = rng.standard_normal(count), rng.uniform(-1, 1, 2 * size)[::2]
    expected = np.polynomial.chebyshev.chebval(t, coefficients)
    np.testing.assert_allclose(series.chebyshev(coefficients, t), expected, 1e-12, 1e-12)
    expected = np.polynomial.polynomial.polyval(t, coefficients)
    np.testing.assert_allclose(series.polynomial(coefficients, t), expected, 1e-12, 1e-12)
    assert series.chebyshev(coefficients, np.array(0.5)).shape == ()
    assert np.isnan(series.chebyshev(np.ones(2), np.array([np.nan, np.inf]))).tolist()[0]


def test_recurrences_end_at_the_degree_and_at_nan() -> None:
    x = np.array([2.0, 2.0, 2.0, 2.0, np.nan])
    degree = np.array([-1, 0, 1, 5, 2**60])
    found = series.recurrence("powers", lambda x, k, now, before: x * now, x, degree, x)
    np.testing.assert_array_equal(found, [0.0, 1.0, 2.0, 32.0, np.nan])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("right", [False, True])
def test_searches_are_those_of_numpy(dtype: str, right: bool) -> None:
    rng = np.random.default_rng(0)
    rows = np.sort(rng.integers(0, 9, (5, 12)).astype(dtype), -1)
    values = rng.integers(-1, 10, (5, 14)).astype(dtype)[:, ::2]
    found = bisection.bisect(rows, values, right)
    side = "right" if right else "left"
    for row, value, places in zip(rows, values, found, strict=True):
        np.testing.assert_array_equal(places, np.searchsorted(row, value, side))
    assert bisection.bisect(rows[:, :0], values, right).max() == 0
    assert bisection.bisect(rows, values[:, :0], right).shape == (5, 0)


@pytest.mark.parametrize("p", pair_distances.NORMS)
@pytest.mark.parametrize("rows", [0, 1, 2, 20, 33])
def test_distances_and_slopes_of_pairs(p: float, rows: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, rows))
    first, second = np.triu_indices(rows, 1)
    difference = x[:, first] - x[:, second]
    expected = np.linalg.norm(difference, p, axis=0) if first.size else np.zeros(0)
    found = pair_distances.distances(x, p)
    np.testing.assert_allclose(found, expected, 1e-12)
    slope = {1.0: np.sign(difference), 2.0: difference}.get(p)
    if math.isinf(p):
        slope = np.sign(difference) * (np.abs(difference) == found)
    if slope is not None:
        total = np.zeros_like(x)
        np.add.at(total, (slice(None), first), slope)
        np.subtract.at(total, (slice(None), second), slope)
        given = pair_distances.gradient(x, found, np.ones_like(found), p)
        np.testing.assert_allclose(given, total, 1e-12, 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("columns", [0, 1, 5, 40])
def test_substitution_solves_strided_triangles(dtype: str, columns: int) -> None:
    rng = np.random.default_rng(0)
    a = (rng.standard_normal((2, 9, 9)) + 9 * np.eye(9)).astype(dtype)
    x = rng.standard_normal((2, 9, columns)).astype(dtype)
    for given in (a, a.swapaxes(-2, -1), a[:, ::-1, ::-1]):
        found = x.copy()
        triangular.substitute(given, found, False)
        np.testing.assert_allclose(np.triu(given) @ found, x, 1e-3, 1e-4)
    singular = np.zeros((1, 2, 2), dtype)
    found = np.ones((1, 2, 1), dtype)
    with np.errstate(all="ignore"):
        triangular.substitute(singular, found, False)
    assert not np.isfinite(found).any()


def test_window_maxima_take_the_first_of_equals_and_the_last_nan() -> None:
    x = np.array([[[1.0, 3.0, 3.0, np.nan, 2.0, np.nan, 0.0]]])
    values, index = window_max(x, [np.array([0, 1, 2, 6])], [np.array([3, 5, 6, 7])], [1])
    np.testing.assert_array_equal(values, [[[3.0, np.nan, np.nan, 0.0]]])
    np.testing.assert_array_equal(index, [[[1, 3, 5, 6]]])
    own = np.array([[[0], [4]]])
    values, index = window_max(np.stack([x[0, 0], x[0, 0]])[None], [own], [own + 1], [1])
    np.testing.assert_array_equal(values, [[[1.0], [2.0]]])
    assert window_max(x[:0], [np.array([0])], [np.array([1])], [1])[0].shape == (0, 1, 1)


def test_rows_of_a_table_are_added() -> None:
    table = np.random.default_rng(0).standard_normal((6, 37))
    target = np.zeros((3, 37))
    index, rows = np.array([0, 0, 2, 2, 2]), np.array([5, 5, 1, 0, 3])
    gather_scatter.add_rows(target[None], index, table[None], rows)
    expected = [2 * table[5], np.zeros(37), table[1] + table[0] + table[3]]
    np.testing.assert_allclose(target, expected, 1e-12)
