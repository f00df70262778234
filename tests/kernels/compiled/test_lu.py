"""LU factors by panels: pivots and factors as LAPACK's, for matrices of several panels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import clew

DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((5, 5), (100, 100), (3, 40, 7), (2, 7, 40), (2, 65, 100), (0, 0), (3, 0, 4), (0, 4, 4))


def _both(matrices: torch.Tensor) -> tuple[tuple[np.ndarray, ...], ...]:
    theirs = torch.linalg.lu_factor_ex(matrices)
    ours = clew.linalg.lu_factor_ex(clew.from_numpy(matrices.numpy()))
    return tuple(tuple(each.numpy() for each in found) for found in (ours, theirs))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_and_pivots_are_those_of_lapack(shape: tuple[int, ...], dtype: str) -> None:
    made = torch.randn(*shape, dtype=getattr(torch, dtype), generator=torch.manual_seed(0))
    (lu, pivots, info), expected = _both(made)
    np.testing.assert_array_equal(pivots, expected[1])
    np.testing.assert_array_equal(info, expected[2])
    tolerance = 2e-4 if dtype in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(lu, expected[0], tolerance, tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_of_zeros_and_strided_matrices(dtype: str) -> None:
    made = torch.randn(50, 80, dtype=getattr(torch, dtype), generator=torch.manual_seed(1))
    made[:, 40] = 0
    (lu, pivots, info), expected = _both(made.t()[::2])
    np.testing.assert_array_equal(pivots, expected[1])
    np.testing.assert_array_equal(info, expected[2])
    np.testing.assert_allclose(lu, expected[0], 1e-3, 1e-3)
    singular = torch.zeros(40, 40, dtype=made.dtype)
    singular[0, 0] = 2
    (lu, pivots, info), expected = _both(singular)
    np.testing.assert_array_equal(lu, expected[0])
    assert info == expected[2] == 2


def test_a_nan_spreads() -> None:
    made = torch.randn(40, 40, generator=torch.manual_seed(2))
    made[35, 0] = torch.nan
    (lu, _, _), _ = _both(made)
    assert np.isnan(lu[1:, 1:]).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_tiny_and_huge_complex_pivots(dtype: str) -> None:
    kind = getattr(torch, dtype)
    for scale in (1e-30, 1e30):
        made = torch.randn(6, 6, dtype=kind, generator=torch.manual_seed(3)) * scale
        (lu, pivots, _), expected = _both(made)
        np.testing.assert_array_equal(pivots, expected[1])
        np.testing.assert_allclose(lu, expected[0], 1e-3)
