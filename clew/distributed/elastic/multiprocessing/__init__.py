"""Processes of a training run, and the errors that they report."""

from clew.distributed.elastic.multiprocessing import errors
from clew.distributed.refusing import refused

__all__ = ["errors", "start_processes"]

start_processes = refused("start_processes")
