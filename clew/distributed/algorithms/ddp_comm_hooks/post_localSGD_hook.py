"""Hooks that exchange gradients among neighbours at first: using one raises."""

from clew.distributed.refusing import Refused, refused

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState(Refused):
    """What the hook remembers. Making one raises."""


post_localSGD_hook = refused("post_localSGD_hook")
