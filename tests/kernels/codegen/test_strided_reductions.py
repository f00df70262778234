"""Kernels over rows that lie across memory do what the kernels over rows do."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from clew.kernels.codegen.ir import I32, position, where
from clew.kernels.codegen.ufunc import Rows, across, over_rows
from clew.kernels.runtime import jit


@over_rows("strips_standard", "(n),(),(n)->(n),(),()")
def standard(x: Any, eps: Any, weight: Any) -> Any:
    mean = x.row_mean()
    centred = (x - mean).materialize()
    rstd = 1.0 / ((centred * centred).row_mean() + eps).sqrt()
    return centred * rstd * weight, mean, rstd


@over_rows("strips_spread", "(n)->()")
def spread(x: Any) -> Any:
    return x.row_max() - x.row_min()


@over_rows("strips_after_first", "(n),()->(n)")
def after_first(x: Any, shift: Any) -> Any:
    return where(position(I32) > 0, x - x.row_max(), x + shift)


@over_rows("strips_two_kept", "(n)->(n)")
def two_kept(x: Any) -> Any:
    """One of the kept values has no output to be kept in."""
    lifted, root = x.exp().materialize(), (x * x + 1.0).sqrt().materialize()
    return lifted / lifted.row_sum() + root / root.row_max()


made_across = functools.cache(across)
EPS = np.full(3, 1e-3)
CASES: list[tuple[Rows, list[Any]]] = [
    (standard, ["x", EPS[:, None], "x"]),
    (spread, ["x"]),
    (after_first, ["x", np.array([1.0, 2.0, 3.0])[:, None]]),
    (two_kept, ["x"]),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 7, 300])
@pytest.mark.parametrize("count", [1, 5, 64, 150])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].name)
def test_as_over_rows(case: tuple[Rows, list[Any]], count: int, size: int, dtype: Any) -> None:
    rows, operands = case
    kernel = made_across(rows)
    x = np.random.default_rng(0).standard_normal((3, count, size)).astype(dtype)
    along = [x if type(each) is str else each.astype(dtype) for each in operands]
    flat = [each if each is x else np.broadcast_to(each, (3, count)) for each in along]
    expected = rows.ufunc(*flat)
    tight = 1e-5 if dtype is np.float32 else 1e-12
    # Rows across dense memory, and across memory at steps.
    for other in (np.ascontiguousarray(x.swapaxes(1, 2)), x.swapaxes(1, 2)):
        results = kernel.ufunc(*[other if each is x else each for each in flat])
        for actual, wanted in zip(_all(results), _all(expected), strict=True):
            turned = wanted.swapaxes(1, 2) if wanted.ndim == 3 else wanted
            np.testing.assert_allclose(actual, turned, rtol=tight, atol=tight)


def _all(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


def test_the_same_on_any_number_of_threads() -> None:
    x = np.random.default_rng(0).standard_normal((4, 200, 1000)).astype(np.float32)
    kernel, before, results = made_across(two_kept), jit.threads(), []
    for count in (1, 4):
        jit.set_threads(count)
        results.append(kernel.ufunc(x))
    jit.set_threads(before)
    np.testing.assert_array_equal(*results)


def test_what_is_empty_stays_empty() -> None:
    kernel = made_across(spread)
    assert kernel.ufunc(np.zeros((2, 3, 0))).shape == (2, 0)
    assert kernel.ufunc(np.zeros((0, 3, 4))).shape == (0, 4)
