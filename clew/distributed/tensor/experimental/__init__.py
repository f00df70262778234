"""Trials of PyTorch's over distributed tensors: calling one raises."""

from clew.distributed.refusing import refused

__all__ = ["context_parallel", "implicit_replication", "local_map"]

context_parallel = refused("context_parallel")
implicit_replication = refused("implicit_replication")
local_map = refused("local_map")
