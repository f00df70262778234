"""The order of a result's dimensions in memory, where operands lie in memory in different orders.

NumPy takes the order that suits all operands best, PyTorch that of the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.kernels.numpy.strides import is_gapless, restride

_ndarray = np.ndarray


def laid_out(operands: Sequence[Any], result: np.ndarray) -> np.ndarray:
    """The result of an elementwise operation with its dimensions in PyTorch's order in memory."""
    if _lies_as(operands, result):
        return result
    arrays = [each for each in operands if isinstance(each, np.ndarray) and each.ndim]
    if not arrays or not result.size:
        return result
    wanted = None
    if len(arrays) == len(operands) and all([each.shape == result.shape for each in arrays]):
        wanted = _common_strides(arrays, result)
    if wanted is None:
        return in_common_order([_broadcast_strides(each, result.shape) for each in arrays], result)
    return _with_strides(result, wanted)


def empty_as(result: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """New memory in the order of a result, with its strides where it has no gaps."""
    made = np.empty_like(result, dtype)
    if made.ndim < 3 or not made.size:
        return made
    if not is_gapless(result):
        return laid_out((result,), made)
    strides = [stride // result.itemsize * made.itemsize for stride in result.strides]
    return _with_strides(made, tuple(strides))


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
    first = arrays[0]
    strides = [[s // each.itemsize for s in each.strides] for each in arrays]
    if is_gapless(first) and all([each == strides[0] for each in strides]):
        return tuple([stride * result.itemsize for stride in strides[0]])
    return None


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
