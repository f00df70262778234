"""`torch.distributed.nn`: collectives that gradients go through."""

from clew.distributed.nn import functional
from clew.distributed.nn.functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)
from clew.distributed.refusing import Refused

__all__ = [
    "RemoteModule", "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast",
    "functional", "gather", "reduce", "reduce_scatter", "scatter",
]  # fmt: skip


class RemoteModule(Refused):
    """A module in another process. Making one raises."""
