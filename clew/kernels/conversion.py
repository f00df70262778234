"""Arrays in another dtype. NumPy is slow with float16: it is converted by kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.kernels.native.ir import F16, F32
from clew.kernels.native.ufunc import Elementwise, elementwise

_F16, _F32 = np.dtype(np.float16), np.dtype(np.float32)


def _kernel(name: str, have: str, want: str) -> Elementwise:
    return elementwise(name, 1, types=[([have], [want])])(lambda x: x * 1.0)


_KERNELS: dict[tuple[Any, Any], Elementwise] = {
    (_F16, _F32): _kernel("from_float16", F16, F32),
    (_F32, _F16): _kernel("to_float16", F32, F16),
}


def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy of an array in another dtype; the array itself if it has the dtype."""
    have = array.dtype
    if have is dtype:
        return array
    kernel = _KERNELS.get((have, dtype))
    if kernel is None:
        return array.astype(dtype)
    return np.asarray(kernel.when(array)(array))
