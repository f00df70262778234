"""Gradients through remote calls, which clew does not have; those of collectives it has."""

from clew.distributed.refusing import Refused, refused

__all__ = ["backward", "context", "get_gradients", "is_available"]


def is_available() -> bool:
    """Whether gradients go through remote calls: no."""
    return False


class context(Refused):
    """A backward pass over several processes. Making one raises."""


backward, get_gradients = refused("backward"), refused("get_gradients")
