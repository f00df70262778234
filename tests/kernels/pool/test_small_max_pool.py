"""Max pooling compiled for small windows: values and places are PyTorch's, also at the edges."""

from typing import Any

import numpy as np
import pytest
import torch

from clew.kernels.numpy.max_pool import pool_output_shape
from clew.kernels.pool import max_pool, small_max_pool

GEOMETRIES: list[dict[str, Any]] = [
    {"kernel": (2, 2), "stride": (2, 2)},
    {"kernel": (2, 2), "stride": (2, 2), "ceil_mode": True},
    {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1)},
    {"kernel": (3, 2), "stride": (1, 3), "padding": (1, 0), "ceil_mode": True},
    {"kernel": (2, 5), "stride": (3, 1), "padding": (1, 2)},
    {"kernel": (2, 3), "stride": (1, 1), "dilation": (3, 2)},
    {"kernel": (1, 1), "stride": (4, 4)},
    # These are looked through in a loop.
    {"kernel": (3, 3), "stride": (2, 1), "padding": (1, 1), "dilation": (2, 2)},
    {"kernel": (6, 7), "stride": (2, 2), "padding": (3, 3)},
]


def planes(dtype: Any) -> np.ndarray:
    """Small integers, so that maxima tie, with infinities, NaNs, and a plane of -inf."""
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, (2, 3, 13, 21)).astype(dtype)
    x[rng.random(x.shape) < 0.3] = -np.inf
    x[rng.random(x.shape) < 0.02] = np.nan
    x[0, 0] = -np.inf
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_values_and_places(geometry: dict[str, Any], dtype: Any) -> None:
    padding = geometry.get("padding", (0, 0))
    dilation = geometry.get("dilation", (1, 1))
    ceil_mode = geometry.get("ceil_mode", False)
    kernel, stride = geometry["kernel"], geometry["stride"]
    x = planes(dtype)
    counts = pool_output_shape(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    values, places = max_pool.max_pool(x, counts, kernel, stride, padding, dilation)
    expected, expected_places = torch.nn.functional.max_pool2d(
        torch.tensor(x), kernel, stride, padding, dilation, ceil_mode, return_indices=True
    )
    np.testing.assert_array_equal(values, expected.numpy())
    np.testing.assert_array_equal(places, expected_places.numpy())


def test_which_windows_are_compiled_for_their_size() -> None:
    assert small_max_pool.are_small((3, 3), (1, 1), (1, 1)) and small_max_pool.are_small(
        (5, 5), (0, 0), (2, 2)
    )
    assert not small_max_pool.are_small((6, 7), (0, 0), (1, 1))
    assert not small_max_pool.are_small((3, 3), (1, 1), (2, 2))
