"""NumPy's C API by ctypes, without a C compiler: its functions, and the addresses of arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

# Where an array has the address of its first element: after the header that all objects have.
DATA_OFFSET = object.__basicsize__
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
    return _word_at(id(array) + DATA_OFFSET).value


class _UfuncObject(ctypes.Structure):
    """The head of NumPy's `PyUFuncObject`, which is part of its stable interface."""

    _fields_ = (
        ("header", ctypes.c_byte * object.__basicsize__),
        ("nin", ctypes.c_int), ("nout", ctypes.c_int), ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int), ("reserved1", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.POINTER(ctypes.c_byte)),
    )  # fmt: skip


def ufunc_loop(ufunc: np.ufunc, dtypes: Sequence[np.dtype]) -> tuple[int, int] | None:
    """The loop of a ufunc for operands of these dtypes, and what it takes as data; or None."""
    head = _UfuncObject.from_address(id(ufunc))
    wanted = [dtype.num for dtype in dtypes]
    if len(wanted) != head.nargs:
        return None
    for index in range(head.ntypes):
        start = index * head.nargs
        if [head.types[start + each] for each in range(head.nargs)] == wanted:
            function = head.functions[index]
            return None if function is None else (function, head.data[index] or 0)
    return None
