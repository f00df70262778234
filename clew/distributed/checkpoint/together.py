"""What ranks do together while they save: who writes what, and errors that all of them learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from clew import distributed as dist
from clew.core.tensor import Tensor
from clew.distributed.checkpoint.api import CheckpointException
from clew.distributed.checkpoint.flattening import Box, Path, box_of

T = TypeVar("T")


class Item(NamedTuple):
    """A value, or a part of a tensor, that a rank could write."""

    name: str
    path: Path
    # None of what is no tensor.
    box: Box | None
    dtype: Any
    size: int


class Together:
    """The ranks that save or load a checkpoint.

    Args:
        group: the ranks; None is all of them
        alone: this process by itself, whoever else there is
    """

    def __init__(self, group: Any = None, alone: bool = False) -> None:
        self._group = group
        alone = alone or not dist.is_initialized()
        self.rank, self.size = (
            (0, 1) if alone else (dist.get_rank(group), dist.get_world_size(group))
        )

    def gathered(self, value: T) -> list[T]:
        """What each rank gives, on all of them."""
        found: list[Any] = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(found, value, self._group)
        return found

    def attempted(self, what: str, function: Callable[[], T], is_mine: bool = True) -> list[T]:
        """What a function returns on the ranks that call it; if it raises on one, all raise."""
        error: BaseException | None = None
        result: Any = None
        try:
            if is_mine:
                result = function()
        except Exception as raised:  # the other ranks would wait for this one
            error = raised
        said = None if error is None else (type(error).__name__, str(error))
        answers = self.gathered((result, said))
        failures: dict[int, BaseException] = {}
        for rank, (_, wrong) in enumerate(answers):
            if wrong is not None:
                failures[rank] = RuntimeError(f"{wrong[0]}: {wrong[1]}")
        if error is not None:
            failures[self.rank] = error
        if failures:
            raise CheckpointException(what, failures) from error
        return [each for each, _ in answers]


def items_of(flat: Mapping[str, tuple[Path, Any]]) -> list[Item]:
    """What this rank has."""
    found = []
    for name, (path, value) in flat.items():
        if not isinstance(value, Tensor):
            found.append(Item(name, path, None, None, 0))
            continue
        box = box_of(value)
        if 0 not in box.sizes or 0 in box.whole:
            found.append(Item(name, path, box, value.dtype, value._array.nbytes))
    return found


def shared_out(lists: list[list[Item]]) -> list[list[Item]]:
    """What each rank writes: what several have, the one of them with the least to write."""
    owners: dict[tuple[str, Any], list[int]] = {}
    items: dict[tuple[str, Any], Item] = {}
    for rank, each in enumerate(lists):
        for item in each:
            key = item.name, None if item.box is None else item.box.offsets
            owners.setdefault(key, []).append(rank)
            items.setdefault(key, item)
    load = [0] * len(lists)
    mine: list[list[Item]] = [[] for _ in lists]
    # What only one rank has is settled first.
    for key in sorted(owners, key=lambda key: len(owners[key])):
        rank = min(owners[key], key=lambda rank: load[rank])
        load[rank] += items[key].size
        mine[rank].append(items[key])
    return mine
