"""Orders by keys: the same places as NumPy's stable order, for all kinds of numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clew.kernels.numpy import argsort

SPECIAL = np.array(
    [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.0, -1.0],
    np.float32,
)
floats = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=1, max_dims=3, max_side=20),
    elements=st.sampled_from(list(SPECIAL)) | st.floats(width=32),
)
integers = hnp.arrays(np.int32, hnp.array_shapes(min_dims=1, max_dims=3, max_side=20))


def expected(array: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """NumPy's way; for the other direction, of a copy whose order is the other way round."""
    if not descending:
        return np.argsort(array, dim, kind="stable")
    backwards = np.argsort(np.flip(array, dim), dim, kind="stable")
    return np.flip(array.shape[dim] - 1 - backwards, dim)


@given(floats | integers, st.data())
def test_places_are_those_of_a_stable_order(array: np.ndarray, data: st.DataObject) -> None:
    dim = data.draw(st.integers(0, array.ndim - 1))
    length = array.shape[dim]
    for descending in (False, True):
        order = expected(array, dim, descending)
        assert np.array_equal(argsort.argsort(array, dim, descending), order)
    rank = data.draw(st.integers(0, length - 1))
    place = argsort.argrank(array, rank, dim)
    assert np.array_equal(place, expected(array, dim, False).take([rank], dim))


@pytest.mark.parametrize("layout", [lambda x: x.T, lambda x: x[::2, 1::3], lambda x: x[:, ::-1]])
def test_arrays_that_lie_otherwise_in_memory_stay_as_they_are(layout) -> None:
    array = layout(np.random.default_rng(0).standard_normal((40, 60)).astype(np.float32))
    before = array.copy()
    for dim in (0, 1):
        assert np.array_equal(argsort.argsort(array, dim, True), expected(array, dim, True))
    assert np.array_equal(array, before)


def test_other_types_have_no_keys() -> None:
    for dtype in (np.float64, np.int64, np.float16, np.uint8, np.bool_):
        assert argsort.argsort(np.zeros(3, dtype), 0, False) is None
    assert argsort.argrank(np.zeros((0, 3), np.float32), 1, 1) is None
