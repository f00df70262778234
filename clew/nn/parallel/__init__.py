"""Modules over several devices or processes, of which there is one of each here."""

from clew.nn.parallel.data_parallel import DataParallel, data_parallel
from clew.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
