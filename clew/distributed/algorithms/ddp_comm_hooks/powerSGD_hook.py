"""Hooks that exchange gradients as products of thin matrices: using one raises."""

from clew.distributed.refusing import Refused, refused

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState(Refused):
    """What the hook remembers. Making one raises."""


powerSGD_hook = refused("powerSGD_hook")
batched_powerSGD_hook = refused("batched_powerSGD_hook")
