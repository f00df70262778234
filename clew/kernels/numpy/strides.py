"""Views with other shapes and strides over an array's memory.

`np.lib.stride_tricks.as_strided` takes eight microseconds and hides the owner of the memory; making
the ndarray over the owner's buffer takes less than one and keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clew.kernels.runtime.numpy_capi import address_of


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory of a view, as far down as NumPy knows it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def restride(
    array: np.ndarray, shape: Sequence[int], strides: Sequence[int], offset: int = 0
) -> np.ndarray:
    """A view of that shape and those strides, `offset` after the first element, all in bytes."""
    if 0 in shape:
        # No element, so the offset may lie anywhere.
        offset = 0
    if array.flags.c_contiguous and _fits(array, shape, strides, offset):
        return np.ndarray(shape, array.dtype, array, offset, strides)
    owner = owner_of(array)
    if not owner.flags.c_contiguous:
        order = sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim])
        owner = owner.transpose(order)
    if not owner.flags.c_contiguous:
        # Memory of a foreign owner with gaps: nothing below it can be named.
        start = array if not offset else _shifted(array, offset)
        return np.lib.stride_tricks.as_strided(start, shape, strides)
    start_byte = address_of(array) - address_of(owner) + offset
    buffer = owner if owner.dtype == array.dtype else owner.reshape(-1).view(np.uint8)
    return np.ndarray(shape, array.dtype, buffer, start_byte, strides)


def reshaped(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A view of another shape, or ValueError; with PyTorch's strides also where a size is 1."""
    in_order = array.flags.c_contiguous
    # Asking for no copy takes as long as the rest; here there is none in any case.
    result = array.reshape(shape) if in_order else array.reshape(shape, copy=False)
    new = result.shape
    if 1 not in new or not array.ndim or not array.size:
        return result
    if in_order and array.strides[-1] == array.itemsize and new != array.shape:
        return result
    strides = view_strides(array.shape, array.strides, new)
    return result if strides == result.strides else restride(array, new, strides)


def view_strides(
    old: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]
) -> tuple[int, ...]:
    """The strides of a view of another shape that is known to exist.

    Dimensions next to each other that are one in memory share a step, that of their innermost one;
    a dimension of size 1 goes with those after it.
    """
    found = [0] * len(new)
    dim = len(new) - 1
    step, count, reached = strides[-1], 1, 1
    for inner in range(len(old) - 1, -1, -1):
        count *= old[inner]
        if inner and (old[inner - 1] == 1 or strides[inner - 1] == count * step):
            continue
        while dim >= 0 and (reached < count or new[dim] == 1):
            found[dim] = reached * step
            reached *= new[dim]
            dim -= 1
        if inner:
            step, count, reached = strides[inner - 1], 1, 1
    return tuple(found)


def _fits(array: np.ndarray, shape: Sequence[int], strides: Sequence[int], offset: int) -> bool:
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    return offset >= 0 and (last < array.nbytes or 0 in shape)


def resized(
    array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray | None:
    """Memory of another shape that begins with the same element; None where it does not fit."""
    owner = owner_of(array)
    if not owner.size or not is_gapless(owner) or type(owner) is not np.ndarray:
        return None
    start = address_of(array) - address_of(owner)
    end = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if 0 in shape or end + array.itemsize > owner.nbytes:
        return None
    return restride(array, shape, strides)


def _shifted(array: np.ndarray, offset: int) -> np.ndarray:
    first = array[(slice(0, 1),) * array.ndim]
    elements = offset // array.itemsize
    window = np.lib.stride_tricks.as_strided(
        first, (abs(elements) + 1,), (array.itemsize * (1 if elements > 0 else -1),)
    )
    return window[-1:]


def overlaps_itself(array: np.ndarray) -> bool:
    """Whether two elements may lie in one place, as in a window that slides over its memory."""
    if array.flags.c_contiguous:
        return False
    reach = array.itemsize
    steps = [(abs(step), n) for step, n in zip(array.strides, array.shape, strict=True) if n > 1]
    for stride, size in sorted(steps):
        if stride < reach:
            return array.size > 0
        reach += stride * (size - 1)
    return False


def memory_of(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All memory from the first to the last element as a vector, and where in it elements lie."""
    steps = [stride // array.itemsize for stride in array.strides]
    reaches = [step * (n - 1) for step, n in zip(steps, array.shape, strict=True)]
    first = sum(min(reach, 0) for reach in reaches)
    length = sum(map(abs, reaches)) + 1
    memory = restride(array, (length,), (array.itemsize,), first * array.itemsize)
    places = np.full(array.shape, -first)
    for dim, (step, n) in enumerate(zip(steps, array.shape, strict=True)):
        places += (step * np.arange(n)).reshape(-1, *[1] * (array.ndim - 1 - dim))
    return memory, places


def is_gapless(array: np.ndarray) -> bool:
    """Whether the elements fill their memory, in whatever order of dimensions."""
    if array.flags.c_contiguous and array.size:
        return True
    expected = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def runs_into_itself(array: np.ndarray) -> bool:
    """Whether elements share places though no dimension is expanded: windows that overlap."""
    return array.ndim > 1 and 0 not in array.strides and overlaps_itself(array)


def is_same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same elements in the same order."""
    return a is b or (
        a.size > 0
        and address_of(a) == address_of(b)
        and a.shape == b.shape
        and a.strides == b.strides
    )


def partly_overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two gapless arrays share some of their memory without being the same."""
    if not (is_gapless(a) and is_gapless(b)) or not a.size or not b.size:
        return False
    start_a, start_b = address_of(a), address_of(b)
    if start_a == start_b and a.nbytes == b.nbytes:
        # In elements, which may be of two sizes.
        return [s // a.itemsize for s in a.strides] != [s // b.itemsize for s in b.strides]
    return start_a < start_b + b.nbytes and start_b < start_a + a.nbytes
