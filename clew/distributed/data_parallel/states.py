"""Tensors of all ranks made equal: rank 0's parameters and buffers, in few broadcasts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from clew import distributed as dist
from clew import errors
from clew.core.inplace import bump_version
from clew.core.tensor import Tensor, wrap

# Elements of one broadcast: memory for a copy of as many.
_MOST = 1 << 24


def broadcast_all(tensors: Iterable[Tensor], root: int, group: Any) -> None:
    """Give all ranks the tensors of one, counted in the group; those of a dtype travel together."""
    by_dtype: dict[np.dtype, list[Tensor]] = {}
    for tensor in tensors:
        by_dtype.setdefault(tensor._array.dtype, []).append(tensor)
    for part in by_dtype.values():
        for some in _batches(part):
            _broadcast_together(some, root, group)


def _batches(tensors: Sequence[Tensor]) -> Iterable[list[Tensor]]:
    batch: list[Tensor] = []
    size = 0
    for tensor in tensors:
        if batch and size + tensor._array.size > _MOST:
            yield batch
            batch, size = [], 0
        batch.append(tensor)
        size += tensor._array.size
    if batch:
        yield batch


def _broadcast_together(tensors: list[Tensor], root: int, group: Any) -> None:
    arrays = [tensor._array for tensor in tensors]
    flat = wrap(np.concatenate([array.reshape(-1) for array in arrays]))
    dist.broadcast(flat, group=group, group_src=root)
    if group.rank() == root:
        return
    place = 0
    for tensor, array in zip(tensors, arrays):
        array[...] = flat._array[place : place + array.size].reshape(array.shape)
        bump_version(tensor, "broadcast")
        place += array.size


def compare_shapes(named: Sequence[tuple[str, Tensor]], group: Any, what: str) -> None:
    """Raise, on all ranks, if their models differ."""
    mine = [(name, tuple(tensor.shape), str(tensor.dtype)) for name, tensor in named]
    theirs: list[Any] = [None] * group.size()
    dist.all_gather_object(theirs, mine, group)
    for rank, other in zip(group.ranks, theirs):
        if other != theirs[0]:
            one, two = _first_difference(theirs[0], other)
            raise RuntimeError(
                f"{what} expects same model across all ranks, but rank {group.ranks[0]} has "
                f"{_in_words(one)} where rank {rank} has {_in_words(two)}" + errors.at_user_line()
            )


def _first_difference(one: list[Any], other: list[Any]) -> tuple[Any, Any]:
    for a, b in zip(one, other):
        if a != b:
            return a, b
    longer = max(len(one), len(other))
    shorter = min(len(one), len(other))
    place = shorter if longer > shorter else 0
    return (one[place] if len(one) > place else None, other[place] if len(other) > place else None)


def _in_words(entry: Any) -> str:
    if entry is None:
        return "no parameter"
    name, shape, dtype = entry
    return f"'{name}' of {dtype} {errors.shape_list(shape)}"
