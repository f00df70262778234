"""Modules over several devices or processes, of which there is one of each here."""

from clew.nn.parallel.data_parallel import DataParallel
from clew.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
