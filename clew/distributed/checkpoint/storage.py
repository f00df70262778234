"""What a storage of checkpoints does: the base of readers and writers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clew.distributed.checkpoint.flattening import Path
from clew.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from clew.distributed.checkpoint.together import Together
from clew.distributed.refusing import Refused

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


class WriteResult(Refused):
    """What a writer has written. Making one raises."""


class StorageWriter:
    """Writes state dicts; all ranks call it together."""

    def write(self, flat: Mapping[str, tuple[Path, Any]], ranks: Together) -> Metadata:
        """Write named values, of which each rank has some, and return what was written."""
        raise NotImplementedError


class StorageReader:
    """Reads values and parts of tensors by their names."""

    def read_metadata(self) -> Metadata:
        """What there is."""
        raise NotImplementedError

    def value(self, name: str) -> Any:
        """What is no tensor."""
        raise NotImplementedError

    def part(self, name: str, offsets: tuple[int, ...]) -> np.ndarray:
        """A part of a tensor as it was saved, by the place where it begins."""
        raise NotImplementedError

    def fill(
        self, name: str, entry: TensorStorageMetadata, target: np.ndarray, offsets: Any
    ) -> None:
        """Copy what overlaps from all parts into an array that begins somewhere in the whole."""
        for chunk in entry.chunks:
            here, there = [], []
            for at, length, begin, size in zip(offsets, target.shape, chunk.offsets, chunk.sizes):
                start, end = max(at, begin), min(at + length, begin + size)
                if start >= end:
                    break
                here.append(slice(start - at, end - at))
                there.append(slice(start - begin, end - begin))
            else:
                part = self.part(name, tuple(chunk.offsets))
                target[tuple(here)] = part.reshape(tuple(chunk.sizes))[tuple(there)]
