"""Remote calls by PyTorch's internal name; clew has none (`clew.distributed.rpc`)."""

from clew.distributed.rpc import RpcBackendOptions, WorkerInfo

__all__ = ["RpcBackendOptions", "WorkerInfo", "_is_current_rpc_agent_set"]


def _is_current_rpc_agent_set() -> bool:
    """Whether this process takes remote calls: no."""
    return False
