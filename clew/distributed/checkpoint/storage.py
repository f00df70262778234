"""What a storage of checkpoints does: the base of readers and writers."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from clew.autograd.grad_mode import no_grad
from clew.core.tensor import wrap
from clew.distributed.checkpoint.flattening import box_at
from clew.distributed.checkpoint.metadata import Metadata, MetadataIndex
from clew.distributed.checkpoint.planner import LoadItemType, LoadPlan, LoadPlanner, SavePlanner
from clew.distributed.checkpoint.together import Together
from clew.distributed.refusing import Refused

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


class WriteResult(Refused):
    """What a writer has written. Making one raises."""


class StorageWriter:
    """Writes state dicts; all ranks call it together."""

    def write(self, state_dict: dict[str, Any], planner: SavePlanner, ranks: Together) -> Metadata:
        """Write what the planner plans for a state dict, and return what was written."""
        raise NotImplementedError


class StorageReader:
    """Reads values and parts of tensors by their names."""

    def read_metadata(self) -> Metadata:
        """What there is."""
        raise NotImplementedError

    def stream(self, name: str) -> io.BytesIO:
        """The bytes, as `save` writes them, of what is no tensor."""
        raise NotImplementedError

    def part(self, name: str, offsets: tuple[int, ...]) -> np.ndarray:
        """A part of a tensor as it was saved, by the place where it begins."""
        raise NotImplementedError

    def read(self, plan: LoadPlan, planner: LoadPlanner) -> None:
        """Give a planner what it has planned to read."""
        last: MetadataIndex | None = None
        for item in plan.items:
            index = item.storage_index
            if item.type is LoadItemType.BYTE_IO:
                planner.load_bytes(item, self.stream(index.fqn))
                continue
            if index != last:
                # Several boxes may be read of a part.
                last, part = index, self.part(index.fqn, tuple(index.offset or ()))
            box = box_at(item.storage_offsets, item.lengths)
            target = planner.resolve_tensor(item).detach()
            with no_grad():
                target.copy_(wrap(part[box].reshape(tuple(target.shape))))
            planner.commit_tensor(item, target)
