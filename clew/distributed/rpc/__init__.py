"""`torch.distributed.rpc`: calls of functions in other processes. Calling it raises."""

from __future__ import annotations

from clew.distributed.refusing import Refused, refused

__all__ = [
    "PyRRef", "RRef", "RpcBackendOptions", "TensorPipeRpcBackendOptions", "WorkerInfo",
    "get_worker_info", "init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown",
]  # fmt: skip


def is_available() -> bool:
    """Whether functions can be called in other processes: no."""
    return False


class RRef(Refused):
    """A value in another process. Making one raises."""


PyRRef = RRef


class WorkerInfo(Refused):
    """A process that takes calls. Making one raises."""


class RpcBackendOptions(Refused):
    """How processes talk. Making one raises."""


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """How processes talk. Making one raises."""


init_rpc, shutdown, remote = refused("init_rpc"), refused("shutdown"), refused("remote")
rpc_sync, rpc_async = refused("rpc_sync"), refused("rpc_async")
get_worker_info = refused("get_worker_info")
