"""Calls of hand-written kernels: a context of arrays and sizes, and the compiled function."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from clew.kernels.runtime import jit
from clew.kernels.runtime.numpy_capi import address_of

Array = np.ndarray
# The NumPy dtypes that hand-written kernels are compiled for, as LLVM types.
TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}


def context_of(arrays: Iterable[Array], sizes: Iterable[int]) -> Array:
    """The words that `IRBuilder.load_context` loads: addresses of arrays, then sizes."""
    return np.array([*[address_of(each) for each in arrays], *sizes], np.int64)


class ContextCall(NamedTuple):
    """A call without its arrays: the function, the sizes of its context, and its integers."""

    function: Any
    sizes: tuple[int, ...]
    integers: tuple[int, ...]

    def __call__(self, *arrays: Array | None) -> None:
        """Call it with arrays; None is a null pointer."""
        addresses = [0 if each is None else address_of(each) for each in arrays]
        context = context_of((), [*addresses, *self.sizes])
        self.function(address_of(context), *self.integers)

    @property
    def address(self) -> int:
        """The address of the function."""
        return ctypes.cast(self.function, ctypes.c_void_p).value or 0


def compiled(key: str, module: Callable[[], str], name: str, integers: int = 2) -> Any:
    """A function of a module, which takes the address of a context and some integers.

    By default these are the number of tasks and the grain (`loops.end_module`).
    """
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * integers)
    return signature(jit.machine().function(key, module, name))
