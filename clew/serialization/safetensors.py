"""safetensors files: a dict of tensors and nothing else, shared with other libraries.

The names and arguments are those of `safetensors.torch`. The package itself is imported when a file
is read or written.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from typing import IO, Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.device import check_device
from clew.core.tensor import Tensor, wrap
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of
from clew.serialization.atomic import replacing

_DTYPES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "I8": dtypes.int8, "I16": dtypes.int16,
    "U16": dtypes.uint16, "I32": dtypes.int32, "U32": dtypes.uint32, "I64": dtypes.int64,
    "U64": dtypes.uint64, "F16": dtypes.float16, "BF16": dtypes.bfloat16, "F32": dtypes.float32,
    "F64": dtypes.float64, "C64": dtypes.complex64,
}  # fmt: skip
_LARGEST_HEADER = 100_000_000


def is_safetensors(beginning: bytes) -> bool:
    """Whether a file begins as a safetensors file does: the header's size, then a JSON object."""
    return (
        len(beginning) > 8
        and beginning[8:9] == b"{"
        and 2 <= struct.unpack("<Q", beginning[:8])[0] <= _LARGEST_HEADER
    )


def _arrays(tensors: Any) -> dict[str, np.ndarray]:
    """The arrays to be written, after the checks that every such library makes."""
    if not isinstance(tensors, dict):
        raise ValueError(
            f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}"
            + errors.at_user_line()
        )
    by_memory: dict[int, set[str]] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}"
                + errors.at_user_line()
            )
        if tensor.dtype not in _DTYPES.values():
            raise ValueError(
                f"Key `{name}`: safetensors has no {tensor.dtype!r}" + errors.at_user_line()
            )
        if not tensor._array.flags.c_contiguous:
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. "
                "Pack it before saving, by calling `.contiguous()`." + errors.at_user_line()
            )
        if tensor._array.nbytes:
            owner = address_of(owner_of(tensor._array))
            by_memory.setdefault(owner, set()).add(name)
    shared = [names for names in by_memory.values() if len(names) > 1]
    if shared:
        raise RuntimeError(
            f"Some tensors share memory, this will lead to duplicate memory on disk and potential "
            f"differences when loading them again: {shared}. Save one of each, or clones."
            + errors.at_user_line()
        )
    return {name: tensor._array for name, tensor in tensors.items()}


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file."""
    import safetensors.numpy

    result: bytes = safetensors.numpy.save(_arrays(tensors), metadata)
    return result


def save_file(
    tensors: dict[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
) -> None:
    """Write a safetensors file; an existing one is replaced whole or not at all."""
    import safetensors.numpy

    arrays = _arrays(tensors)
    with replacing(filename) as path:
        safetensors.numpy.save_file(arrays, path, metadata)


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a safetensors file."""
    import safetensors

    result: dict[str, Tensor] = {}
    parts = safetensors.deserialize(bytes(data))[::-1]
    while parts:
        # What was copied is given back at once.
        name, info = parts.pop()
        dtype = _dtype_of(name, info["dtype"])
        array = np.empty(info["shape"], dtype.np)
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(info["data"], np.uint8)
        result[name] = wrap(array)
    return result


def load_file(
    filename: str | os.PathLike[str], device: str | int = "cpu", *, backend: str = "mmap"
) -> dict[str, Tensor]:
    """The tensors of a safetensors file, which is mapped into memory: read where it is looked at.

    What is written to a tensor stays in this process. With another backend the file is read.
    """
    check_device(device)
    if backend != "mmap":
        with open(filename, "rb") as file:
            return load(file.read())
    import safetensors

    # Checks the header: names, sizes, and that the parts cover the file.
    with safetensors.safe_open(filename, framework="numpy"), open(filename, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header: dict[str, Any] = json.loads(file.read(size))
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    header.pop("__metadata__", None)
    return {name: wrap(_mapped(memory, 8 + size, name, info)) for name, info in header.items()}


def _mapped(memory: mmap.mmap, start: int, name: str, info: dict[str, Any]) -> np.ndarray:
    """One tensor of a file in memory."""
    dtype = _dtype_of(name, info["dtype"]).np
    shape, (begin, end) = info["shape"], info["data_offsets"]
    if begin == end:
        return np.empty(shape, dtype)
    array = np.frombuffer(memory, np.uint8, end - begin, start + begin)
    if (start + begin) % dtype.itemsize:
        array = array.copy()
    return array.view(dtype).reshape(shape)


def _dtype_of(name: str, text: str) -> dtypes.dtype:
    found = _DTYPES.get(text)
    if found is None:
        raise RuntimeError(
            f"tensor `{name}` is of type {text}, which clew does not have" + errors.at_user_line()
        )
    return found


def load_from(file: IO[bytes], path: str | os.PathLike[str] | None = None) -> dict[str, Tensor]:
    """The tensors of an open file; of one that has a path, mapped into memory."""
    import safetensors

    try:
        return load(file.read()) if path is None else load_file(path)
    except (safetensors.SafetensorError, ValueError, OverflowError) as error:
        raise RuntimeError(
            f"the safetensors file is damaged: {error}" + errors.at_user_line()
        ) from None


def metadata_of(filename: str | os.PathLike[str]) -> dict[str, str]:
    """The texts that a safetensors file has beside its tensors."""
    import safetensors

    with safetensors.safe_open(filename, framework="numpy") as file:
        found: dict[str, str] | None = file.metadata()
    return found or {}
