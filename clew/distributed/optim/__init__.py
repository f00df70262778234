"""`torch.distributed.optim`: optimizers whose state lies in parts. Making one raises."""

from __future__ import annotations

from clew.distributed.refusing import Refused
from clew.optim.optimizer import Optimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Refused, Optimizer):
    """An optimizer whose state lies in parts: for `isinstance`. Making one raises."""


class PostLocalSGDOptimizer(Refused, Optimizer):
    """An optimizer that averages models: for `isinstance`. Making one raises."""


class DistributedOptimizer(Refused):
    """An optimizer of parameters in other processes. Making one raises."""
