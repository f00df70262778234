"""Signals of worker processes, by the names that loaders of other packages call.

PyTorch's handlers raise in the main thread when a worker dies. clew's loader learns it from its
channel (`processes.py`), and other loaders look at times whether their workers live, so that these
functions have nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__: list[str] = []


def _set_worker_pids(loader: int, pids: Iterable[int]) -> None:
    """Name the processes that a handler would watch."""


def _remove_worker_pids(loader: int) -> None:
    """Name a loader whose processes a handler would no longer watch."""


def _set_SIGCHLD_handler() -> None:
    """Set the handler of the main process."""


def _set_worker_signal_handlers() -> None:
    """Set the handlers of a worker."""
