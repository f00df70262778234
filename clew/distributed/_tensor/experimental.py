"""The former place of `torch.distributed.tensor.experimental`."""

from clew.distributed.tensor.experimental import context_parallel, implicit_replication, local_map

__all__ = ["context_parallel", "implicit_replication", "local_map"]
