"""`torch.distributed.rpc`: calls of functions in other processes. Calling it raises."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from clew import errors
from clew.distributed.refusing import Refused, refused

__all__ = [
    "BackendType", "PyRRef", "RRef", "RpcBackendOptions", "TensorPipeRpcBackendOptions",
    "WorkerInfo", "get_worker_info", "init_rpc", "is_available", "remote", "rpc_async",
    "rpc_sync", "shutdown",
]  # fmt: skip


def is_available() -> bool:
    """Whether functions can be called in other processes: no."""
    return False


class RRef(Refused):
    """A value in another process. Making one raises."""


PyRRef = RRef


class WorkerInfo(Refused):
    """A process that takes calls. Making one raises."""


class BackendType(enum.Enum):
    """The ways in which processes talk: none is there to be used."""

    TENSORPIPE = "tensorpipe"


class RpcBackendOptions(Refused):
    """How processes talk. Making one raises."""


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """How processes talk. Making one raises."""


def init_rpc(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises, and says what there is in its place.

    Args:
        name: the name of this process
        args, kwargs: accepted
    """
    raise RuntimeError(
        "init_rpc: ranks of clew call no functions of each other; let each rank run its own part, "
        "and exchange tensors with torch.distributed's send, recv and collectives, or, with "
        "gradients, those of torch.distributed.nn.functional" + errors.at_user_line()
    )


shutdown, remote = refused("shutdown"), refused("remote")
rpc_sync, rpc_async = refused("rpc_sync"), refused("rpc_async")
get_worker_info = refused("get_worker_info")
