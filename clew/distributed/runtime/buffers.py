"""Arrays for MPI: without gaps, and put back into the tensors they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.inplace import bump_version
from clew.core.tensor import Tensor


def array_of(tensor: Any, name: str) -> np.ndarray:
    """The array of what must be a tensor."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead." + errors.at_user_line()
        )
    return tensor._array


def arrays_of(tensors: Any, name: str) -> list[np.ndarray]:
    """The arrays of what must be a list of tensors."""
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} instead." + errors.at_user_line()
        )
    return [each._array for each in tensors]


def sendable(array: np.ndarray) -> np.ndarray:
    """The elements in order and without gaps; the array itself where it is so."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def receiver(array: np.ndarray) -> np.ndarray:
    """Where elements are received: the array itself, or one without gaps of its shape."""
    return array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)


def put(tensor: Tensor, received: np.ndarray, writer: str) -> None:
    """Put elements into the tensor they were received for, and note the write."""
    array = tensor._array
    if received is not array:
        array[...] = received.reshape(array.shape)
    bump_version(tensor, writer)


def fill(tensors: Sequence[Tensor], rows: np.ndarray, writer: str) -> None:
    """Put the rows of an array into tensors."""
    for tensor, row in zip(tensors, rows):
        put(tensor, row, writer)


def stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays of one shape behind each other."""
    rows = np.empty((len(arrays), arrays[0].size), arrays[0].dtype)
    for row, array in zip(rows, arrays):
        row[:] = array.reshape(-1)
    return rows


def joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The elements of arrays behind each other."""
    return np.concatenate([array.reshape(-1) for array in arrays])


def same_dtype(arrays: Sequence[np.ndarray], name: str) -> None:
    """Raise if arrays of one call have several dtypes."""
    if any(each.dtype != arrays[0].dtype for each in arrays):
        raise ValueError(
            f"{name}: all tensors of a call must have one dtype, and these have "
            f"{', '.join(sorted({str(each.dtype) for each in arrays}))}" + errors.at_user_line()
        )


def same_size(sizes: Sequence[int], expected: int, name: str, what: str) -> None:
    """Raise if numbers of elements are not what they must be."""
    for index, size in enumerate(sizes):
        if size != expected:
            raise ValueError(
                f"{name}: {what} {index} has {size} elements and must have {expected}"
                + errors.at_user_line()
            )
