"""The compile thread: one thread does all that LLVM is needed for, and everybody else waits.

Whoever needs code asks for it and waits, in Python (`Compiler.run`) or inside of compiled code
(lazy_compilation.py), without the GIL and without any lock of ours. So nobody can hold what the
compiler needs: no order of locks is to be kept, and a signal handler, which Python runs in the main
thread, never finds LLVM in the middle of something.

Where there is no such thread (Python is about to end, or the system gives no more threads), and in
the compiler thread itself, whoever waits does the work.
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
    """A call that the compiler thread makes for another thread."""

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
    """The thread, what it has been asked for, and the functions that may still be asked for."""

    def __init__(self) -> None:
        # Held while there is work: a fork waits for it, so that no child begins with LLVM in the
        # middle of something.
        self.lock: Any = threading.RLock()
        self.jobs: collections.deque[_Job[Any]] = collections.deque()
        self.thread = 0
        self.is_closed = False
        # What makes a function, by the address of its record.
        self.makers: dict[int, Callable[[], int]] = {}
        self.native: lazy_compilation.Requests | None = None
        self.bell = lazy_compilation.Bell()
        atexit.register(self._close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.lock.acquire,
                after_in_parent=self.lock.release,
                after_in_child=self._after_fork,
            )

    def run(self, function: Callable[[], T]) -> T:
        """Have the compiler thread call a function; what it returns or raises."""
        if self._works_here():
            with self.lock:
                return function()
        job = _Job(function)
        self.jobs.append(job)
        if self.thread or self._start():
            self.bell.ring()
        else:
            with self.lock:
                self.work()
        return job.outcome()

    def _works_here(self) -> bool:
        """Whether the calling thread does all work itself, or is in the middle of some."""
        return self.is_closed or self.thread == _thread.get_ident() or self.lock._is_owned()

    def attach(self, native: lazy_compilation.Requests) -> None:
        """Serve the requests of compiled code, too, from now on."""
        native.attach(self.bell, self.work)
        native.compiler.value = self.thread
        self.native = native

    def _start(self) -> bool:
        try:
            _thread.start_new_thread(self._serve, ())
        except RuntimeError:
            return False
        return True

    def _serve(self) -> None:
        # Signals are for the main thread, which may sleep until one comes. Workers inherit this.
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        with self.lock:
            if self.thread:
                # Two threads were the first to ask.
                return
            self.thread = _thread.get_ident()
            if self.native is not None:
                self.native.compiler.value = self.thread
        while True:
            with self.lock:
                self.work()
            self.bell.wait()

    def work(self) -> None:
        """Do what has been asked for; nothing if another thread is about to."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            while self.jobs:
                self.jobs.popleft().run()
            if self.native is not None:
                for record in self.native.take():
                    self.native.publish(record, _certainly(self.makers[record]))
        finally:
            self.lock.release()

    def _close(self) -> None:
        """Before Python ends: from now on its main thread does the work.

        The other threads stop wherever they are, so none of them may have the lock by then.
        """
        self.lock.acquire()
        self.is_closed = True
        if self.native is not None:
            self.native.compiler.value = 0
        self.work()

    def _after_fork(self) -> None:
        """A child has one thread. What others of its parent's waited for, nobody waits for here."""
        self.thread = 0
        self.jobs.clear()
        self.bell = lazy_compilation.Bell()
        if self.native is not None:
            self.native.compiler.value = 0
            self.native.forget(self.makers)
            self.attach(self.native)
        self.lock.release()
        if self.native is not None and not self.is_closed:
            self._start()


def _certainly(make: Callable[[], int]) -> int:
    """A function that compiled code waits for: it cannot be told of an error, or go on without."""
    interrupted = False
    while True:
        try:
            address = make()
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
