"""`load`: a state dict filled from a checkpoint, in other parts than it was written."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from clew import errors
from clew.core.inplace import bump_version
from clew.core.size import Size
from clew.core.tensor import Tensor, wrap
from clew.distributed.checkpoint import together
from clew.distributed.checkpoint.api import CheckpointException
from clew.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    _EmptyStateDictLoadPlanner,
    known,
)
from clew.distributed.checkpoint.filesystem import FileSystemReader
from clew.distributed.checkpoint.flattening import Path, box_of, flattened, nested, put
from clew.distributed.checkpoint.metadata import TensorStorageMetadata
from clew.distributed.checkpoint.state_dict_saver import states_of
from clew.distributed.checkpoint.stateful import Stateful
from clew.distributed.checkpoint.storage import StorageReader

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: StorageReader | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state dict, in place, from a checkpoint of PyTorch's or clew's.

    Parts may be others than those that were written. Nothing is changed if it does not fit.

    Args:
        state_dict: tensors are overwritten, other values replaced
        checkpoint_id: the folder
        storage_reader: another place than a folder of PyTorch's files
        planner: a `DefaultLoadPlanner`, which may allow what is missing
        process_group, no_dist: accepted
    """
    known(planner, DefaultLoadPlanner)
    if storage_reader is None:
        if checkpoint_id is None:
            raise RuntimeError(
                "`checkpoint_id` must be specified if storage_reader is None: the folder of the "
                "checkpoint" + errors.at_user_line()
            )
        storage_reader = FileSystemReader(checkpoint_id)
    elif checkpoint_id is not None:
        storage_reader.path = os.fspath(checkpoint_id)  # type: ignore[attr-defined]  # of each
    states = states_of(state_dict)
    wanted = flattened(states)
    try:
        _check(storage_reader, wanted, planner is not None and planner.allow_partial_load)
    except Exception as error:  # whatever it is, PyTorch raises it so
        raise CheckpointException("read", {together.Together(alone=no_dist).rank: error}) from error
    for name, (path, value) in wanted.items():
        put(states, path, read(storage_reader, name, value))
    for name, value in state_dict.items():
        if isinstance(value, Stateful) and not isinstance(value, Tensor):
            value.load_state_dict(states[name])
        else:
            state_dict[name] = states[name]


def _check(reader: StorageReader, wanted: dict[str, tuple[Path, Any]], partly: bool) -> None:
    """Raise before anything is changed if the checkpoint does not fit; drop what may be missing."""
    entries = reader.read_metadata().state_dict_metadata
    for name, (_, value) in list(wanted.items()):
        entry = entries.get(name)
        if entry is None:
            if partly:
                del wanted[name]
                continue
            raise RuntimeError(
                f"Missing key in checkpoint state_dict: {name}. It has {len(entries)} others"
                + errors.at_user_line()
            )
        if isinstance(value, Tensor) and isinstance(entry, TensorStorageMetadata):
            shape = box_of(value).whole
            if shape != tuple(entry.size):
                raise ValueError(
                    f"Size mismatch between saved {entry.size} and current: {Size(shape)} for "
                    f"{name}" + errors.at_user_line()
                )


def read(reader: StorageReader, name: str, value: Any = None) -> Any:
    """The value of a name: a tensor that is there is filled, and the whole one made if none is."""
    entry = reader.read_metadata().state_dict_metadata[name]
    if not isinstance(entry, TensorStorageMetadata):
        return reader.value(name)
    if not isinstance(value, Tensor):
        whole = np.empty(tuple(entry.size), entry.properties.dtype.np)
        reader.fill(name, entry, whole, (0,) * whole.ndim)
        return wrap(whole)
    box = box_of(value)
    if value._array.size:
        reader.fill(name, entry, value._array.reshape(box.sizes), box.offsets)
        bump_version(value, "checkpoint.load")
    return value


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """Fill a state dict, also an empty one with all that there is."""
    if not isinstance(planner, _EmptyStateDictLoadPlanner):
        load(state_dict, storage_reader=storage_reader, planner=planner)
        return
    metadata = storage_reader.read_metadata()
    paths = metadata.planner_data or {name: (name,) for name in metadata.state_dict_metadata}
    wanted = [name for name, path in paths.items() if planner.wants(path)]
    state_dict.update(nested({name: read(storage_reader, name) for name in wanted}, paths))


def load_state_dict(state_dict: dict[str, Any], storage_reader: Any, **kwargs: Any) -> None:
    """The former name of `load`."""
    load(state_dict, storage_reader=storage_reader)
