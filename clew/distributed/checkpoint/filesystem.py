"""PyTorch's files of checkpoints: a folder with `.distcp` files and `.metadata`.

Each rank writes the tensors and values that are its own behind each other into one file. The
metadata, which says where each lies, takes its name when everything is there: an interrupted save
leaves the checkpoint before it, whose files are removed after that.
"""

from __future__ import annotations

import contextlib
import enum
import io
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor, wrap
from clew.distributed.checkpoint import together
from clew.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from clew.distributed.checkpoint.planner import SavePlan, SavePlanner, WriteItemType
from clew.distributed.checkpoint.storage import StorageReader, StorageWriter
from clew.serialization.atomic import replacing
from clew.serialization.loading import load, loads
from clew.serialization.saving import dumps, save

__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_METADATA = ".metadata"
_VERSION = "1.0.0"
_BYTES = WriteItemType.BYTE_IO
_FILE = re.compile(r"__(\d+)_(\d+)\.distcp")


class SerializationFormat(enum.Enum):
    """How values lie in files."""

    TORCH_SAVE, SAFETENSORS = "torch_save", "safetensors"


@dataclass
class _StorageInfo:
    """Where a value lies."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if value is not None}


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint into a folder.

    Args:
        path: the folder
        single_file_per_rank, sync_files, thread_count, per_thread_copy_ahead,
            cache_staged_state_dict: accepted
        overwrite: replace a checkpoint that is there; otherwise that is an error
        serialization_format: `TORCH_SAVE`
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        if serialization_format is not SerializationFormat.TORCH_SAVE or _extensions:
            raise NotImplementedError(
                "FileSystemWriter: values are written as torch.save writes them; for safetensors "
                "use HuggingFaceStorageWriter" + errors.at_user_line()
            )
        self.path = os.fspath(path)
        self.overwrite = overwrite

    def write(
        self, state_dict: dict[str, Any], planner: SavePlanner, ranks: together.Together
    ) -> Metadata:
        rank = ranks.rank
        generation = max(ranks.attempted("save", lambda: self._begin(rank)))
        meta = StorageMeta(checkpoint_id=self.path, save_id=str(uuid.uuid4()))

        def local() -> SavePlan:
            planner.set_up_planner(state_dict, meta, rank == 0)
            return planner.create_local_plan()

        plans = ranks.attempted("save", local)
        # The first rank plans for all.
        shared, metadata = ranks.first("save", lambda: planner.create_global_plan(plans))
        name = f"__{rank}_{generation}.distcp"
        try:
            written = ranks.attempted(
                "save", lambda: self._write_file(name, planner.finish_plan(shared[rank]), planner)
            )
            places = {index: info for part in written for index, info in part}
            metadata = replace(metadata, storage_data=places, storage_meta=meta, version=_VERSION)
            ranks.attempted("save", lambda: self._finish(metadata), rank == 0)
        except BaseException:  # what is half written helps nobody
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path, name))
            raise
        return metadata

    def _begin(self, rank: int) -> int:
        """The number of this save among those whose files are there."""
        if rank:
            return 0
        os.makedirs(self.path, exist_ok=True)
        if not self.overwrite and os.path.exists(os.path.join(self.path, _METADATA)):
            raise RuntimeError(
                f"Checkpoint already exists and self.overwrite={self.overwrite}: {self.path}"
            )
        return 1 + max((int(found[2]) for found in self._files()), default=-1)

    def _files(self) -> Iterator[re.Match[str]]:
        return (found for name in os.listdir(self.path) if (found := _FILE.fullmatch(name)))

    def _write_file(
        self, name: str, plan: SavePlan, planner: SavePlanner
    ) -> list[tuple[MetadataIndex, _StorageInfo]]:
        written: list[tuple[MetadataIndex, _StorageInfo]] = []
        if not plan.items:
            return written
        with open(os.path.join(self.path, name), "wb") as file:
            # Values first, as PyTorch does: a reader finds them at the beginning.
            for item in sorted(plan.items, key=lambda item: item.type is not _BYTES):
                start = file.tell()
                file.write(_as_bytes(planner.resolve_data(item)))
                written.append((item.index, _StorageInfo(name, start, file.tell() - start)))
            file.flush()
            os.fsync(file.fileno())
        return written

    def _finish(self, metadata: Metadata) -> None:
        """Give the new checkpoint its name, and remove the files of those before it."""
        with (
            replacing(os.path.join(self.path, _METADATA)) as path,
            open(path, "wb") as file,
        ):
            file.write(dumps(metadata))
        kept = {info.relative_path for info in metadata.storage_data.values()}
        for found in list(self._files()):
            if found[0] not in kept:
                os.unlink(os.path.join(self.path, found[0]))


def _as_bytes(data: Any) -> bytes:
    """Bytes of a planner as they are; a tensor as `save` writes it, without what lies around it."""
    if isinstance(data, io.BytesIO):
        return data.getvalue()
    buffer = io.BytesIO()
    save(wrap(np.array(data._array, order="C")), buffer)
    return buffer.getvalue()


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder, PyTorch's as well; no code in it is run.

    Args:
        path: the folder
    """

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        self.path = os.fspath(path)
        self._metadata: Metadata | None = None

    @property
    def checkpoint_id(self) -> str:
        """The folder."""
        return self.path

    def read_metadata(self) -> Metadata:
        """All values of the checkpoint, and where each lies."""
        if self._metadata is None:
            path = os.path.join(self.path, _METADATA)
            if not os.path.exists(path):
                raise FileNotFoundError(
                    f"{self.path} is no checkpoint: it has no {_METADATA}" + errors.at_user_line()
                )
            with open(path, "rb") as file:
                found = loads(file.read())
            if not isinstance(found, Metadata):
                raise ValueError(
                    f"{path} does not describe a checkpoint, but a {type(found).__name__}"
                    + errors.at_user_line()
                )
            self._metadata = found
        return self._metadata

    def stream(self, name: str) -> io.BytesIO:
        return self._read(MetadataIndex(name))

    def part(self, name: str, offsets: tuple[int, ...]) -> np.ndarray:
        found = load(self._read(MetadataIndex(name, offsets)), weights_only=False)
        if not isinstance(found, Tensor):
            raise ValueError(f"{self.path}: {name} is no tensor" + errors.at_user_line())
        return found._array

    def _read(self, index: MetadataIndex) -> io.BytesIO:
        info: _StorageInfo = self.read_metadata().storage_data[index]
        if info.transform_descriptors:
            raise NotImplementedError(
                f"{self.path}: {index.fqn} is kept as {info.transform_descriptors}, which clew "
                "does not read" + errors.at_user_line()
            )
        path = os.path.normpath(os.path.join(self.path, info.relative_path))
        if not path.startswith(os.path.normpath(self.path) + os.sep):
            raise ValueError(
                f"{self.path}: {index.fqn} would lie outside of the checkpoint, in {path}"
                + errors.at_user_line()
            )
        with open(path, "rb") as file:
            file.seek(info.offset)
            return io.BytesIO(file.read(info.length))
