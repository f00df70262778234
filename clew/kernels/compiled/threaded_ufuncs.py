"""Threaded ufuncs: NumPy's own functions on large arrays, on all threads, with the same bits.

For small arrays NumPy's own are as fast, and already loaded. The threshold depends on the function,
and on the vector instructions that NumPy has for it on this processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.introspect import opt_func_info

from clew.kernels.codegen.elementary import exp_with_fast_path, log_with_fast_path
from clew.kernels.codegen.ufunc import elementwise

# The elements from which the threaded ufunc is faster: half of NumPy's time is worth a wake-up.
THRESHOLD = 1 << 16
# The same for functions that are faster even on one thread.
SERIAL_THRESHOLD = 1024
# The same by cost, where NumPy has AVX2 code, and where it has scalar code.
_AVX2_THRESHOLD = {1: THRESHOLD, 2: 4096, 4: 512, 8: 512}
_SCALAR_THRESHOLD = {**_AVX2_THRESHOLD, 4: 64, 8: 256}

_UNARY: dict[Any, tuple[Callable[[Any], Any], int]] = {
    np.negative: (lambda x: -x, 1),
    np.absolute: (lambda x: x.abs(), 1),
    np.sqrt: (lambda x: x.sqrt(), 2),
    np.square: (lambda x: x * x, 1),
    np.reciprocal: (lambda x: 1.0 / x, 2),
    np.exp: (exp_with_fast_path, 4),
    np.exp2: (lambda x: x.exp2(), 4),
    np.expm1: (lambda x: x.expm1(), 4),
    np.log: (log_with_fast_path, 4),
    np.log2: (lambda x: x.log2(), 4),
    np.log10: (lambda x: x.log10(), 4),
    np.log1p: (lambda x: x.log1p(), 4),
    np.sin: (lambda x: x.sin(), 4),
    np.cos: (lambda x: x.cos(), 4),
    np.arctan: (lambda x: x.atan(), 4),
    np.sinh: (lambda x: x.sinh(), 4),
    np.cosh: (lambda x: x.cosh(), 4),
    np.tanh: (lambda x: x.tanh(), 4),
}
_BINARY: dict[Any, tuple[Callable[[Any, Any], Any], int]] = {
    np.add: (lambda x, y: x + y, 1),
    np.subtract: (lambda x, y: x - y, 1),
    np.multiply: (lambda x, y: x * y, 1),
    np.divide: (lambda x, y: x / y, 1),
    np.maximum: (lambda x, y: x.maximum(y), 1),
    np.minimum: (lambda x, y: x.minimum(y), 1),
    np.copysign: (lambda x, y: x.copysign(y), 1),
    np.power: (lambda x, y: x.pow(y), 8),
}
THREADED: dict[Any, Any] = {
    ufunc: elementwise(f"large_{ufunc.__name__}", inputs, cost=cost, half=True)(formula)
    for inputs, table in ((1, _UNARY), (2, _BINARY))
    for ufunc, (formula, cost) in table.items()
}


def _thresholds() -> dict[Any, int]:
    """The elements from which each threaded ufunc is faster than NumPy's."""
    used, thresholds = opt_func_info(), {}
    for table, of_float32 in ((_UNARY, "ff"), (_BINARY, "fff")):
        for ufunc, (_, cost) in table.items():
            name = used.get(ufunc.__name__, {}).get(of_float32, {}).get("current", "")
            if "V4" in name or "AVX512" in name:
                is_serial = ufunc in (np.exp, np.sin, np.cos)
                thresholds[ufunc] = SERIAL_THRESHOLD if is_serial else THRESHOLD
            else:
                is_avx2 = "V3" in name or "AVX2" in name
                thresholds[ufunc] = (_AVX2_THRESHOLD if is_avx2 else _SCALAR_THRESHOLD)[cost]
    return thresholds


THRESHOLDS = _thresholds()


def threaded(ufunc: np.ufunc, array: np.ndarray, *others: Any) -> Any:
    """Call NumPy's function or the threaded one, by size; all arrays are of one dtype."""
    # NumPy converts halves one by one.
    least = THRESHOLDS[ufunc] if array.itemsize > 2 else SERIAL_THRESHOLD
    kernel = THREADED[ufunc].specialize(array) if array.size >= least else None
    return (kernel or ufunc)(array, *others)
