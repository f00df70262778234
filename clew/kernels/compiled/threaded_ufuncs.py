"""Threaded ufuncs: NumPy's own functions on large arrays, on all threads, with the same bits.

For small arrays NumPy's are as quick, and already loaded. How large is large depends on the
function, and on the vectors that NumPy uses for it on this processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.introspect import opt_func_info

from clew.kernels.codegen.elementary import usual_exp, usual_log
from clew.kernels.codegen.ufunc import elementwise

# From this many elements on the twin is quicker: half the time of NumPy is worth waking a thread.
LARGE = 1 << 16
# The same for functions whose twin is quicker even on one thread.
QUICKER = 1024
# The same where NumPy computes in vectors of 32 bytes, by cost, and one number after another.
_LARGE_IN_SHORT_VECTORS = {1: LARGE, 2: 4096, 4: 512, 8: 512}
_LARGE_ONE_BY_ONE = {**_LARGE_IN_SHORT_VECTORS, 4: 64, 8: 256}

_UNARY: dict[Any, tuple[Callable[[Any], Any], int]] = {
    np.negative: (lambda x: -x, 1),
    np.absolute: (lambda x: x.abs(), 1),
    np.sqrt: (lambda x: x.sqrt(), 2),
    np.square: (lambda x: x * x, 1),
    np.reciprocal: (lambda x: 1.0 / x, 2),
    np.exp: (usual_exp, 4),
    np.exp2: (lambda x: x.exp2(), 4),
    np.expm1: (lambda x: x.expm1(), 4),
    np.log: (usual_log, 4),
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
    np.power: (lambda x, y: x.pow(y), 8),
}
TWINS: dict[Any, Any] = {
    ufunc: elementwise(f"large_{ufunc.__name__}", inputs, cost=cost, half=True)(formula)
    for inputs, table in ((1, _UNARY), (2, _BINARY))
    for ufunc, (formula, cost) in table.items()
}


def _sizes() -> dict[Any, int]:
    """From how many elements on each twin is quicker."""
    used, sizes = opt_func_info(), {}
    for table, of_float32 in ((_UNARY, "ff"), (_BINARY, "fff")):
        for ufunc, (_, cost) in table.items():
            name = used.get(ufunc.__name__, {}).get(of_float32, {}).get("current", "")
            if "V4" in name or "AVX512" in name:
                sizes[ufunc] = QUICKER if ufunc in (np.exp, np.sin, np.cos) else LARGE
            else:
                in_vectors = "V3" in name or "AVX2" in name
                large = _LARGE_IN_SHORT_VECTORS if in_vectors else _LARGE_ONE_BY_ONE
                sizes[ufunc] = large[cost]
    return sizes


LARGE_FOR = _sizes()


def quick(ufunc: np.ufunc, array: np.ndarray, *others: Any) -> Any:
    """NumPy's function or its twin, whichever is quicker; all arrays are of one dtype."""
    twin = TWINS[ufunc].when(array) if array.size >= LARGE_FOR[ufunc] else None
    return (twin or ufunc)(array, *others)
