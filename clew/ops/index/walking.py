"""The order in which PyTorch walks through what index tensors select."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clew.core.result_layout import in_common_order, visiting_order
from clew.kernels.numpy.arrays import as_new
from clew.kernels.numpy.strides import view_strides

Shape = tuple[int, ...]
Pattern = tuple[bool, ...]

ALL = slice(None)


def in_memory(
    self: np.ndarray, indices: Sequence[np.ndarray], pattern: Pattern, result: np.ndarray
) -> np.ndarray:
    """A result laid out as PyTorch does: in the order that the strides of what it reads tell."""
    in_order = self.flags.c_contiguous and 1 not in result.shape
    if not result.size or (in_order and all([each.flags.c_contiguous for each in indices])):
        return as_new(result)
    _, _, strides = as_walked(self, indices, pattern, result.shape)
    return in_common_order(strides, result)


def as_walked(
    self: np.ndarray, indices: Sequence[np.ndarray], pattern: Pattern, selected: Shape
) -> tuple[list[np.ndarray | None], int, list[Sequence[int]]]:
    """The index of each dimension, where their dimensions are in what they select, and strides.

    These are the strides of the tensor and of its indices over the selected shape.
    """
    places: list[np.ndarray | None] = []
    given = iter(indices)
    for indexed in pattern:
        index = next(given) if indexed else None
        places += index.nonzero() if index is not None and index.dtype.kind == "b" else [index]
    places += [None] * (self.ndim - len(places))
    read = [each for each in places if each is not None]
    shape = np.broadcast_shapes(*[each.shape for each in read])
    taken = [each is not None for each in places]
    first, count = taken.index(True), len(read)
    # Indices that are not next to each other put their dimensions in front.
    at = first if all(taken[first : first + count]) else 0
    own = [stride for stride, gone in zip(self.strides, taken, strict=True) if not gone]
    all_strides: list[Sequence[int]] = [[*own[:at], *[0] * len(shape), *own[at:]]]
    # PyTorch reads an index as if it had dimensions of size 1 for those that it does not select.
    spread = (*[1] * at, *shape, *[1] * (len(own) - at))
    for each in read:
        strides = (
            view_strides(shape, np.broadcast_to(each, shape).strides, spread)
            if shape
            else [0] * len(spread)
        )
        sizes = zip(spread, selected, strides, strict=True)
        all_strides.append([0 if n == 1 != wanted else stride for n, wanted, stride in sizes])
    return places, at, all_strides


class Walk:
    """How PyTorch writes at indices: for each value, in order, which one, where to, and whether the
    index is out of range. Elements count in row-major order, values as if they were broadcast.
    """

    def __init__(
        self, shape: Shape, sources: np.ndarray, numbers: np.ndarray, wrong: np.ndarray
    ) -> None:
        self.shape = shape
        self.sources, self.numbers, self.wrong = sources, numbers, wrong


def walk(
    target: np.ndarray, values: np.ndarray, indices: Sequence[np.ndarray], pattern: Pattern,
    selected: Shape,
) -> Walk:  # fmt: skip
    """The order in which values that broadcast to the selected shape are written."""
    places, at, strides = as_walked(target, indices, pattern, selected)
    value_strides = np.broadcast_to(values, selected).strides
    order = visiting_order([strides[0], value_strides, *strides[1:]], selected)
    inside, wrong = [], np.zeros((), np.bool_)
    for index, n in zip(places, target.shape, strict=True):
        if index is not None:
            is_wrong = (index < -n) | (index >= n)
            inside.append(np.where(is_wrong, 0, index))
            wrong = wrong | is_wrong
    wrong = wrong.reshape(*wrong.shape, *[1] * (len(selected) - at - wrong.ndim))
    key = tuple(ALL if each is None else inside.pop(0) for each in places)
    elements = (
        np.arange(int(np.prod(selected))).reshape(selected),
        np.arange(target.size).reshape(target.shape)[key],
        np.broadcast_to(wrong, selected),
    )
    return Walk(selected, *[each.transpose(order).ravel() for each in elements])
