"""`DistributedDataParallel` at the place where PyTorch defines it."""

from clew.distributed.data_parallel.module import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
