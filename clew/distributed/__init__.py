"""Several processes that train together, in the words of `torch.distributed`, over MPI.

A program is started once for each rank, by `clew launch -n 4 train.py` or by an MPI of one's own
(`mpirun`, `srun`); `init_process_group` finds the others. One process needs no MPI.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from clew import errors
from clew.aliasing import on_request
from clew.distributed.backends import (
    Backend,
    BackendConfig,
    DebugLevel,
    get_backend_config,
    get_debug_level,
    get_default_backend_for_device,
    get_pg_count,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    known_backend,
)
from clew.distributed.coalescing import (
    _coalescing_manager,
    all_gather_coalesced,
    all_reduce_coalesced,
)
from clew.distributed.collectives import (
    ReduceOp,
    all_reduce,
    barrier,
    broadcast,
    monitored_barrier,
    reduce,
)
from clew.distributed.collectives_in_parts import (
    all_gather,
    all_gather_into_tensor,
    all_to_all,
    all_to_all_single,
    gather,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from clew.distributed.constants import default_pg_timeout
from clew.distributed.file_stores import FileStore, TCPStore
from clew.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from clew.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from clew.distributed.rendezvous import register_rendezvous_handler, rendezvous
from clew.distributed.runtime import world
from clew.distributed.runtime.process_group import ProcessGroup
from clew.distributed.runtime.work import Work
from clew.distributed.stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
)

__all__ = [
    "Backend", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore",
    "GroupMember", "HashStore", "P2POp", "PrefixStore", "QueueEmptyError", "Store", "TCPStore",
    "BackendConfig", "DebugLevel", "_coalescing_manager", "all_gather_coalesced",
    "all_reduce_coalesced",
    "get_backend_config", "get_debug_level", "get_pg_count", "is_backend_available",
    "is_xccl_available", "register_rendezvous_handler", "rendezvous",
    "default_pg_timeout", "DeviceMesh", "GradBucket", "init_device_mesh", "ProcessGroup",
    "ReduceOp", "Work",
    "group", "init_process_group",
    "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "destroy_process_group", "get_default_backend_for_device", "new_group", "new_subgroups",
    "new_subgroups_by_enumeration", "split_group",
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "gather",
    "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks",
    "get_rank", "get_world_size", "get_node_local_rank", "irecv", "isend", "monitored_barrier",
    "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list",
    "send", "batch_isend_irecv", "recv_object_list", "send_object_list",
]  # fmt: skip


# -- groups by name --------------------------------------------------------------------------------


class _DefaultGroup(type):
    """`WORLD` is looked up when it is asked for."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all ranks; None before `init_process_group`."""
        return world.WORLD.default


class group(metaclass=_DefaultGroup):
    """Names of groups: `group.WORLD` is that of all ranks."""


class GroupMember(metaclass=_DefaultGroup):
    """Names of groups, and what `new_group` gives to those who are not in it."""

    NON_GROUP_MEMBER = world.NON_GROUP_MEMBER


def is_initialized() -> bool:
    """Whether this process is one of a group.

    Example:
        >>> import clew.distributed as dist
        >>> dist.is_initialized()
        False
    """
    return world.WORLD.default is not None


# -- in and out ------------------------------------------------------------------------------------


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Become one of the ranks that were started together. MPI says who they are.

    Args:
        backend: `mpi`, or `gloo`, which means the same; None is `mpi`
        init_method: accepted; MPI knows the others, and stores need no address
        timeout: after how long a rank that waits in vain ends the job; 30 minutes if not given
        world_size: if given, the number of ranks that must have been started
        rank: if given, the rank that this process must have
        store: what `distributed_c10d._get_default_store()` returns; MPI needs none
        group_name: accepted
        pg_options: accepted
        device_id: accepted; there is one device

    Example:
        >>> import clew.distributed as dist
        >>> dist.init_process_group("gloo")
        >>> dist.get_rank(), dist.get_world_size()
        (0, 1)
        >>> dist.destroy_process_group()
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    world.enter(known_backend(backend), timeout, rank, world_size)
    world.WORLD.store = store


def destroy_process_group(group: Any = None) -> None:
    """End a group; without one, all of them."""
    world.destroy(group)


# -- ranks -----------------------------------------------------------------------------------------


def get_rank(group: Any = None) -> int:
    """This process's rank in a group; -1 outside of it."""
    found = world.resolve(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """The number of ranks in a group; -1 outside of it."""
    found = world.resolve(group)
    return -1 if found is None else found.size()


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's rank among those on its machine."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return fallback_rank
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work" + errors.at_user_line()
    )


def get_backend(group: Any = None) -> str:
    """The name of the backend that was asked for."""
    found = world.resolve(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found.backend


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks, counted in the world, of a group."""
    found = world.resolve(group)
    return [] if found is None else list(found.ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank in the world of a rank in a group."""
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank in a group of a rank in the world."""
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


# -- groups ----------------------------------------------------------------------------------------


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some ranks. All ranks call it, also those that are not in it.

    Args:
        ranks: which; None is all of them
        timeout: as for `init_process_group`, whose is taken if not given
        backend: as for `init_process_group`
        pg_options: accepted
        use_local_synchronization: accepted; all ranks take part
        group_desc: accepted
        device_id: accepted; there is one device
    """
    kind = None if backend is None else known_backend(backend)
    return world.make_group(ranks, timeout, kind)


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of neighbouring ranks, all of one size: this rank's, and the list of all."""
    size = get_world_size()
    each = size if group_size is None else group_size
    if each <= 0 or size % each:
        raise ValueError("The world size must be divisible by 'group_size'")
    parts = [list(range(first, first + each)) for first in range(0, size, each)]
    return new_subgroups_by_enumeration(parts, timeout, backend)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of listed ranks: this rank's (None if it is in none), and the list of all."""
    groups = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    mine = [each for each in groups if each != world.NON_GROUP_MEMBER]
    return (mine[0] if mine else None), groups


def split_group(
    parent_pg: Any = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> Any:
    """The group that this rank belongs to when a group is split into listed ones."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = get_process_group_ranks(parent_pg)
    listed = [[parent[place] for place in part] for part in split_ranks]
    return new_subgroups_by_enumeration(listed, timeout)[0]


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process is not in a group."""
    return group is not None and world.resolve(group) is None


# Former names.
_all_gather_base, _reduce_scatter_base = all_gather_into_tensor, reduce_scatter_tensor

# Imported when they are first asked for.
__getattr__, __dir__ = on_request(
    __name__,
    {
        "algorithms", "autograd", "checkpoint", "device_mesh", "distributed_c10d", "elastic",
        "fsdp", "nn",
        "optim", "rpc", "tensor", "launcher",
    },
    {
        "DeviceMesh": "device_mesh", "init_device_mesh": "device_mesh",
        "GradBucket": "data_parallel.reducer",
    },
)  # fmt: skip
