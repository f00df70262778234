"""`load`: a state dict filled from a checkpoint, in other parts than it was written."""

from __future__ import annotations

import os
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.distributed.checkpoint import together
from clew.distributed.checkpoint.api import CheckpointException
from clew.distributed.checkpoint.default_planner import DefaultLoadPlanner
from clew.distributed.checkpoint.filesystem import FileSystemReader
from clew.distributed.checkpoint.planner import LoadPlanner
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
        planner: who reads what, and where it goes; by default a `DefaultLoadPlanner`
        process_group: the ranks; None is all of them
        no_dist: this process reads by itself
    """
    reader = _reader(checkpoint_id, storage_reader)
    ranks = together.Together(process_group, alone=no_dist)
    states = states_of(state_dict)
    _fill(states, reader, planner or DefaultLoadPlanner(), ranks)
    for name, value in list(state_dict.items()):
        if isinstance(value, Stateful) and not isinstance(value, Tensor):
            value.load_state_dict(states[name])
        else:
            state_dict[name] = states[name]


def _reader(checkpoint_id: Any, storage_reader: StorageReader | None) -> StorageReader:
    if storage_reader is None:
        if checkpoint_id is None:
            raise RuntimeError(
                "`checkpoint_id` must be specified if storage_reader is None: the folder of the "
                "checkpoint" + errors.at_user_line()
            )
        storage_reader = FileSystemReader(checkpoint_id)
    elif checkpoint_id is not None:
        storage_reader.path = os.fspath(checkpoint_id)  # type: ignore[attr-defined]  # of each
    return storage_reader


def _fill(
    states: dict[str, Any], reader: StorageReader, planner: LoadPlanner, ranks: together.Together
) -> None:
    """Fill a state dict as a planner plans. Nothing is changed before the plan is made."""
    try:
        planner.set_up_planner(states, reader.read_metadata(), ranks.rank == 0)
        plan = planner.create_local_plan()
    except Exception as error:  # whatever it is, PyTorch raises it so
        raise CheckpointException("read", {ranks.rank: error}) from error
    # The default plan for all is what each plans for itself: ranks need not meet.
    if type(planner).create_global_plan is not DefaultLoadPlanner.create_global_plan:
        plans = ranks.gathered(plan)
        plan = ranks.first("read", lambda: planner.create_global_plan(plans))[ranks.rank]
    reader.read(planner.finish_plan(plan), planner)


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """Fill a state dict, also an empty one with all that there is."""
    ranks = together.Together(process_group, alone=no_dist)
    _fill(state_dict, storage_reader, planner or DefaultLoadPlanner(), ranks)


def load_state_dict(state_dict: dict[str, Any], storage_reader: Any, **kwargs: Any) -> None:
    """The former name of `load`."""
    load(state_dict, storage_reader=storage_reader)
