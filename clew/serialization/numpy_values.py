"""NumPy's arrays and scalars as pickles describe them, made again without trusting the file."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from clew.serialization.unpickler import described

# Types whose memory is plain numbers or text: an array of objects could hold anything.
_KINDS = "biufcSU"
_NAME = re.compile(r"[<>|=]?[a-zA-Z][0-9]{0,6}")


def make_dtype(*args: Any) -> np.dtype:
    name = args[0] if args else None
    if not isinstance(name, str) or not _NAME.fullmatch(name) or np.dtype(name).kind not in _KINDS:
        raise ValueError(f"NumPy's type {described(name)} is not read from files")
    # A copy, because the state that follows is written into it.
    return np.dtype(name, copy=True)


def set_dtype_state(dtype: np.dtype, state: Any) -> None:
    _, order, *rest = state
    if len(rest) != 6 or rest[:3] != [None] * 3 or rest[3] not in (-1, dtype.itemsize):
        raise ValueError("only NumPy's simple types are read from files")
    if order not in ("<", ">", "|", "="):
        raise ValueError(f"unknown byte order {described(order)}")
    dtype.__setstate__(state)  # type: ignore[attr-defined]  # for pickle


def _checked(dtype: Any, shape: Any, data: Any) -> np.ndarray:
    if not isinstance(dtype, np.dtype) or dtype.kind not in _KINDS or not dtype.itemsize:
        raise ValueError(f"NumPy's type {described(dtype)} is not read from files")
    if isinstance(data, str):
        data = data.encode("latin1")
    if not isinstance(data, bytes | bytearray):
        raise TypeError(f"an array's values come as bytes, got {type(data).__name__}")
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError("an array's shape should be numbers from 0 on")
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"an array of shape {shape} has {len(data)} bytes")
    return np.frombuffer(bytearray(data), dtype)


def make_scalar(dtype: Any, data: Any) -> Any:
    return _checked(dtype, (1,), data)[0]


def make_array(*args: Any) -> np.ndarray:
    """An array to be filled by its state; what the arguments ask for is always this."""
    return np.empty(0, np.int8)


def set_array_state(array: np.ndarray, state: Any) -> None:
    version, shape, dtype, is_fortran, data = state
    values = _checked(dtype, shape, data)
    filled: Any = (version, shape, dtype, bool(is_fortran), values.tobytes())
    array.__setstate__(filled)


def array_from_buffer(data: Any, dtype: Any, shape: Any, order: Any, *_: Any) -> np.ndarray:
    flat = _checked(dtype, shape, data)
    return flat.reshape(shape, order="F" if order == "F" else "C")
