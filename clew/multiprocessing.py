"""Python's multiprocessing, with tensors: what users reach as `clew.multiprocessing`.

Tensors travel through queues, pipes and arguments of processes. Those in shared memory
(`share_memory_()`) arrive as tensors over the same memory, all others as copies.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing import *  # noqa: F403  (this module stands in for Python's)
from multiprocessing import connection, reduction
from typing import Any

from clew.core.tensor import Tensor
from clew.nn.parameter import Parameter
from clew.ops.tensor.shared_memory import reduce_tensor

__all__ = [
    *multiprocessing.__all__,
    "set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies",
    "spawn", "start_processes", "ProcessContext", "SpawnContext", "ProcessException",
    "ProcessRaisedException", "ProcessExitedException",
]  # fmt: skip


# -- tensors between processes ---------------------------------------------------------------


for _kind in (Tensor, Parameter):
    reduction.ForkingPickler.register(_kind, reduce_tensor)

# Shared memory has no name, so there is only PyTorch's default strategy; the other is accepted
# because programs choose it to avoid limits that do not exist here.
_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how tensors are shared; both of PyTorch's names stand for the same way here."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {_STRATEGIES}"
        )
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """The name that `set_sharing_strategy` was last given."""
    return _strategy


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return set(_STRATEGIES)


# -- groups of processes ---------------------------------------------------------------------


class ProcessException(Exception):
    """One of a group of processes has failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """One of a group of processes has raised an exception."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """One of a group of processes was killed or has exited with an error code."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        facts = (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)
        return type(self), facts


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], error_file: str) -> None:
    """Call the user's function; leave the text of what it raises in a file."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        # Ctrl-C reaches all processes of a terminal: the parent reports it.
        return
    except Exception:  # the parent raises it
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """A group of processes, to be waited for."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: place for place, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until some end; True once all have. If one fails, end the others and raise.

        The others are asked to end, and killed if they have not after `grace_period` seconds
        (30 if not given).
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in connection.wait(self.sentinels.keys(), timeout=timeout):
            place = self.sentinels.pop(sentinel)
            self.processes[place].join()
            if self.processes[place].exitcode != 0:
                failed = place
                break
        if failed is None:
            return not self.sentinels
        self._end_all(30.0 if grace_period is None else grace_period)
        raise self._error_of(failed)

    def _end_all(self, grace_period: float) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        deadline = time.monotonic() + grace_period
        for process in self.processes:
            process.join(max(deadline - time.monotonic(), 0))
            if process.is_alive():
                process.kill()
                process.join()

    def _error_of(self, place: int) -> ProcessException:
        process, error_file = self.processes[place], self.error_files[place]
        if os.path.getsize(error_file):
            with open(error_file, "rb") as file:
                text = pickle.load(file)
            message = f"\n\n-- Process {place} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, place, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            message = f"process {place} terminated with signal {name}"
            return ProcessExitedException(message, place, process.pid, code, name)
        message = f"process {place} terminated with exit code {code}"
        return ProcessExitedException(message, place, process.pid, code)

    def __del__(self) -> None:
        for error_file in self.error_files:
            if os.path.exists(error_file):
                os.unlink(error_file)


class SpawnContext(ProcessContext):
    """The group that `spawn` returns when it is told not to wait."""


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes; an error in one ends all and is raised here."""
    context: Any = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for index in range(nprocs):
        handle, error_file = tempfile.mkstemp(prefix="clew-errorfile-", suffix=".pickle")
        os.close(handle)
        process = context.Process(target=_run, args=(fn, index, args, error_file), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(error_file)
    group = ProcessContext(processes, error_files)
    if not join:
        return group
    while not group.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` new processes; an error in one ends all and is raised here."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method)
