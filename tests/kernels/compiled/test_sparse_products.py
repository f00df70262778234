"""Products of CSR and strided matrices: against NumPy, and the same bits on any threads."""

from __future__ import annotations

import numpy as np
import pytest

import clew
from clew.kernels.compiled.sparse_products import product


def random_csr(
    rng: np.random.Generator, rows: int, columns: int, share: float, dtype: str
) -> tuple[np.ndarray, ...]:
    dense = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < share)
    places = np.nonzero(dense)
    starts = np.searchsorted(places[0], np.arange(rows + 1)).astype(np.int64)
    return dense.astype(dtype), starts, places[1].astype(np.int64), dense[places].astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_against_numpy(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for rows, columns, width in ((1, 1, 1), (7, 5, 3), (64, 33, 17), (300, 200, 65), (5, 4, 0)):
        for share in (0.0, 0.05, 0.5):
            dense, *parts = random_csr(rng, rows, columns, share, dtype)
            other = rng.standard_normal((columns, width)).astype(dtype)
            found = product(*parts, other)
            assert found.dtype == dtype
            tolerance = 1e-4 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(found, dense @ other, rtol=tolerance, atol=tolerance)


def test_same_bits_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(1)
    _, *parts = random_csr(rng, 2000, 500, 0.05, "float32")
    other = rng.standard_normal((500, 40)).astype("float32")
    before = clew.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 4):
            clew.set_num_threads(threads)
            results.append(product(*parts, other))
    finally:
        clew.set_num_threads(before)
    for each in results[1:]:
        np.testing.assert_array_equal(results[0], each)
