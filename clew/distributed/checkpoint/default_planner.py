"""The planners that are used where a program gives none: to take over, or to start from."""

from __future__ import annotations

import dataclasses
import io
from collections import defaultdict
from typing import Any

import numpy as np

from clew import errors
from clew.core.inplace import bump_version
from clew.core.size import Size
from clew.core.tensor import Tensor, wrap
from clew.distributed.checkpoint.flattening import (
    Path,
    box_at,
    box_of,
    flattened,
    nested,
    put,
    value_at,
)
from clew.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from clew.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from clew.distributed.tensor.dtensor import DTensor
from clew.serialization.loading import load
from clew.serialization.saving import save

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


def _split(state_dict: dict[str, Any], flatten: bool) -> tuple[dict[str, Any], dict[str, Path]]:
    """Values by name, and the path of each in what is nested."""
    if not flatten:
        return dict(state_dict), {}
    flat = flattened(state_dict)
    return {n: value for n, (_, value) in flat.items()}, {n: path for n, (path, _) in flat.items()}


class DefaultSavePlanner(SavePlanner):
    """Who writes what: nested states flattened, what several ranks have by one of them.

    Args:
        flatten_state_dict: take nested dicts and lists apart; otherwise they are values
        flatten_sharded_tensors, dedup_replicated_tensors, enable_plan_caching: accepted
        dedup_save_to_lowest_rank: what several ranks have is written by the first of them, and not
            by the one with the least to write
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.state_dict: dict[str, Any] = {}
        self.mappings: dict[str, Path] = {}
        self.is_coordinator = False

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        self.state_dict, self.mappings = _split(state_dict, self.flatten_state_dict)
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        items = [
            item for name, value in self.state_dict.items() if (item := _write_item(name, value))
        ]
        self.plan = SavePlan(items, planner_data=self.mappings or None)
        return self.plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans = _shared_out(all_plans, self.dedup_save_to_lowest_rank)
        entries, plans = _described(plans)
        paths: dict[str, Path] = {}
        for plan in all_plans:
            paths |= plan.planner_data if isinstance(plan.planner_data, dict) else {}
        self.global_plan, self.metadata = plans, Metadata(entries, paths or None)
        return self.global_plan, self.metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        found: Tensor | io.BytesIO = self.transform_object(
            write_item, self.lookup_object(write_item.index)
        )
        return found

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of an item; of a tensor in parts, this rank's part."""
        value = self.state_dict[index.fqn]
        if isinstance(value, Tensor):
            return wrap(value._array.reshape(box_of(value).sizes))
        return value

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """What is written of a value: bytes of what is no tensor."""
        if write_item.type is WriteItemType.BYTE_IO:
            buffer = io.BytesIO()
            save(object, buffer)
            return buffer
        return object


def _write_item(name: str, value: Any) -> WriteItem | None:
    """What this rank has of a value; None where its part is empty."""
    if not isinstance(value, Tensor):
        return WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO)
    box = box_of(value)
    is_part = isinstance(value, DTensor)
    if 0 in box.sizes and 0 not in box.whole:
        return None
    chunk = ChunkStorageMetadata(Size(box.offsets), Size(box.sizes))
    data = TensorWriteData(chunk, TensorProperties(dtype=value.dtype), Size(box.whole))
    kind = WriteItemType.SHARD if is_part else WriteItemType.TENSOR
    return WriteItem(MetadataIndex(name, box.offsets), kind, tensor_data=data)


def _shared_out(plans: list[SavePlan], to_lowest: bool) -> list[SavePlan]:
    """What each rank writes: what several have, the one of them with the least to write."""
    owners: dict[MetadataIndex, list[int]] = defaultdict(list)
    items: dict[MetadataIndex, WriteItem] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            owners[item.index].append(rank)
            items.setdefault(item.index, item)
    load = [0] * len(plans)
    mine: list[list[WriteItem]] = [[] for _ in plans]
    # What only one rank has is settled first.
    for index in sorted(owners, key=lambda index: len(owners[index])):
        rank = owners[index][0] if to_lowest else min(owners[index], key=lambda rank: load[rank])
        load[rank] += items[index].tensor_storage_size() or 0
        mine[rank].append(items[index])
    return [dataclasses.replace(plan, items=each) for plan, each in zip(plans, mine)]


def _described(plans: list[SavePlan]) -> tuple[dict[str, Any], list[SavePlan]]:
    """What a checkpoint of plans has, and the plans with the numbers of parts."""
    entries: dict[str, Any] = {}
    numbered = []
    for plan in plans:
        items = []
        for item in plan.items:
            name, data = item.index.fqn, item.tensor_data
            if data is None:
                entries[name] = BytesStorageMetadata()
                items.append(item)
                continue
            entry = entries.get(name)
            if not isinstance(entry, TensorStorageMetadata):
                entry = entries[name] = TensorStorageMetadata(data.properties, data.size, [])
            index = MetadataIndex(name, item.index.offset, len(entry.chunks))
            entry.chunks.append(data.chunk)
            items.append(dataclasses.replace(item, index=index))
        numbered.append(dataclasses.replace(plan, items=items))
    return entries, numbered


