"""Errors of the processes of a training run. `record` reports to nobody, and lets errors pass."""

from __future__ import annotations

from typing import Any, TypeVar

from clew.distributed.refusing import Refused

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "record"]

F = TypeVar("F")


class ChildFailedError(Exception):
    """A process has failed: for `except`."""


class ProcessFailure(Refused):
    """What is known of a process that failed. Making one raises."""


class ErrorHandler(Refused):
    """Writes errors to files. Making one raises."""


def record(fn: F, error_handler: Any = None) -> F:
    """The function itself: its errors go to whoever calls it."""
    return fn
