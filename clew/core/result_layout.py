"""The order of a result's dimensions in memory, where operands lie in memory in different orders.

NumPy takes the order that suits all operands best, PyTorch that of the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.kernels.numpy.strides import is_gapless, restride

_ndarray = np.ndarray
# From the operands, arrays and numbers, and the result: the result, moved if it lies elsewhere.
Placement = Callable[[Sequence[Any], np.ndarray], np.ndarray]


def laid_out(operands: Sequence[Any], result: np.ndarray) -> np.ndarray:
    """The result of an elementwise operation with its dimensions in PyTorch's order in memory."""
    if result.ndim < 2 or _lies_as(operands, result):
        return result
    # All that the answer depends on. Programs ask the same again and again.
    key = [(result.shape, result.strides, result.itemsize)]
    for each in operands:
        if isinstance(each, _ndarray):
            key.append((each.shape, each.strides, each.itemsize))
        elif each is not None:
            key.append(_NUMBER)
    question = tuple(key)
    wanted = _ANSWERS.get(question)
    if wanted is None:
        if len(_ANSWERS) >= _MOST_ANSWERS:
            _ANSWERS.clear()
        wanted = _ANSWERS[question] = _wanted_strides(operands, result)
    return _with_strides(result, wanted)


_NUMBER: Any = ()
_ANSWERS: dict[tuple[Any, ...], tuple[int, ...]] = {}
_MOST_ANSWERS = 4096


def _wanted_strides(operands: Sequence[Any], result: np.ndarray) -> tuple[int, ...]:
    operands = [each for each in operands if each is not None]
    arrays = [each for each in operands if isinstance(each, np.ndarray) and each.ndim]
    if not arrays or not result.size:
        return result.strides
    if len(arrays) == len(operands) and all([each.shape == result.shape for each in arrays]):
        wanted = _common_strides(arrays, result)
        if wanted is not None:
            return wanted
    all_strides = [_broadcast_strides(each, result.shape) for each in arrays]
    return _strides_in(_order(all_strides, result.shape), result)


def laid_out_without_numbers(operands: Sequence[Any], result: np.ndarray) -> np.ndarray:
    """The same where PyTorch takes numbers for parameters of the operation, not for operands."""
    return laid_out([each for each in operands if np.ndim(each)], result)


def as_promoted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An operand that lies where the copy lies that PyTorch makes for type promotion."""
    is_plain = array.flags.c_contiguous and 1 not in array.shape
    return array if array.dtype is dtype or is_plain else empty_as(array, dtype)


def memory_order(array: np.ndarray) -> tuple[int, ...]:
    """The dimensions from outermost to innermost in memory; expanded ones stay where they are."""
    return visiting_order([array.strides], array.shape)


def visiting_order(all_strides: Sequence[Sequence[int]], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions, outermost first, as PyTorch walks through operands of one shape.

    The strides of the first operand decide, and the others where it cannot tell two apart.
    """
    return tuple(_order(all_strides, shape)[::-1])


def empty_in_order(shape: Sequence[int], order: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """A new array whose dimensions lie in memory in the given order."""
    laid_out = np.empty([shape[dim] for dim in order], dtype)
    return laid_out.transpose(np.argsort(order)) if len(order) else laid_out


def empty_as(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A new array of the same shape, whose elements lie in the same order, without gaps."""
    shape = array.shape
    if array.flags.c_contiguous and 1 not in shape:
        return np.empty(shape, dtype)
    if is_gapless(array) and array.size:
        # Also where dimensions of size 1 have strides of their own.
        strides = tuple([s // array.itemsize * dtype.itemsize for s in array.strides])
        return np.ndarray(shape, dtype, np.empty(array.size, dtype), 0, strides)
    return empty_in_order(shape, memory_order(array), dtype)


def _lies_as(operands: Sequence[Any], result: np.ndarray) -> bool:
    """Whether all operands have the shape and strides of the result: the usual case, told fast."""
    shape, strides = result.shape, result.strides
    if 1 in shape:
        return False  # the stride of such a dimension says nothing
    for each in operands:
        if type(each) is not _ndarray or each.strides != strides or each.shape != shape:
            return False
    return True


def in_common_order(all_strides: Sequence[Sequence[int]], result: np.ndarray) -> np.ndarray:
    """The result with its dimensions in the order that the operands' strides tell."""
    return _with_strides(result, _strides_in(_order(all_strides, result.shape), result))


def _with_strides(result: np.ndarray, wanted: tuple[int, ...]) -> np.ndarray:
    strides = result.strides
    if wanted == strides:
        return result
    if all(n == 1 or a == b for n, a, b in zip(result.shape, wanted, strides, strict=True)):
        # Only dimensions of size 1 differ: the elements are where they should be.
        return restride(result, result.shape, wanted)
    copied = np.ndarray(result.shape, result.dtype, np.empty(result.size, result.dtype), 0, wanted)
    copied[...] = result
    return copied


def _common_strides(arrays: list[np.ndarray], result: np.ndarray) -> tuple[int, ...] | None:
    """The strides of operands that all lie in memory alike and without gaps."""
    if all([each.flags.c_contiguous for each in arrays]):
        return _strides_in(range(result.ndim)[::-1], result)
    if result.ndim == 4 and all([_are_channels_last(each) for each in arrays]):
        return _strides_in((1, 3, 2, 0), result)
    first = arrays[0]
    strides = [[s // each.itemsize for s in each.strides] for each in arrays]
    if is_gapless(first) and all([each == strides[0] for each in strides]):
        return tuple([stride * result.itemsize for stride in strides[0]])
    return None


def _are_channels_last(image: np.ndarray) -> bool:
    return image.transpose(0, 2, 3, 1).flags.c_contiguous


def _order(all_strides: Sequence[Sequence[int]], shape: tuple[int, ...]) -> list[int]:
    """The dimensions from innermost to outermost, by the first operand that can tell two apart."""
    order = list(range(len(shape)))[::-1]
    for start in range(1, len(order)):
        current = start
        for earlier in range(start - 1, -1, -1):
            said = _compare(order[earlier], order[current], all_strides, shape)
            if said < 0:
                break
            if said > 0:
                order[earlier], order[current] = order[current], order[earlier]
                current = earlier
    return order


def _compare(inner: int, outer: int, all_strides: Any, shape: tuple[int, ...]) -> int:
    """1 if two dimensions should be exchanged, -1 if they are in order, 0 if nobody can tell."""
    for strides in all_strides:
        if strides[inner] == 0 or strides[outer] == 0:
            continue
        if strides[inner] != strides[outer]:
            return 1 if strides[inner] > strides[outer] else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def _broadcast_strides(array: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    missing = len(shape) - array.ndim
    own = [
        0 if n == 1 != wanted else stride
        for n, wanted, stride in zip(array.shape, shape[missing:], array.strides, strict=True)
    ]
    return (*[0] * missing, *own)


def _strides_in(order: Sequence[int], result: np.ndarray) -> tuple[int, ...]:
    strides = [0] * result.ndim
    step = result.itemsize
    for dim in order:
        strides[dim] = step
        step *= result.shape[dim]
    return tuple(strides)
