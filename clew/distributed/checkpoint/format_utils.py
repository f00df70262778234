"""Checkpoints of many ranks and files of `torch.save`, made of each other."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from clew import distributed as dist
from clew import errors
from clew.core.size import Size
from clew.core.tensor import Tensor
from clew.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    DefaultSavePlanner,
    _EmptyStateDictLoadPlanner,
)
from clew.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from clew.distributed.checkpoint.flattening import flattened
from clew.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from clew.distributed.checkpoint.state_dict_loader import _load_state_dict
from clew.distributed.checkpoint.storage import StorageReader
from clew.distributed.checkpoint.together import Together
from clew.serialization.loading import load
from clew.serialization.saving import save

__all__ = [
    "BroadcastingTorchSaveReader", "DynamicMetaLoadPlanner", "dcp_to_torch_save",
    "torch_save_to_dcp",
]  # fmt: skip


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Write what is in the folder of a checkpoint as one file, whole. One process does it.

    Args:
        dcp_checkpoint_dir: the folder
        torch_save_path: the file
    """
    state: dict[str, Any] = {}
    reader = FileSystemReader(dcp_checkpoint_dir)
    _load_state_dict(state, reader, planner=_EmptyStateDictLoadPlanner(), no_dist=True)
    save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Write what is in a file of `torch.save` as a checkpoint. One process does it.

    Args:
        torch_save_path: the file
        dcp_checkpoint_dir: the folder
    """
    state = load(torch_save_path, weights_only=False)
    writer = FileSystemWriter(dcp_checkpoint_dir)
    writer.write(state, DefaultSavePlanner(), Together(alone=True))


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """For files that say their sizes only when they are read: what a reader here does anyway."""


class BroadcastingTorchSaveReader(StorageReader):
    """Reads a file of `torch.save` on one rank, and gives the others what is in it.

    Args:
        checkpoint_id: the file
        coordinator_rank: the rank that reads
    """

    def __init__(self, checkpoint_id: Any = None, coordinator_rank: int = 0) -> None:
        self.path = None if checkpoint_id is None else os.fspath(checkpoint_id)
        self.coordinator_rank = coordinator_rank
        self._values: dict[str, Any] | None = None

    def _read(self) -> dict[str, Any]:
        if self._values is None:
            ranks = Together()
            box: list[Any] = [None]
            if ranks.rank == self.coordinator_rank:
                if self.path is None:
                    raise ValueError("give checkpoint_id=..., the file" + errors.at_user_line())
                box = [load(self.path, weights_only=False)]
            if ranks.size > 1:
                dist.broadcast_object_list(box, src=self.coordinator_rank)
            self._values = {name: value for name, (_, value) in flattened(box[0]).items()}
        return self._values

    def read_metadata(self) -> Metadata:
        return Metadata({name: _described(value) for name, value in self._read().items()})

    def stream(self, name: str) -> io.BytesIO:
        buffer = io.BytesIO()
        save(self._read()[name], buffer)
        buffer.seek(0)
        return buffer

    def part(self, name: str, offsets: tuple[int, ...]) -> np.ndarray:
        return self._read()[name]._array


def _described(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return BytesStorageMetadata()
    shape = Size(value.shape)
    chunk = ChunkStorageMetadata(Size([0] * len(shape)), shape)
    return TensorStorageMetadata(TensorProperties(dtype=value.dtype), shape, [chunk])
