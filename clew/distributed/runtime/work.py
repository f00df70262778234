"""Work: communication that goes on while the program does something else."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from clew.futures import Future

_PAUSE = 1e-4


class Work:
    """Communication under way, as `async_op=True`, `isend` and `irecv` return it.

    Example:
        >>> import clew.distributed as dist
        >>> isinstance(dist.Work(), dist.Work)
        True
    """

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return True

    def is_success(self) -> bool:
        """Whether it has ended without an error."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """The error it has ended with."""
        return None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Return when the result is there; raise the error if it has ended with one."""
        return True

    def result(self) -> list[Any]:
        """The tensors that were written to."""
        return []

    def source_rank(self) -> int:
        """The rank that a message came from."""
        raise RuntimeError("source_rank() is only known of a message that was received")

    def synchronize(self) -> None:
        """The same as `wait`."""
        self.wait()

    def get_future(self) -> Future[list[Any]]:
        """A future of the tensors that are written to."""
        future: Future[list[Any]] = Future()
        self.wait()
        future.set_result(self.result())
        return future


class QueuedWork(Work):
    """A collective that the thread of a group performs when its turn comes."""

    def __init__(self, perform: Callable[[], None], tensors: list[Any]) -> None:
        self._perform = perform
        self._tensors = tensors
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._future: Future[list[Any]] | None = None
        self._lock = threading.Lock()

    def perform(self) -> None:
        """Communicate, in the thread of the group."""
        try:
            self._perform()
        except BaseException as error:  # raised again by whoever waits
            self._error = error
        self._perform = _done
        with self._lock:
            self._ended.set()
            future = self._future
        if future is not None:
            self._tell(future)

    def is_completed(self) -> bool:
        return self._ended.is_set()

    def exception(self) -> BaseException | None:
        return self._error

    def wait(self, timeout: timedelta | None = None) -> bool:
        if not self._ended.wait(None if timeout is None else timeout.total_seconds()):
            raise RuntimeError(f"Timed out waiting {timeout} for a collective to complete")
        if self._error is not None:
            raise self._error
        return True

    def result(self) -> list[Any]:
        return self._tensors

    def get_future(self) -> Future[list[Any]]:
        with self._lock:
            if self._future is None:
                self._future = Future()
                ended = self._ended.is_set()
            else:
                ended = False
        if ended:
            self._tell(self._future)
        return self._future

    def _tell(self, future: Future[list[Any]]) -> None:
        if isinstance(self._error, Exception):
            future.set_exception(self._error)
        else:
            future.set_result(self._tensors)


def _done() -> None:
    """Takes the place of what was performed, so that its buffers are let go."""


class RequestWork(Work):
    """A message under way: a request of MPI's.

    `told` is what the watchdog hears of while somebody waits: name, group, details, peer.
    """

    def __init__(
        self,
        request: Any,
        after: Callable[[Any], int | None],
        tensors: list[Any],
        status: Any,
        told: tuple[str, Any, tuple[Any, ...], int | None],
    ) -> None:
        self._request, self._after, self._status = request, after, status
        self._tensors, self._told = tensors, told
        self._ended = False
        self._source: int | None = None

    def is_completed(self) -> bool:
        if not self._ended and self._request.Test(self._status):
            self._end()
        return self._ended

    def _end(self) -> None:
        self._ended = True
        self._source = self._after(self._status)

    def wait(self, timeout: timedelta | None = None) -> bool:
        if self._ended:
            return True
        name, group, details, peer = self._told
        if timeout is None:
            group.wait_for(name, details, peer, lambda: self._request.Wait(self._status))
            self._end()
            return True
        until = time.monotonic() + timeout.total_seconds()
        while not self.is_completed():
            if time.monotonic() > until:
                raise RuntimeError(f"Timed out waiting {timeout} for a message")
            time.sleep(_PAUSE)
        return True

    def result(self) -> list[Any]:
        return self._tensors

    def source_rank(self) -> int:
        if self._source is None:
            return super().source_rank()
        return self._source


class WorkQueue:
    """A thread that performs the collectives of one group in their order."""

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[QueuedWork | None] = queue.SimpleQueue()
        self._unfinished = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether something was put in that has not ended."""
        return self._unfinished > 0

    def is_own_thread(self) -> bool:
        """Whether the thread itself asks."""
        return threading.current_thread() is self._thread

    def put(self, work: QueuedWork) -> None:
        """Let the thread perform it when it has done what came before."""
        with self._lock:
            self._unfinished += 1
        self._queue.put(work)

    def stop(self) -> None:
        """Let the thread end when it has done everything."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work.perform()
            with self._lock:
                self._unfinished -= 1
