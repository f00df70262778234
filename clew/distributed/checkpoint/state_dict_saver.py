"""`save`: a state dict that several ranks write in parts."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from copy import copy, deepcopy
from typing import Any

from clew import distributed as dist
from clew import errors
from clew.core.tensor import Tensor
from clew.distributed.checkpoint.default_planner import DefaultSavePlanner
from clew.distributed.checkpoint.filesystem import FileSystemWriter
from clew.distributed.checkpoint.metadata import Metadata
from clew.distributed.checkpoint.stateful import Stateful
from clew.distributed.checkpoint.storage import StorageWriter
from clew.distributed.checkpoint.together import Together
from clew.distributed.runtime.world import duplicate

__all__ = ["async_save", "save", "save_state_dict"]


def states_of(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The values; those that have a state dict are replaced by it."""
    return {
        name: value.state_dict()
        if isinstance(value, Stateful) and not isinstance(value, Tensor)
        else value
        for name, value in state_dict.items()
    }


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: StorageWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a state dict together, in PyTorch's files. An earlier one stays until the end.

    Args:
        state_dict: tensors, tensors in parts, other values, and what has a state dict, by name
        checkpoint_id: the folder
        storage_writer: another place than a folder of PyTorch's files
        planner: who writes what; by default a `DefaultSavePlanner`
        process_group: the ranks; None is all of them
        no_dist: this process writes by itself
        use_collectives: accepted

    Example:
        >>> import tempfile, clew.distributed.checkpoint as dcp
        >>> folder = tempfile.mkdtemp() + "/step1"
        >>> metadata = dcp.save({"weight": clew.ones(2), "step": 1}, checkpoint_id=folder)
        >>> state = {"weight": clew.zeros(2), "step": 0}
        >>> dcp.load(state, checkpoint_id=folder)
        >>> state
        {'weight': tensor([1., 1.]), 'step': 1}
    """
    writer = _writer(checkpoint_id, storage_writer)
    ranks = Together(process_group, alone=no_dist)
    return writer.write(states_of(state_dict), planner or DefaultSavePlanner(), ranks)


def _writer(checkpoint_id: Any, storage_writer: StorageWriter | None) -> Any:
    if storage_writer is None:
        if checkpoint_id is None:
            raise RuntimeError(
                "`checkpoint_id` must be specified if storage_writer is None: the folder of the "
                "checkpoint" + errors.at_user_line()
            )
        storage_writer = FileSystemWriter(checkpoint_id)
    elif checkpoint_id is not None:
        storage_writer.path = os.fspath(checkpoint_id)  # type: ignore[attr-defined]  # of each
    return storage_writer


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: StorageWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    async_checkpointer_type: Any = None,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Metadata]:
    """Write a state dict as `save` does, while the program goes on.

    What the state dict holds now is copied before the call returns; a thread writes the copy,
    after those of earlier calls. The future has the metadata, or raises what went wrong.

    Args:
        state_dict, checkpoint_id, storage_writer, planner, process_group, no_dist: as for `save`
        async_checkpointer_type, async_stager, use_collectives: accepted

    Example:
        >>> import tempfile, clew.distributed.checkpoint as dcp
        >>> weight = clew.ones(2)
        >>> folder = tempfile.mkdtemp()
        >>> saving = dcp.async_save({"weight": weight}, checkpoint_id=folder)
        >>> copy = weight.zero_()  # the checkpoint has ones
        >>> metadata = saving.result()
        >>> state = {"weight": clew.zeros(2)}
        >>> dcp.load(state, checkpoint_id=folder)
        >>> state["weight"]
        tensor([1., 1.])
    """
    # A copy: the next call may send the same writer to another folder.
    writer = copy(_writer(checkpoint_id, storage_writer))
    states = _copied(states_of(state_dict))
    if not no_dist and dist.is_initialized():
        process_group = duplicate(process_group, "checkpoints")
    ranks = Together(process_group, alone=no_dist)
    return _in_thread(lambda: writer.write(states, planner or DefaultSavePlanner(), ranks))


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return value.detach().clone() if isinstance(value, Tensor) else deepcopy(value)


# What each process has begun last: all ranks write their checkpoints in one order.
_begun: dict[int, Future[Metadata]] = {}


def _in_thread(write: Callable[[], Metadata]) -> Future[Metadata]:
    future: Future[Metadata] = Future()
    before = _begun.get(os.getpid())
    _begun[os.getpid()] = future

    def run() -> None:
        if before is not None:
            wait([before])
        try:
            future.set_result(write())
        except BaseException as error:  # the program asks the future
            future.set_exception(error)

    # No daemon: the program does not end before its checkpoint is written.
    threading.Thread(target=run, name="clew checkpoint").start()
    return future


def save_state_dict(state_dict: dict[str, Any], storage_writer: Any, **kwargs: Any) -> Metadata:
    """The former name of `save`."""
    kwargs.pop("coordinator_rank", None)
    return save(state_dict, storage_writer=storage_writer, **kwargs)
