"""NumPy's C API, without a C compiler: its tables of functions, by ctypes."""

from __future__ import annotations

import ctypes
from typing import Any


def api_table(capsule: Any) -> Any:
    """The functions of a capsule, `_ARRAY_API` or `_UFUNC_API`, by their stable indices."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
