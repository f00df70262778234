"""The compile thread: the one thread that calls LLVM, and the queue of its jobs.

A thread that needs code submits a job and waits for it, in Python (`Compiler.run`) or inside of
compiled code (lazy_compilation.py), without the GIL and without any lock of ours. So no thread can
hold a lock that the compiler needs, and no lock order has to be kept. A signal handler, which
Python runs in the main thread, never interrupts LLVM.

Where there is no such thread (Python is about to end, or the system gives no more threads), and in
the compile thread itself, the thread that waits runs the jobs.
"""

from __future__ import annotations

import _thread
import atexit
import collections
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from clew.kernels.runtime import lazy_compilation

T = TypeVar("T")


class _Job(Generic[T]):
    """A call that the compile thread makes for another thread."""

    def __init__(self, function: Callable[[], T]) -> None:
        self.function = function
        self.error: BaseException | None = None
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def run(self) -> None:
        try:
            self.result = self.function()
        except BaseException as error:
            self.error = error
        self.done.release()

    def outcome(self) -> T:
        self.done.acquire()
        if self.error is not None:
            try:
                raise self.error
            finally:
                # The traceback refers to this frame.
                self.error = None
        return self.result


class Compiler:
    """The compile thread, its queue, and the callbacks that compile functions lazily."""

    def __init__(self) -> None:
        # Held while jobs run. A fork waits for it, so that no child inherits LLVM in an undefined
        # state.
        self.lock: Any = threading.RLock()
        self.jobs: collections.deque[_Job[Any]] = collections.deque()
        self.thread = 0
        self.is_closed = False
        # What compiles a function, by the address of its record.
        self.compile_callbacks: dict[int, Callable[[], int]] = {}
        self.requests: lazy_compilation.Requests | None = None
        self.semaphore = lazy_compilation.Semaphore()
        atexit.register(self._close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.lock.acquire,
                after_in_parent=self.lock.release,
                after_in_child=self._after_fork,
            )

    def run(self, function: Callable[[], T]) -> T:
        """Call a function in the compile thread; return what it returns, raise what it raises."""
        if self._runs_inline():
            with self.lock:
                return function()
        job = _Job(function)
        self.jobs.append(job)
        if self.thread or self._start():
            self.semaphore.release()
        else:
            with self.lock:
                self.run_pending()
        return job.outcome()

    def _runs_inline(self) -> bool:
        """Whether the calling thread runs jobs itself, or is running one."""
        return self.is_closed or self.thread == _thread.get_ident() or self.lock._is_owned()

    def attach(self, requests: lazy_compilation.Requests) -> None:
        """Serve the requests of compiled code, too, from now on."""
        requests.attach(self.semaphore, self.run_pending)
        requests.compile_thread.value = self.thread
        self.requests = requests

    def _start(self) -> bool:
        try:
            _thread.start_new_thread(self._serve, ())
        except RuntimeError:
            return False
        return True

    def _serve(self) -> None:
        # Signals go to the main thread, which may sleep until one comes. Workers inherit the mask.
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        with self.lock:
            if self.thread:
                # Another thread has started one, too.
                return
            self.thread = _thread.get_ident()
            if self.requests is not None:
                self.requests.compile_thread.value = self.thread
        while True:
            with self.lock:
                self.run_pending()
            self.semaphore.acquire()

    def run_pending(self) -> None:
        """Run all jobs and serve all requests; nothing if another thread does."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            while self.jobs:
                self.jobs.popleft().run()
            if self.requests is not None:
                for record in self.requests.take():
                    self.requests.publish(record, _compile_or_abort(self.compile_callbacks[record]))
        finally:
            self.lock.release()

    def _close(self) -> None:
        """Before Python ends: from now on its main thread runs the jobs.

        The other threads stop wherever they are, so none of them may hold the lock by then.
        """
        self.lock.acquire()
        self.is_closed = True
        if self.requests is not None:
            self.requests.compile_thread.value = 0
        self.run_pending()

    def _after_fork(self) -> None:
        """A child has one thread: jobs and requests of its parent's threads are dropped."""
        self.thread = 0
        self.jobs.clear()
        self.semaphore = lazy_compilation.Semaphore()
        if self.requests is not None:
            self.requests.compile_thread.value = 0
            self.requests.clear(self.compile_callbacks)
            self.attach(self.requests)
        self.lock.release()
        if self.requests is not None and not self.is_closed:
            self._start()


def _compile_or_abort(compile: Callable[[], int]) -> int:
    """The address of a function that compiled code waits for, which cannot handle an error."""
    interrupted = False
    while True:
        try:
            address = compile()
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os.abort()
        else:
            break
    if interrupted:
        _thread.interrupt_main()
    return address


compiler = Compiler()
