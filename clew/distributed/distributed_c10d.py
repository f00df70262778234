"""The names of `torch.distributed` at the place where PyTorch defines them."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from clew import distributed
from clew.backend.device import device
from clew.core.tensor import Tensor, wrap
from clew.distributed import (
    Backend,
    GroupMember,
    P2POp,
    PrefixStore,
    ProcessGroup,
    ReduceOp,
    Store,
    Work,
    group,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
)
from clew.distributed.refusing import refused_class
from clew.distributed.rendezvous import default_store
from clew.distributed.runtime import world
from clew.distributed.runtime.world import default_group

__all__ = [
    "Backend", "GroupMember", "P2POp", "PrefixStore", "ProcessGroup", "ReduceOp", "Store", "Work",
    "_get_default_group", "_get_global_rank", "default_pg_timeout", "group", "init_process_group",
    "is_available", "is_initialized", "new_group", "reduce_op",
]  # fmt: skip

default_pg_timeout = distributed.default_pg_timeout
_get_global_rank = distributed.get_global_rank
_rank_not_in_group = distributed._rank_not_in_group
_get_default_group, _get_default_store = default_group, default_store
# The former name of the reductions, and of groups by their backends, for `isinstance`.
reduce_op = ReduceOp
ProcessGroupGloo = ProcessGroupMPI = ProcessGroup
ProcessGroupNCCL = refused_class("ProcessGroupNCCL", __name__)


def _get_pg_default_device(group: Any = None) -> device:
    """The device whose tensors a group moves."""
    return device("cpu")


_get_object_coll_device = _get_pg_default_device


def _get_process_group_name(pg: ProcessGroup) -> str:
    """The name of a group."""
    return pg.name


def _resolve_process_group(group_name: str) -> ProcessGroup:
    """The group of a name."""
    return world.GROUPS[group_name]


def _object_to_tensor(obj: Any, device: Any = None, group: Any = None) -> tuple[Tensor, Tensor]:
    """An object as bytes in a tensor, and their number."""
    data = np.frombuffer(pickle.dumps(obj), np.uint8).copy()
    return wrap(data), wrap(np.array([data.size], np.int64))


def _tensor_to_object(tensor: Tensor, tensor_size: Any, group: Any = None) -> Any:
    """The object of such a tensor, which this program has made."""
    return pickle.load(io.BytesIO(tensor._array.tobytes()[: int(tensor_size)]))


def __getattr__(name: str) -> Any:
    return getattr(distributed, name)
