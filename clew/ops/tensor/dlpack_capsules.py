"""The dtype that a DLPack capsule states, where NumPy has no number for it.

NumPy makes and reads the capsules. bfloat16 travels as integers of 16 bits whose type is renamed in
the capsule's struct.
"""

from __future__ import annotations

import ctypes
from typing import Any

# Where a struct has its DLTensor, by the name of the capsule, and where that has its dtype.
_STARTS = {b"dltensor": 0, b"dltensor_versioned": 32}
_DTYPE = 20
# DLPack's codes of kinds of numbers.
_UNSIGNED, _BFLOAT = 1, 4

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.argtypes, _name_of.restype = [ctypes.py_object], ctypes.c_char_p
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes, _pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def as_bfloat16(capsule: Any) -> Any:
    """A capsule of unsigned integers of 16 bits, as one of bfloat16."""
    code = _code(capsule)
    assert code is not None
    code.value = _BFLOAT
    return capsule


def from_bfloat16(capsule: Any) -> bool:
    """Whether a capsule is one of bfloat16; it then becomes one of unsigned integers."""
    code = _code(capsule)
    if code is None or code.value != _BFLOAT:
        return False
    code.value = _UNSIGNED
    return True


def _code(capsule: Any) -> ctypes.c_uint8 | None:
    """The kind of number that a capsule states; None for one that was used already."""
    name = _name_of(capsule)
    start = _STARTS.get(name)
    if start is None:
        return None
    return ctypes.c_uint8.from_address(_pointer_of(capsule, name) + start + _DTYPE)
