"""Averages of models over processes: making one raises."""

from clew.distributed.refusing import Refused

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(Refused):
    """Averages models. Making one raises."""


class PeriodicModelAverager(ModelAverager):
    """Averages models every few steps. Making one raises."""
