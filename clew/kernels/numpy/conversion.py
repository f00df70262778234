"""Arrays in another dtype. NumPy is slow with float16 and bfloat16: kernels convert them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from clew.kernels.codegen.ir import BF16, F16, F32
from clew.kernels.codegen.ufunc import OnBits

_F16, _F32, _BITS = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.uint16)
_F64, _BF16 = np.dtype(np.float64), np.dtype(ml_dtypes.bfloat16)
_C32 = np.dtype(ml_dtypes.complex32)
_E4M3 = np.dtype(ml_dtypes.float8_e4m3fn)


def _kernel(name: str, have: str, want: str) -> OnBits:
    return OnBits(name, lambda x: x * 1.0, [([have], [want])])


_KERNELS: dict[tuple[Any, Any], OnBits] = {
    (_F16, _F32): _kernel("from_float16", F16, F32),
    (_F32, _F16): _kernel("to_float16", F32, F16),
    (_BF16, _F32): _kernel("from_bfloat16", BF16, F32),
    (_F32, _BF16): _kernel("to_bfloat16", F32, BF16),
}


def saturated(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Values that a dtype without infinities holds: the largest for all that are larger."""
    if array.dtype == _C32 and dtype.kind == "b":
        # As ml_dtypes converts it, 0.5 is false.
        return array.astype(np.complex64)
    if dtype is not _E4M3 or array.dtype.kind == "b":
        return array
    return np.clip(array.real.astype(np.float32), -448.0, 448.0)


def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy of an array in another dtype; the array itself if it has the dtype."""
    have = array.dtype
    if have is dtype:
        return array
    if have is _F64 and (dtype is _F16 or dtype is _BF16):
        # By way of float32, as PyTorch does; NumPy would round once, and take longer.
        with np.errstate(over="ignore"):
            array, have = array.astype(_F32), _F32
    kernel = _KERNELS.get((have, dtype))
    if kernel is None:
        return saturated(array, dtype).astype(dtype)
    if have is _BF16:
        array = array.view(_BITS)
    result = np.asarray(kernel.specialize(array)(array))
    return result.view(_BF16) if dtype is _BF16 else result
