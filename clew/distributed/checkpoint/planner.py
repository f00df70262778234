"""Plans of what a rank saves or loads, and the methods of who makes them."""

from __future__ import annotations

import enum
import io
import math
from dataclasses import dataclass
from typing import Any

from clew.core.size import Size
from clew.core.tensor import Tensor
from clew.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan",
    "SavePlanner", "TensorWriteData", "WriteItem", "WriteItemType",
]  # fmt: skip


class WriteItemType(enum.Enum):
    """What is written: a whole tensor, a part of one, or bytes of another value."""

    TENSOR, SHARD, BYTE_IO = 1, 2, 3


class LoadItemType(enum.Enum):
    """What is read: a part of a tensor, or bytes of another value."""

    TENSOR, BYTE_IO = 1, 2


@dataclass(frozen=True)
class BytesIOWriteData:
    """How long a value is as bytes, if that is known."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A part of a tensor, and the tensor that it is a part of."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """Something that a rank writes."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of a tensor's part; None of what is no tensor."""
        if self.tensor_data is None:
            return None
        return math.prod(self.tensor_data.chunk.sizes) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """Something that a rank reads: a box in a saved part, for a box in a part that it has."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """What a rank writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a rank reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner:
    """Decides what each rank writes. The methods are called in this order on all ranks.

    `create_global_plan` is called on the first rank only. `DefaultSavePlanner` is the one to start
    from.
    """

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Take what is to be saved."""
        raise NotImplementedError

    def create_local_plan(self) -> SavePlan:
        """What this rank has."""
        raise NotImplementedError

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each rank is to write, and what the checkpoint says about itself."""
        raise NotImplementedError

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """What this rank writes, of what it was given to write."""
        raise NotImplementedError

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The tensor, or the bytes, of an item."""
        raise NotImplementedError


class LoadPlanner:
    """Decides what each rank reads. The methods are called in this order on all ranks.

    `create_global_plan` is called on the first rank only. `DefaultLoadPlanner` is the one to start
    from.
    """

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Take what is to be filled, and what the checkpoint has."""
        raise NotImplementedError

    def create_local_plan(self) -> LoadPlan:
        """What this rank needs."""
        raise NotImplementedError

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each rank is to read."""
        raise NotImplementedError

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """What this rank reads, of what it was given to read."""
        raise NotImplementedError

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take the bytes of a value."""
        raise NotImplementedError

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The memory for what an item reads."""
        raise NotImplementedError

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Learn that the memory has been filled."""
        raise NotImplementedError
