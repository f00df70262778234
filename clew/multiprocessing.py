"""Python's multiprocessing, with tensors: what users reach as `clew.multiprocessing`.

Tensors travel through queues, pipes and arguments of processes. Those in shared memory
(`share_memory_()`) arrive as tensors over the same memory, all others as copies.
"""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from multiprocessing import *  # noqa: F403  (this module stands in for Python's)
from multiprocessing import connection, reduction
from typing import Any

from clew import errors
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


def _ended(place: int, pid: int, code: int) -> ProcessExitedException:
    """The error of a process that was killed (a negative code) or has exited."""
    if code < 0:
        name = signal.Signals(-code).name
        message = f"process {place} terminated with signal {name}"
        return ProcessExitedException(message, place, pid, code, name)
    message = f"process {place} terminated with exit code {code}"
    return ProcessExitedException(message, place, pid, code)


class ProcessContext:
    """A group of processes, to be waited for."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: place for place, process in enumerate(processes)}
        weakref.finalize(self, _remove, error_files)

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
        return _ended(place, process.pid, process.exitcode)


def _remove(paths: list[str]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _run_as_rank(fn: Callable[..., Any], args: tuple[Any, ...], nprocs: int) -> None:
    if nprocs == 0:
        raise RuntimeError(
            "the program starts 0 processes: it seems to count GPUs, and there are none. Let it "
            f"start {os.environ['WORLD_SIZE']}, the number of ranks" + errors.at_user_line()
        )
    if nprocs != int(os.environ["WORLD_SIZE"]):
        raise RuntimeError(
            f"the program starts {nprocs} processes and runs as {os.environ['WORLD_SIZE']} ranks: "
            f"start the program with `clew launch -n {nprocs}`" + errors.at_user_line()
        )
    fn(int(os.environ["RANK"]), *args)


def _makes_group(fn: Callable[..., Any]) -> bool:
    launcher = importlib.import_module("clew.distributed.launcher.spawning")
    return bool(launcher.makes_group(fn))


def _run_over_mpi(fn: Callable[..., Any], args: tuple[Any, ...], nprocs: int) -> None:
    """Run the function in ranks of MPI, to their end."""
    launcher = importlib.import_module("clew.distributed.launcher.spawning")
    try:
        failure = launcher.run(fn, args, nprocs)
    except launcher.LaunchError as error:
        raise RuntimeError(f"{error}" + errors.at_user_line()) from None
    if failure is None:
        return
    if failure.rank < 0:
        raise RuntimeError(failure.title)
    if failure.text:
        place = f"\n\n-- Process {failure.rank} terminated with the following error:\n"
        raise ProcessRaisedException(place + failure.text, failure.rank, failure.pid)
    code = 128 - failure.status if failure.title.startswith("was killed") else failure.status
    raise _ended(failure.rank, failure.pid, code)


class SpawnContext(ProcessContext):
    """The group that `spawn` returns when it is told not to wait."""


class _RanksContext(SpawnContext):
    """Ranks of MPI, which a thread follows."""

    def __init__(self, run: Callable[[], None]) -> None:
        super().__init__([], [])
        self._end = ThreadPoolExecutor(1, "clew ranks").submit(run)

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all have ended, and raise what was wrong with one; False after `timeout`."""
        if not wait([self._end], timeout).done:
            return False
        self._end.result()
        return True


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes; an error in one ends all and is raised here.

    Under `clew launch` the processes are there: each rank calls the function for itself. A function
    that calls `init_process_group` runs in processes that MPI has started.
    """
    if os.environ.get("CLEW_LAUNCH") == "1" and "RANK" in os.environ:
        _run_as_rank(fn, args, nprocs)
        return None
    if nprocs > 1 and _makes_group(fn):
        run = partial(_run_over_mpi, fn, args, nprocs)
        return run() if join else _RanksContext(run)
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
