"""Pipes of groups: batches, elements of batches, elements with the same key, a worker's share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from clew.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, functional_datapipe

__all__ = ["Batcher", "Grouper", "ShardingFilter", "UnBatcher"]


@functional_datapipe("batch")
class Batcher(IterDataPipe):
    """Lists of so many elements.

    Args:
        datapipe: the pipe
        batch_size: the number of elements
        drop_last: whether a last batch with fewer is left out
        wrapper_class: the class of a batch
    """

    def __init__(
        self,
        datapipe: Iterable[Any],
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: type = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for data in self.datapipe:
            batch.append(data)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = len(self.datapipe)  # type: ignore[arg-type]  # a pipe without a length raises
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe):
    """The elements of batches.

    Args:
        datapipe: the pipe of batches
        unbatch_level: how many levels of lists are opened; -1 opens all
    """

    def __init__(self, datapipe: Iterable[Any], unbatch_level: int = 1) -> None:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield from self._opened(data, self.unbatch_level)

    def _opened(self, data: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level == -1 and not isinstance(data, (list, DataChunk))):
            yield data
            return
        if not isinstance(data, (list, DataChunk)):
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )
        for each in data:
            yield from self._opened(each, level if level == -1 else level - 1)


@functional_datapipe("groupby")
class Grouper(IterDataPipe):
    """Lists of elements with the same key.

    Args:
        datapipe: the pipe
        group_key_fn: the function that gives an element's key
        keep_key: whether groups come with their keys
        buffer_size: how many elements wait at most
        group_size: the number of elements at which a group is given
        guaranteed_group_size: the least number for a group that is given early
        drop_remaining: whether small groups are left out when the buffer is full
    """

    def __init__(
        self,
        datapipe: Iterable[Any],
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        self.datapipe, self.group_key_fn = datapipe, group_key_fn
        self.keep_key, self.buffer_size, self.group_size = keep_key, buffer_size, group_size
        self.guaranteed = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.drop_remaining = drop_remaining

    def _given(self, key: Any, group: list[Any]) -> Any:
        return (key, DataChunk(group)) if self.keep_key else DataChunk(group)

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = defaultdict(list)
        waiting = 0
        for data in self.datapipe:
            key = self.group_key_fn(data)
            groups[key].append(data)
            waiting += 1
            if self.group_size is not None and len(groups[key]) == self.group_size:
                waiting -= self.group_size
                yield self._given(key, groups.pop(key))
            if waiting == self.buffer_size:
                largest = max(groups, key=lambda each: len(groups[each]))
                group = groups.pop(largest)
                waiting -= len(group)
                if self.guaranteed is None or len(group) >= self.guaranteed:
                    yield self._given(largest, group)
                elif not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(group))
        for key, group in groups.items():
            yield self._given(key, group)


@functional_datapipe("sharding_filter")
class ShardingFilter(IterDataPipe):
    """Every n-th element: the share of one worker.

    Args:
        source_datapipe: the pipe
    """

    def __init__(self, source_datapipe: Iterable[Any], sharding_group_filter: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, *args: Any) -> None:
        """Say how many workers there are, and which one this is."""
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances"
                f"({num_of_instances})"
            )
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        for number, data in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield data

    def __len__(self) -> int:
        count = len(self.source_datapipe)  # type: ignore[arg-type]  # a pipe without a length raises
        rest = count % self.num_of_instances
        return count // self.num_of_instances + (self.instance_id < rest)
