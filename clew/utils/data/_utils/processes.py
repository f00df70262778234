"""The worker processes of one loader, as the loader's process sees them."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import time
import warnings
import weakref
from multiprocessing import connection
from typing import Any

from clew.source import user_stacklevel
from clew.utils.data._utils.channel import Channel, Message
from clew.utils.data._utils.worker import (
    MP_STATUS_CHECK_INTERVAL,
    RESUME,
    STOP,
    WorkerTask,
    _worker_loop,
)


class WorkerDied(RuntimeError):
    """A worker process has ended although nobody asked it to."""


class Workers:
    """Starts worker processes, sends them requests, waits for their answers, and ends them."""

    def __init__(self, context: Any, tasks: list[WorkerTask]) -> None:
        self.processes: list[Any] = []
        self.channels: list[Channel] = []
        # Also runs when the interpreter exits; it must not refer to what it ends the life of.
        self.close = weakref.finalize(self, _end, os.getpid(), self.processes, self.channels)
        try:
            for task in tasks:
                self._start(context, task)
        except BaseException:  # an interrupt too leaves no process
            self.close()
            raise

    def _start(self, context: Any, task: WorkerTask) -> None:
        near, far = context.Pipe(duplex=True)
        self.channels.append(Channel(near))
        is_fork = context.get_start_method() == "fork"
        inherited = [channel.connection for channel in self.channels] if is_fork else []
        process = context.Process(target=_worker_loop, args=(task, far, inherited), daemon=True)
        try:
            process.start()
        except (TypeError, AttributeError, pickle.PicklingError):
            warnings.warn(
                "Got pickle error when attempting to start a worker Process. This might be because "
                "the worker Process arguments are not picklable. The start method "
                f"'{context.get_start_method()}' pickles the dataset, collate_fn and "
                "worker_init_fn; multiprocessing.set_start_method('fork') does not.",
                stacklevel=user_stacklevel(),
            )
            raise
        finally:
            # Only the worker may hold its end: then the end of the worker is the end of the file.
            far.close()
        self.processes.append(process)

    def send(self, worker: int, epoch: int, task: int, index: Any) -> None:
        """Ask a worker for a batch."""
        try:
            self.channels[worker].send(epoch, task, index)
        except (BrokenPipeError, ConnectionResetError):
            raise self._death(worker) from None

    def resume(self, epoch: int) -> None:
        """Ask all workers to start the next epoch."""
        for worker in range(len(self.processes)):
            self.send(worker, epoch, RESUME, None)

    def ready(self, timeout: float) -> list[int]:
        """Wait for answers: the workers from whom one has arrived."""
        deadline = time.monotonic() + timeout if timeout else float("inf")
        workers = {channel.connection: n for n, channel in enumerate(self.channels)}
        while True:
            left = max(deadline - time.monotonic(), 0)
            ready = connection.wait(workers, min(left, MP_STATUS_CHECK_INTERVAL))
            if ready:
                return [workers[each] for each in ready]  # type: ignore[index]  # as asked for
            # A process that a dead worker has left behind may keep its end of the channel open.
            for worker, process in enumerate(self.processes):
                if not process.is_alive():
                    raise self._death(worker)
            if time.monotonic() >= deadline:
                raise RuntimeError(
                    f"DataLoader timed out after {timeout} seconds\n  No worker has sent a batch."
                )

    def receive(self, worker: int) -> tuple[int, int, Message]:
        """The next answer of a worker: its epoch, task and message."""
        try:
            return self.channels[worker].receive()
        except (EOFError, ConnectionResetError):
            raise self._death(worker) from None

    def _death(self, worker: int) -> WorkerDied:
        """The error for a worker that has died; the others are ended."""
        # The channel closes a moment before the process can be asked for its exit code.
        self.processes[worker].join(MP_STATUS_CHECK_INTERVAL)
        dead = [process for process in self.processes if process.exitcode is not None]
        pids = ", ".join(str(process.pid) for process in dead or [self.processes[worker]])
        reasons = " ".join(_reason(process) for process in dead)
        self.close()
        return WorkerDied(f"DataLoader worker (pid(s) {pids}) exited unexpectedly\n  {reasons}")


def _reason(process: Any) -> str:
    if process.exitcode >= 0:
        return (
            f"Process {process.pid} ended with exit code {process.exitcode}; with num_workers=0 "
            "the same samples are loaded in this process, where errors show."
        )
    name = signal.Signals(-process.exitcode).name
    text = f"Process {process.pid} was killed by signal {name}."
    if name == "SIGKILL":
        text += " This is how the system ends processes when memory runs out."
    return text


def _end(owner: int, processes: list[Any], channels: list[Channel]) -> None:
    """End the workers: by asking first, by force if they do not listen."""
    if os.getpid() != owner:
        # A forked process has a copy of this object, but not these children.
        return
    try:
        _ask_to_end(processes, channels)
    except BaseException:
        # An interrupt: nobody is to wait any longer.
        for process in processes:
            process.kill()
            process.join()
        raise
    finally:
        # The processes are joined by now; whoever holds them may still ask whether they live.
        for channel in channels:
            channel.close()


def _ask_to_end(processes: list[Any], channels: list[Channel]) -> None:
    for channel in channels:
        # A worker that has died already cannot be asked.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            channel.send(0, STOP, None)
    deadline = time.monotonic() + MP_STATUS_CHECK_INTERVAL
    for force in (None, "terminate", "kill"):
        for process in processes:
            if force is not None and process.is_alive():
                getattr(process, force)()
        for process in processes:
            process.join(max(deadline - time.monotonic(), 0.1))
        deadline = time.monotonic() + 1.0
