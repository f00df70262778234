"""Starts several processes, which clew does not have."""

from clew.distributed.refusing import Refused

__all__ = ["LaunchConfig", "elastic_launch"]


class LaunchConfig(Refused):
    """How processes are started. Making one raises."""


class elastic_launch(Refused):
    """Starts processes. Making one raises."""
