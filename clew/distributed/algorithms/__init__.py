"""`torch.distributed.algorithms`: ways for processes to agree on gradients, models, inputs."""

from clew.distributed.algorithms import ddp_comm_hooks, join
from clew.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable", "ddp_comm_hooks", "join"]
