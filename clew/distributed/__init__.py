"""Several processes that train together: clew does not have it, and says so when it is asked.

`is_available()` and `is_initialized()` are False, so that programs which ask go on alone. The other
names exist because programs import them in any case; calling one raises.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NoReturn

from clew import errors
from clew.aliasing import on_request
from clew.distributed.constants import default_pg_timeout
from clew.distributed.refusing import Refused

__all__ = [
    "Backend", "FileStore", "GroupMember", "HashStore", "P2POp", "Store", "TCPStore",
    "default_pg_timeout", "DeviceMesh", "init_device_mesh", "ProcessGroup", "ReduceOp", "Work",
    "group", "init_process_group",
    "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "destroy_process_group", "new_group",
]  # fmt: skip


def is_available() -> bool:
    """Whether processes can train together: no."""
    return False


def is_initialized() -> bool:
    """Whether this process is one of a group: no."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether the process was started by torchrun as one of a group: groups do not exist."""
    return False


is_nccl_available = is_gloo_available = is_mpi_available = is_ucc_available = is_available


class ReduceOp(enum.Enum):
    """How the tensors of several processes become one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class ProcessGroup:
    """For annotations: there are no groups."""


class Work:
    """For annotations: there is no communication to wait for."""


class Backend(str):
    """The name of a way for processes to talk."""

    GLOO, NCCL, MPI, UCC, XCCL, UNDEFINED = "gloo", "nccl", "mpi", "ucc", "xccl", "undefined"


class P2POp(Refused):
    """A message to another process. Making one raises."""


class Store(Refused):
    """Values that processes share. Making one raises."""


class TCPStore(Store):
    """Values that processes share over a network. Making one raises."""


class FileStore(Store):
    """Values that processes share through a file. Making one raises."""


class HashStore(Store):
    """Values that threads share. Making one raises."""


class group:
    """Names of groups."""

    WORLD: ProcessGroup | None = None


class GroupMember:
    """Names of groups."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> NoReturn:
    """Raises: processes cannot form a group."""
    raise RuntimeError(
        "init_process_group: clew trains in one process and has no torch.distributed. Start the "
        "program without torchrun, or leave this out when torch.distributed.is_available() is "
        "False." + errors.at_user_line()
    )


def new_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: processes cannot form a group."""
    _no_group()


def destroy_process_group(group: ProcessGroup | None = None) -> NoReturn:
    """Raises: there is no group."""
    raise AssertionError(
        "Process group cannot be None: no group was made, because clew has no torch.distributed"
        + errors.at_user_line()
    )


def _no_group() -> NoReturn:
    raise ValueError(
        "Default process group has not been initialized, please make sure to call "
        "init_process_group. clew trains in one process and has no torch.distributed: ask "
        "torch.distributed.is_initialized() first." + errors.at_user_line()
    )


def _needs_group(name: str) -> Callable[..., NoReturn]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        """Raises: there is no group of processes."""
        _no_group()

    refused.__name__ = refused.__qualname__ = name
    return refused


_COLLECTIVES = (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "gather",
    "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks",
    "get_rank", "get_world_size", "irecv", "isend", "monitored_barrier", "recv", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
    "batch_isend_irecv", "recv_object_list", "send_object_list", "split_group",
)  # fmt: skip
globals().update({name: _needs_group(name) for name in _COLLECTIVES})
__all__ += _COLLECTIVES


def _rank_not_in_group(group: ProcessGroup | None) -> bool:
    """Whether this process is not in a group: there is none to be outside of."""
    return False


# Imported when they are first asked for.
__getattr__, __dir__ = on_request(
    __name__,
    {
        "algorithms", "checkpoint", "device_mesh", "distributed_c10d", "elastic", "fsdp", "nn",
        "optim", "rpc", "tensor",
    },
    {"DeviceMesh": "device_mesh", "init_device_mesh": "device_mesh"},
)  # fmt: skip
