"""Checkpoints in the layout of Hugging Face: safetensors files, and an index of who is where."""

from __future__ import annotations

import functools
import json
import os
from typing import Any

import numpy as np

from clew import errors
from clew.core.size import Size
from clew.core.tensor import Tensor, wrap
from clew.distributed.checkpoint import together
from clew.distributed.checkpoint.default_planner import DefaultSavePlanner
from clew.distributed.checkpoint.flattening import box_of, flattened
from clew.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from clew.distributed.checkpoint.planner import SavePlanner
from clew.distributed.checkpoint.storage import StorageReader, StorageWriter
from clew.distributed.tensor.dtensor import DTensor
from clew.serialization.atomic import replacing
from clew.serialization.safetensors import load_file, metadata_of, save_file

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

INDEX = "model.safetensors.index.json"
# A file has at most so many bytes where the program does not say what goes where.
_MOST = 5 * 10**9
# What files with parts of tensors say: where in the whole each begins.
_SHARDS, _VERSION = "DCP_SHARDING_INFO", "DCP_VERSION"


class HuggingFaceStorageWriter(StorageWriter):
    """Writes tensors to safetensors files, whole ones with an index as `from_pretrained` reads.

    Args:
        path: the folder
        fqn_to_index_mapping: the number of the file of each tensor, from 1 on; by default as many
            files as needed of 5 GB
        thread_count, thread_count_consolidation: accepted
        save_distributed: let each rank write a file with its parts
        enable_consolidation: write whole tensors all the same

    Example:
        >>> import os, tempfile, clew.distributed.checkpoint as dcp
        >>> folder = tempfile.mkdtemp()
        >>> writer = dcp.HuggingFaceStorageWriter(folder)
        >>> metadata = dcp.save({"weight": clew.ones(2)}, storage_writer=writer)
        >>> sorted(os.listdir(folder))
        ['model-00001-of-00001.safetensors', 'model.safetensors.index.json']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        self.path = os.fspath(path)
        self._mapping = fqn_to_index_mapping
        self._in_parts = save_distributed and not enable_consolidation

    def write(
        self, state_dict: dict[str, Any], planner: SavePlanner, ranks: together.Together
    ) -> Metadata:
        if type(planner) is not DefaultSavePlanner:
            raise NotImplementedError(
                "HuggingFaceStorageWriter asks no planner of one's own: change the state dict "
                "before it is saved" + errors.at_user_line()
            )
        tensors = {name: value for name, (_, value) in flattened(state_dict).items()}
        for name, value in tensors.items():
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"safetensors files have only tensors, and {name} is a {type(value).__name__}"
                    + errors.at_user_line()
                )
        ranks.attempted("save", lambda: os.makedirs(self.path, exist_ok=True))
        if self._in_parts:
            self._write_parts(tensors, planner, ranks)
        else:
            self._write_whole(tensors, ranks)
        return HuggingFaceStorageReader(self.path).read_metadata()

    def _write_parts(
        self, tensors: dict[str, Tensor], planner: SavePlanner, ranks: together.Together
    ) -> None:
        rank, size = ranks.rank, ranks.size
        planner.set_up_planner(tensors)
        plans, _ = planner.create_global_plan(ranks.gathered(planner.create_local_plan()))
        mine = [each.index for each in plans[rank].items]
        parts = {each.fqn: wrap(np.array(tensors[each.fqn]._array, order="C")) for each in mine}
        offsets = {each.fqn: {"saved_offsets": list(each.offset or ())} for each in mine}
        said = {"format": "pt", _VERSION: "1.0", _SHARDS: json.dumps(offsets)}
        name = f"shard-{rank + 1:05d}-model-00001-of-00001.safetensors"
        path = os.path.join(self.path, name)
        ranks.attempted("save", lambda: save_file(parts, path, said), bool(parts))
        kept = [f"shard-{r + 1:05d}-model-00001-of-00001.safetensors" for r in range(size)]
        ranks.attempted("save", lambda: _remove_others(self.path, kept), rank == 0)

    def _write_whole(self, tensors: dict[str, Tensor], ranks: together.Together) -> None:
        rank, size = ranks.rank, ranks.size
        sizes = ranks.gathered({name: _bytes(each) for name, each in tensors.items()})
        if any(each != sizes[0] for each in sizes):
            raise ValueError(
                "ranks have different tensors: write them with save_distributed=True"
                + errors.at_user_line()
            )
        numbers = self._numbers(sizes[0])
        last = max(numbers.values(), default=1)
        files = {n: f"model-{n:05d}-of-{last:05d}.safetensors" for n in range(1, last + 1)}
        for number, file in files.items():
            # One file after the other, so that no rank has all tensors whole.
            whole = {name: _whole(tensors, name) for name, n in numbers.items() if n == number}
            path = os.path.join(self.path, file)
            write = functools.partial(save_file, whole, path, {"format": "pt"})
            ranks.attempted("save", write, (number - 1) % size == rank)
        index = {
            "metadata": {"total_size": sum(_bytes(each) for each in tensors.values())},
            "weight_map": {name: files[number] for name, number in numbers.items()},
        }

        def finish() -> None:
            with (
                replacing(os.path.join(self.path, INDEX)) as path,
                open(path, "w", encoding="utf-8") as text,
            ):
                json.dump(index, text, indent=2)
            _remove_others(self.path, files.values())

        ranks.attempted("save", finish, rank == 0)

    def _numbers(self, sizes: dict[str, int]) -> dict[str, int]:
        """The number of the file of each tensor."""
        if self._mapping is not None:
            return {name: self._mapping[name] for name in sizes}
        numbers, number, filled = {}, 1, 0
        for name, size in sizes.items():
            if filled and filled + size > _MOST:
                number, filled = number + 1, 0
            numbers[name] = number
            filled += size
        return numbers


def _bytes(tensor: Tensor) -> int:
    return int(np.prod(box_of(tensor).whole)) * tensor._array.itemsize


def _whole(tensors: dict[str, Tensor], name: str) -> Tensor:
    value = tensors[name]
    if isinstance(value, DTensor):
        value = value.full_tensor().detach()
    # A copy: parameters may share memory, and files may not.
    return wrap(np.array(value._array, order="C"))


def _remove_others(folder: str, kept: Any) -> None:
    """Remove the files of a save before this one, which would be read with it."""
    names = set(kept)
    for name in os.listdir(folder):
        is_ours = name.startswith(("model-", "shard-")) and name.endswith(".safetensors")
        if is_ours and name not in names:
            os.unlink(os.path.join(folder, name))


class HuggingFaceStorageReader(StorageReader):
    """Reads tensors, in any parts, from the safetensors files of a folder.

    Args:
        path: the folder
        thread_count: accepted
    """

    def __init__(self, path: str | os.PathLike[str], thread_count: int = 1) -> None:
        self.path = os.fspath(path)
        self._metadata: Metadata | None = None
        # The file of each part, by its name and where it begins.
        self._places: dict[tuple[str, tuple[int, ...]], str] = {}
        self._files: dict[str, dict[str, Tensor]] = {}

    def read_metadata(self) -> Metadata:
        if self._metadata is None:
            names = sorted(n for n in os.listdir(self.path) if n.endswith(".safetensors"))
            if not names:
                raise FileNotFoundError(
                    f"{self.path} has no safetensors files" + errors.at_user_line()
                )
            entries: dict[str, TensorStorageMetadata] = {}
            for file in names:
                self._note(file, entries)
            self._metadata = Metadata(dict(entries))
        return self._metadata

    def _note(self, file: str, entries: dict[str, TensorStorageMetadata]) -> None:
        said = metadata_of(os.path.join(self.path, file))
        shards = json.loads(said.get(_SHARDS, "{}"))
        for name, tensor in self._tensors(file).items():
            shape = tuple(tensor.shape)
            offsets = tuple(shards.get(name, {}).get("saved_offsets", [0] * len(shape)))
            self._places[name, offsets] = file
            chunk = ChunkStorageMetadata(Size(offsets), Size(shape))
            entry = entries.setdefault(
                name, TensorStorageMetadata(TensorProperties(tensor.dtype), Size(shape), [])
            )
            entry.chunks.append(chunk)
            ends = [max(a, o + s) for a, o, s in zip(entry.size, offsets, shape)]
            entry.size = Size(ends)

    def _tensors(self, file: str) -> dict[str, Tensor]:
        if file not in self._files:
            self._files[file] = load_file(os.path.join(self.path, file))
        return self._files[file]

    def part(self, name: str, offsets: tuple[int, ...]) -> np.ndarray:
        return self._tensors(self._places[name, offsets])[name]._array
