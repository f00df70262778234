"""The matrix product of the BLAS that NumPy has loaded, for kernels to call."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class Blas:
    """OpenBLAS as NumPy's wheels carry it: 64-bit sizes, names with a prefix and a suffix."""

    def __init__(self, library: Any) -> None:
        self.gemm = {
            "float": _address(library.scipy_cblas_sgemm64_),
            "double": _address(library.scipy_cblas_dgemm64_),
        }
        self._get_threads = library.scipy_openblas_get_num_threads64_
        self._set_threads = library.scipy_openblas_set_num_threads64_

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """While the team's threads call it side by side, the library must not thread itself."""
        before = self._get_threads()
        if before == 1:
            yield
            return
        self._set_threads(1)
        try:
            yield
        finally:
            self._set_threads(before)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def blas() -> Blas | None:
    """The library, or None where NumPy was built with another one."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.startswith("libscipy_openblas64_"):
            return Blas(ctypes.CDLL(os.path.join(folder, name)))
    return None
