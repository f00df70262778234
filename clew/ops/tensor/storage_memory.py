"""The memory of storages: made from sizes, sequences, files and buffers; the tensors in it."""

from __future__ import annotations

import gc
import mmap
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.kernels.numpy.strides import owner_of
from clew.kernels.runtime.numpy_capi import address_of


def bytes_of(owner: np.ndarray) -> np.ndarray:
    """All memory from an array's first byte to its last, without a copy."""
    if not owner.flags.c_contiguous and owner.size:
        order = sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim])
        owner = owner.transpose(order)
        if not owner.flags.c_contiguous:
            start, end = np.lib.array_utils.byte_bounds(owner)
            first = np.lib.stride_tricks.as_strided(owner, (1,), (owner.itemsize,)).view(np.uint8)
            return np.lib.stride_tricks.as_strided(first, (end - start,), (1,))
    return owner.reshape(-1).view(np.uint8)


def is_integer(value: Any) -> bool:
    """Whether a value is an integer; True and False are none here."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def new_memory(data: Any) -> np.ndarray:
    """Memory for so many bytes, or with the bytes of a sequence."""
    if is_integer(data):
        if data < 0:
            raise RuntimeError(f"a storage cannot have {data} bytes" + errors.at_user_line())
        return np.empty(int(data), np.uint8)
    if not isinstance(data, Sequence):
        raise RuntimeError(
            f"torch.UntypedStorage(): Expected a sequence type, but got {type(data).__name__}"
            + errors.at_user_line()
        )
    for item in data:
        if not is_integer(item):
            raise RuntimeError(
                "torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({type(data).__name__}), but one of the items was of type "
                f"{type(item).__name__} instead of int" + errors.at_user_line()
            )
    return np.array([item & 255 for item in data], np.uint8)


def mapped_file(filename: Any, shared: bool, nbytes: int) -> np.ndarray:
    """Bytes of a file that is mapped into memory."""
    if not nbytes:
        return np.empty(0, np.uint8)
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        file = os.open(filename, flags, 0o600)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{os.fspath(filename)}> in {mode} mode: {error.strerror} "
            f"({error.errno})" + errors.at_user_line()
        ) from None
    try:
        length = os.fstat(file).st_size
        if length < nbytes:
            if not shared:
                raise RuntimeError(
                    f"file <{os.fspath(filename)}> size <{length}> is smaller than the required "
                    f"mapping size <{nbytes}>" + errors.at_user_line()
                )
            os.ftruncate(file, nbytes)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return np.frombuffer(mmap.mmap(file, nbytes, access=access), np.uint8)
    finally:
        os.close(file)


def copied_buffer(
    buffer: Any,
    byte_order: str = "native",
    count: int = -1,
    offset: int = 0,
    *,
    dtype: dtypes.dtype | None = None,
) -> np.ndarray:
    """The elements of a buffer, in the byte order of this machine."""
    if byte_order not in ("native", "little", "big"):
        raise ValueError(
            f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
            + errors.at_user_line()
        )
    kind = dtypes.uint8 if dtype is None else dtype
    length = memoryview(buffer).nbytes
    if not 0 <= offset <= length:
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({length}) , but got "
            f"{offset}" + errors.at_user_line()
        )
    if count < 0 and (length - offset) % kind.itemsize:
        raise ValueError(
            f"buffer size ({length - offset}) must be a multiple of element size "
            f"({kind.itemsize})" + errors.at_user_line()
        )
    size = (length - offset if count < 0 else count * kind.itemsize) if length > offset else 0
    if offset + size > length:
        raise ValueError(
            f"buffer has only {(length - offset) // kind.itemsize} elements after offset {offset}, "
            f"but specified a size of {count}" + errors.at_user_line()
        )
    data = np.frombuffer(buffer, np.uint8, size, offset).copy()
    if kind is dtypes.bool_:
        return (data != 0).view(np.uint8)
    if byte_order not in ("native", sys.byteorder):
        part = kind.itemsize // 2 if kind.is_complex else kind.itemsize
        data = data.reshape(-1, part)[:, ::-1].reshape(-1).copy()
    return data


# -- tensors in memory ------------------------------------------------------------------------


# The slot itself: a subclass may answer for it, as parameters without a size do.
_array_of: Any = Tensor.__dict__["_array"].__get__


def tensors_in(owner: np.ndarray) -> list[Tensor]:
    """All tensors that lie in the memory of an owner."""
    found = []
    for each in gc.get_objects():
        if issubclass(type(each), Tensor):
            try:
                array = _array_of(each)
            except AttributeError:
                continue  # not made yet
            if owner_of(array) is owner:
                found.append(each)
    return found


Place = tuple[int, tuple[int, ...], np.dtype, tuple[int, ...]]


def place_of(tensor: Tensor) -> Place:
    """Where a tensor lies in its memory: offset, shape, dtype and strides, in bytes."""
    array = tensor._array
    offset = address_of(array) - address_of(owner_of(array))
    return offset, array.shape, array.dtype, array.strides


def move(tensor: Tensor, place: Place, memory: np.ndarray) -> None:
    """Let a tensor lie at a place of other memory; where it does not fit it stays where it is."""
    offset, shape, dtype, strides = place
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if 0 in shape or last + dtype.itemsize <= len(memory):
        tensor._array = np.ndarray(shape, dtype, memory, offset if 0 not in shape else 0, strides)
