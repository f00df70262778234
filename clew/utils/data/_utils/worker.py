"""What runs in a worker process of a loader."""

from __future__ import annotations

import multiprocessing
import os
import queue
import random
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import Any, NoReturn

import numpy as np

from clew.random import manual_seed
from clew.settings import set_num_threads
from clew.utils.data._utils.channel import Channel, Message
from clew.utils.data._utils.fetch import _BaseDatasetFetcher, _DatasetKind

MP_STATUS_CHECK_INTERVAL = 5.0
"""Seconds after which a process that waits looks whether the other side still lives."""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What `get_worker_info` tells: which worker this is, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a loader: its id, their number, its seed and its dataset.

    None in the main process.

    Example:
        >>> from clew.utils.data import DataLoader, IterableDataset, get_worker_info
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         info = get_worker_info()
        ...         return iter(range(4) if info is None else range(info.id, 4, info.num_workers))
        >>> get_worker_info() is None, list(DataLoader(Count(), batch_size=4))
        (True, [tensor([0, 1, 2, 3])])
    """
    return _worker_info


class _KeyErrorMessage(str):
    """A KeyError shows the repr of its message: this one is shown as it is, in lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception on its way to another process, with the text of its traceback."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.exc_type = type(error)
        self.exc_msg = "".join(traceback.format_exception(error))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise the exception here; one that cannot be made from a text as a RuntimeError."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(_KeyErrorMessage(text))
        try:
            error = self.exc_type(text)
        except Exception:  # the type's constructor is the program's own
            raise RuntimeError(text) from None
        raise error


class Exhausted:
    """The answer of a worker whose iterable dataset has no more samples."""


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """`Exhausted`, as PyTorch and the workers of other packages say it."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """The request for a new epoch, as PyTorch and the workers of other packages say it."""

    seed: int | None = None


class ManagerWatchdog:
    """Tells a worker process whether the one that started it still lives."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()

    def is_alive(self) -> bool:
        """Whether it lives; a process without a parent gets another one."""
        return os.getppid() == self.manager_pid


# Requests have the number of a task, or one of these: start a new epoch; end the process.
RESUME, STOP = -1, -2


@dataclass
class WorkerTask:
    """Everything that a worker needs to know, in a form that can be sent to a new process."""

    dataset_kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    worker_id: int
    num_workers: int
    # Who is told, in the worker's process, before and after each fetch.
    watchers: list[Any] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"in DataLoader worker process {self.worker_id}"

    def create_fetcher(self) -> _BaseDatasetFetcher:
        return _DatasetKind.create_fetcher(
            self.dataset_kind, self.dataset, self.auto_collation, self.collate_fn, self.drop_last
        )

    def start(self) -> None:
        """Seed this process's random streams and let the user's function prepare it."""
        global _worker_info
        set_num_threads(1)
        seed = self.base_seed + self.worker_id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(_generate_state(self.base_seed, self.worker_id))
        _worker_info = WorkerInfo(
            id=self.worker_id, num_workers=self.num_workers, seed=seed, dataset=self.dataset
        )
        if self.init_fn is not None:
            self.init_fn(self.worker_id)


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of NumPy's global stream in a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(entropy).generate_state(4)]


class Inbox:
    """Takes requests off the channel in a thread of its own.

    So the loader never waits to send a request, whatever the worker is doing. The thread also
    notices when the loader's process is gone and ends this one, even in the middle of a sample.
    """

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.epoch = 0
        self.requests: queue.SimpleQueue[tuple[int, int, Message] | None] = queue.SimpleQueue()
        self._parent_pid = os.getppid()
        threading.Thread(target=self._listen, name="clew-inbox", daemon=True).start()

    def get(self) -> tuple[int, int, Message] | None:
        """The next request of the current epoch; None when there will be no more."""
        while True:
            request = self.requests.get()
            if request is None or request[0] >= self.epoch:
                return request

    def _listen(self) -> None:
        parent = multiprocessing.parent_process()
        watched: list[Any] = [self.channel.connection]
        if parent is not None:
            watched.append(parent.sentinel)
        while True:
            ready = connection.wait(watched, MP_STATUS_CHECK_INTERVAL)
            if self.channel.connection in ready:
                if not self._take():
                    watched.remove(self.channel.connection)
            elif ready or os.getppid() != self._parent_pid:
                os._exit(1)

    def _take(self) -> bool:
        try:
            request = self.channel.receive()
        except (EOFError, OSError):
            self.requests.put(None)
            return False
        epoch, task, _ = request
        self.epoch = max(self.epoch, epoch)
        self.requests.put(None if task == STOP else request)
        return True


def _worker_loop(
    task: WorkerTask, pipe: connection.Connection, inherited: list[connection.Connection]
) -> None:
    """Answer the loader's requests until it closes the channel."""
    # A forked worker also has the loader's ends: while they are open, nobody sees an end of file.
    for other in inherited:
        other.close()
    try:
        channel = Channel(pipe)
        inbox = Inbox(channel)
        _Answers(task, channel).answer_all(inbox)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        # Ctrl-C reaches all processes of a terminal: the loader's process reports it. A broken
        # pipe means that the loader no longer wants the answer.
        return


class _Answers:
    """Fetches batches and sends them, or what went wrong instead."""

    def __init__(self, task: WorkerTask, channel: Channel) -> None:
        self.task = task
        self.channel = channel
        self.fetcher: _BaseDatasetFetcher | None = None
        self.init_error: ExceptionWrapper | None = None
        self.exhausted = False

    def answer_all(self, inbox: Inbox) -> None:
        try:
            self.task.start()
            self.fetcher = self.task.create_fetcher()
        except Exception as error:  # the main process raises it
            self.init_error = ExceptionWrapper(error, self.task.where)
        while (request := inbox.get()) is not None:
            epoch, number, index = request
            if number == RESUME:
                self._resume()
            elif not self.exhausted:
                self._send(epoch, number, self._fetched(index))

    def _resume(self) -> None:
        self.exhausted = False
        if self.init_error is None:
            self.fetcher = self.task.create_fetcher()

    def _fetched(self, index: Message) -> Any:
        if self.init_error is not None or self.fetcher is None:
            return self.init_error
        try:
            if not self.task.watchers:
                return self.fetcher.fetch(index.value())
            return self._watched(self.fetcher, index)
        except Exception as error:  # the main process raises it
            if isinstance(error, StopIteration) and self.task.dataset_kind == _DatasetKind.Iterable:
                self.exhausted = True
                return Exhausted()
            return ExceptionWrapper(error, self.task.where)

    def _watched(self, fetcher: _BaseDatasetFetcher, index: Message) -> Any:
        for watcher in self.task.watchers:
            watcher.begins()
        found = fetcher.fetch(index.value())
        for watcher in self.task.watchers:
            watcher.ends()
        return found

    def _send(self, epoch: int, number: int, value: Any) -> None:
        try:
            self.channel.send(epoch, number, value)
        except OSError:
            raise
        except Exception as error:  # pickling runs the program's code
            if isinstance(value, ExceptionWrapper):
                # An exception type that cannot be sent: its text can.
                value.exc_type = RuntimeError
                self.channel.send(epoch, number, value)
            else:
                self.channel.send(epoch, number, ExceptionWrapper(error, self.task.where))
