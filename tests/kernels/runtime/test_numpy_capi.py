"""Addresses of arrays, read from NumPy's own structure."""

import ml_dtypes
import numpy as np
import pytest

from clew.kernels.runtime.numpy_capi import address_of

WHOLE = np.arange(24, dtype=np.float32).reshape(4, 6)
ARRAYS = {
    "whole": WHOLE,
    "part": WHOLE[1:, 2::2],
    "transposed": WHOLE.T,
    "reversed": WHOLE[::-1],
    "scalar": WHOLE[2, 3, ...],
    "empty": np.zeros((0, 3)),
    "broadcast": np.broadcast_to(WHOLE, (2, 4, 6)),
    "bfloat16": np.ones(5, ml_dtypes.bfloat16)[2:],
    "read-only": np.frombuffer(b"abcdefgh", np.uint8),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_the_address_is_the_one_that_numpy_tells(name: str) -> None:
    array = ARRAYS[name]
    assert address_of(array) == array.__array_interface__["data"][0] == array.ctypes.data
