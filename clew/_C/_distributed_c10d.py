"""Groups of processes by PyTorch's internal name; clew has one process (`clew.distributed`)."""

from clew.distributed import ProcessGroup, ReduceOp, Work
from clew.distributed.distributed_c10d import Store

__all__ = ["ProcessGroup", "ReduceOp", "Store", "Work"]
