"""Modules over several devices, of which there is one, and over several processes."""

from clew.aliasing import on_request
from clew.nn.parallel.data_parallel import DataParallel
from clew.nn.parallel.parallel_apply import parallel_apply
from clew.nn.parallel.replicate import replicate
from clew.nn.parallel.scatter_gather import gather, scatter

__all__ = [
    "DataParallel", "DistributedDataParallel", "gather", "parallel_apply", "replicate", "scatter",
]  # fmt: skip

# Imported when it is first asked for.
__getattr__, __dir__ = on_request(
    __name__, {"distributed"}, {"DistributedDataParallel": "distributed"}
)
