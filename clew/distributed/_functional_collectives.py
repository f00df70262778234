"""Collectives as functions without side effects: calling one raises."""

from clew.distributed.refusing import Refused, refused

__all__ = [
    "AsyncCollectiveTensor", "all_gather_tensor", "all_reduce", "all_to_all_single", "broadcast",
    "reduce_scatter_tensor", "wait_tensor",
]  # fmt: skip


class AsyncCollectiveTensor(Refused):
    """A result that is still on its way: for `isinstance`."""


all_reduce, broadcast = refused("all_reduce"), refused("broadcast")
all_gather_tensor = refused("all_gather_tensor")
reduce_scatter_tensor = refused("reduce_scatter_tensor")
all_to_all_single, wait_tensor = refused("all_to_all_single"), refused("wait_tensor")
