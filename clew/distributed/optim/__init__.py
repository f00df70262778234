"""`torch.distributed.optim`: optimizers whose state lies in parts."""

from __future__ import annotations

from clew.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from clew.distributed.optim.zero import ZeroRedundancyOptimizer
from clew.distributed.refusing import Refused

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


class DistributedOptimizer(Refused):
    """An optimizer of parameters in other processes. Making one raises."""
