"""NumPy's C API by ctypes, without a C compiler: its functions, and the addresses of arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

# Where an array has the address of its first element: after the header that all objects have.
_DATA = object.__basicsize__
_word_at = ctypes.c_size_t.from_address


def api_table(capsule: Any) -> Any:
    """The functions of a capsule, `_ARRAY_API` or `_UFUNC_API`, by their stable indices."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def address_of(array: np.ndarray) -> int:
    """The address of an array's first element.

    `array.ctypes.data` and `array.__array_interface__` take more than ten times as long.
    """
    return _word_at(id(array) + _DATA).value