class DefaultLoadPlanner(LoadPlanner):
    """Who reads what: each rank what it needs.

    Args:
        flatten_state_dict: take nested dicts and lists apart; otherwise they are values
        flatten_sharded_tensors: accepted
        allow_partial_load: leave values as they are that the checkpoint does not have
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict: dict[str, Any] = {}
        self.state_dict: dict[str, Any] = {}
        self.mappings: dict[str, Path] = {}
        self.metadata: Metadata | None = None
        self.is_coordinator = False

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        self.original_state_dict = state_dict
        self.state_dict, self.mappings = _split(state_dict, self.flatten_state_dict)
        self.metadata, self.is_coordinator = metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        entries = {} if self.metadata is None else self.metadata.state_dict_metadata
        items: list[ReadItem] = []
        for name, value in self.state_dict.items():
            entry = entries.get(name)
            if entry is None and not self.allow_partial_load:
                raise RuntimeError(
                    f"Missing key in checkpoint state_dict: {name}. It has {len(entries)} others"
                    + errors.at_user_line()
                )
            if entry is not None:
                items += _read_items(name, entry, value)
        return LoadPlan(items)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        name = read_item.dest_index.fqn
        self.state_dict[name] = found = load(value, weights_only=False)
        put(self.original_state_dict, self.mappings.get(name, (name,)), found)

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        bump_version(self.state_dict[read_item.dest_index.fqn], "checkpoint.load")

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """The tensor of an item; of one in parts, this rank's part."""
        value = self.state_dict[index.fqn]
        return wrap(value._array.reshape(box_of(value).sizes))

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """The box in a tensor that an item fills."""
        return wrap(tensor._array[box_at(read_item.dest_offsets, read_item.lengths)])


def _read_items(name: str, entry: Any, value: Any) -> list[ReadItem]:
    """What is read for a value: what overlaps with each of the parts that were saved."""
    none = Size(())
    index = MetadataIndex(name)
    if not isinstance(entry, TensorStorageMetadata):
        return [ReadItem(LoadItemType.BYTE_IO, index, none, index, none, none)]
    if not isinstance(value, Tensor):
        raise ValueError(
            f"{name} was saved as a tensor, and the state dict has a {type(value).__name__}"
            + errors.at_user_line()
        )
    box = box_of(value)
    if box.whole != tuple(entry.size):
        raise ValueError(
            f"Size mismatch between saved {entry.size} and current: {Size(box.whole)} for "
            f"{name}" + errors.at_user_line()
        )
    items = []
    for number, chunk in enumerate(entry.chunks):
        here, there, lengths = [], [], []
        for at, length, begin, size in zip(box.offsets, box.sizes, chunk.offsets, chunk.sizes):
            start, end = max(at, begin), min(at + length, begin + size)
            here.append(start - at)
            there.append(start - begin)
            lengths.append(end - start)
        if all(length > 0 for length in lengths) and 0 not in box.sizes:
            items.append(
                ReadItem(
                    LoadItemType.TENSOR, MetadataIndex(name, box.offsets), Size(here),
                    MetadataIndex(name, chunk.offsets, number), Size(there), Size(lengths),
                )
            )  # fmt: skip
    return items


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills an empty state dict with all that the checkpoint has, or with some of it.

    Args:
        keys: the first steps of paths, or their beginnings with dots, that are wanted
    """

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def wants(self, path: Path) -> bool:
        """Whether the value of a path is wanted."""
        starts = (".".join(map(str, path[:end])) for end in range(1, len(path) + 1))
        return self.keys is None or not self.keys.isdisjoint(starts)

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        assert metadata is not None
        entries = metadata.state_dict_metadata
        paths = metadata.planner_data or {name: (name,) for name in entries}
        wanted = {name: path for name, path in paths.items() if self.wants(path)}
        state_dict.update(nested({name: _room(entries[name]) for name in wanted}, wanted))
        super().set_up_planner(state_dict, metadata, is_coordinator)
        # Lists of numbers would be taken for whole values before they are filled.
        self.mappings = dict(wanted)
        self.state_dict = {name: value_at(state_dict, path) for name, path in wanted.items()}


def _room(entry: Any) -> Any:
    """What is to be filled with a value."""
    if isinstance(entry, TensorStorageMetadata):
        return wrap(np.empty(tuple(entry.size), entry.properties.dtype.np))
    return None
