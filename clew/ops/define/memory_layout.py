"""The order of a tensor's dimensions in memory, and arrays laid out in a wanted order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from clew.core.meta.memory import dense_strides
from clew.core.result_layout import (
    Placement,
    empty_as,
    empty_in_order,
    laid_out,
    memory_order,
)
from clew.kernels.compiled.copies import copied, copy_into
from clew.kernels.numpy.arrays import as_new, row_by_row
from clew.kernels.numpy.strides import is_gapless, restride

# For each channels-last format: its dimensions from outermost to innermost in memory.
_CHANNELS_LAST = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}
_ORDERS = {len(order): order for order in _CHANNELS_LAST.values()}


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements fill their memory without gaps or overlap, in any order."""
    return array.transpose(memory_order(array)).flags.c_contiguous


def empty_like_in_memory(
    array: np.ndarray, dtype: np.dtype, wanted: memory_format | None = None
) -> np.ndarray:
    """A new array of the same shape, laid out as the given one unless another format is asked."""
    if wanted is None or wanted is preserve_format:
        return empty_as(array, dtype)
    return empty_in_format(array.shape, dtype, wanted)


def empty_in_format(
    shape: Sequence[int], dtype: np.dtype, wanted: memory_format | None
) -> np.ndarray:
    """A new array in one of the memory formats."""
    if wanted is None or wanted is contiguous_format:
        return np.empty(shape, dtype)
    if wanted is preserve_format:
        raise RuntimeError(
            "unsupported memory format option Preserve: there is no tensor whose format to keep"
            + errors.at_user_line()
        )
    return empty_in_order(shape, _order_of(wanted, len(shape)), dtype)


def restrided(
    array: np.ndarray, wanted: memory_format, like: np.ndarray | None = None
) -> np.ndarray:
    """An array without elements that lies in memory in a format, or as another one does."""
    if wanted is preserve_format and like is not None:
        order = memory_order(like)
        if is_gapless(like) and like.size:
            steps = [stride // like.itemsize * array.itemsize for stride in like.strides]
            return restride(array, array.shape, tuple(steps))
    elif wanted is contiguous_format:
        return array
    else:
        order = _order_of(wanted, array.ndim)
    return restride(array, array.shape, dense_strides(array.shape, order, array.itemsize))


def copy_in_format(array: np.ndarray, dtype: np.dtype, wanted: Any = None) -> np.ndarray:
    """A copy in another dtype and memory format."""
    if dtype is array.dtype and wanted in _CHANNELS_LAST:
        order = _order_of(wanted, array.ndim)
        transposed = array.transpose(order)
        result = copied(transposed) if transposed.flags.c_contiguous else row_by_row(transposed)
        return result.transpose(np.argsort(order))
    result = empty_like_in_memory(array, dtype, wanted)
    if dtype is array.dtype:
        copy_into(result, array)
    else:
        np.copyto(result, array, casting="unsafe")
    return result


def in_memory_as(array: np.ndarray, result: np.ndarray) -> np.ndarray:
    """A result of the array's shape, copied if it does not lie in memory as the array does."""
    if array.flags.c_contiguous and result.flags.c_contiguous and 1 not in array.shape:
        return result
    placed = empty_like_in_memory(array, result.dtype)
    if placed.strides == result.strides:
        return result
    placed[...] = result
    return placed


def as_first(operands: Sequence[Any], result: np.ndarray) -> np.ndarray:
    """The placement of operations whose result PyTorch makes by `empty_like` of one operand.

    Under vmap, it may be another one alone that has examples.
    """
    first = operands[0]
    return in_memory_as(first, result) if first.shape == result.shape else as_new(result)


def in_rows(operands: Sequence[Any], result: np.ndarray) -> np.ndarray:
    """The placement of operations whose result lies row by row, wherever the operands do."""
    return as_new(result)


def for_kinds(kinds: str, placement: Placement) -> Placement:
    """A placement for dtypes of these kinds, in NumPy's letters; others have the usual one."""

    def place(operands: Sequence[Any], result: np.ndarray) -> np.ndarray:
        chosen = placement if operands[0].dtype.kind in kinds else laid_out
        return chosen(operands, result)

    return place


def _dims_in_order(wanted: memory_format) -> tuple[int, ...]:
    """The dimensions in the order in which a format that has channels last goes through them."""
    if type(wanted) is not memory_format:
        raise TypeError(
            f"argument 'memory_format' must be torch.memory_format, not {type(wanted).__name__}"
            + errors.at_user_line()
        )
    return _CHANNELS_LAST[wanted]


def is_contiguous_in(array: np.ndarray, wanted: memory_format) -> bool:
    """Whether the array lies in memory in the given format."""
    if wanted is contiguous_format:
        return array.flags.c_contiguous
    if wanted is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    order = _dims_in_order(wanted)
    return array.ndim == len(order) and array.transpose(order).flags.c_contiguous


def _order_of(wanted: memory_format, ndim: int) -> tuple[int, ...]:
    order = _dims_in_order(wanted)
    if ndim != len(order):
        raise RuntimeError(
            f"required rank {len(order)} tensor to use {wanted.name} format" + errors.at_user_line()
        )
    return order


def in_order(array: np.ndarray, order: tuple[int, ...] | None) -> np.ndarray:
    """The array with its dimensions in the given order in memory; None leaves it as it is."""
    if order is None or array.ndim != len(order):
        return array
    laid_out = row_by_row(array.transpose(order))
    if 1 in laid_out.shape:
        # Along a dimension of one element NumPy keeps any stride: in the new order it has its own.
        laid_out = laid_out.reshape(-1).reshape(laid_out.shape)
    return laid_out.transpose(np.argsort(order))


def has_format(array: np.ndarray, wanted: memory_format) -> bool:
    """Whether `to` leaves an array as it is: its strides must be those of the format."""
    if not is_contiguous_in(array, wanted):
        return False
    return (wanted is contiguous_format) == (channels_last_order(array) is None)


def joined_in_memory(arrays: Sequence[np.ndarray], result: np.ndarray) -> np.ndarray:
    """A result of joining arrays: row by row in memory unless channels are last in all of them."""
    if result.flags.c_contiguous or all(channels_last_order(each) for each in arrays):
        return result
    return row_by_row(result)


def channels_last_order(array: np.ndarray) -> tuple[int, ...] | None:
    """The order of a channels-last format if the strides follow it, also with gaps; or None.

    Strides decide where sizes of one leave open which format it is, as in PyTorch.
    """
    order = _ORDERS.get(array.ndim)
    if order is None:
        return None
    shape, strides = array.shape, array.strides
    channel = strides[1]
    if channel <= 0 or channel > strides[-1] or 0 in shape:
        return None
    least = 0
    for dim in reversed(order):
        if strides[dim] < least or (dim == 0 and least == channel):
            return None
        least = strides[dim] * shape[dim]
    return order


def format_of(array: np.ndarray) -> memory_format:
    """The memory format that an array is in."""
    if array.flags.c_contiguous:
        return contiguous_format
    order = channels_last_order(array)
    found = [each for each, known in _CHANNELS_LAST.items() if known == order]
    return found[0] if found else contiguous_format


def strides_in_elements(array: np.ndarray) -> tuple[int, ...]:
    """Strides as PyTorch counts them; a new array without elements has none in NumPy."""
    if array.size or 0 not in array.strides:
        return tuple(stride // array.itemsize for stride in array.strides)
    return tuple(math.prod(max(n, 1) for n in array.shape[dim + 1 :]) for dim in range(array.ndim))
