"""`torch.futures`: results that come later, with callbacks."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from clew import errors
from clew.forking import add_lock

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A result that another part of the program sets.

    Args:
        devices: accepted; there is one device

    Example:
        >>> future = clew.futures.Future()
        >>> doubled = future.then(lambda done: 2 * done.value())
        >>> future.set_result(21)
        >>> doubled.wait()
        42
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._changed: threading.Condition = add_lock(self, "_changed", threading.Condition)
        self._is_done = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether the result, or an error, is there."""
        return self._is_done

    def wait(self) -> T:
        """The result, when it is there; an error that was set is raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_done)
        return self.value()

    def value(self) -> T:
        """The result, which must be there."""
        if not self._is_done:
            raise RuntimeError("value() can only be called on a completed Future.")
        if self._error is not None:
            raise self._error
        result: T = self._result
        return result

    def set_result(self, result: T) -> None:
        """Give the result, and call the callbacks."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Give an error instead of a result."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, result: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._is_done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once." + errors.at_user_line()
                )
            self._result, self._error, self._is_done = result, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call a function with this future when it is done, or at once if it is."""
        with self._changed:
            if not self._is_done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of what a function of this one returns."""
        later: Future[Any] = Future()

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                text = f"Got the following error when running the callback: {said}"
                later.set_exception(RuntimeError(text))
            else:
                later.set_result(result)

        self.add_done_callback(run)
        return later


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done when all of the given ones are; its result is their list.

    Args:
        futures: the futures

    Example:
        >>> one, other = clew.futures.Future(), clew.futures.Future()
        >>> both = clew.futures.collect_all([one, other])
        >>> one.set_result(1), other.set_result(2)
        (None, None)
        >>> [each.value() for each in both.wait()]
        [1, 2]
    """
    together: Future[list[Future[Any]]] = Future()
    given = list(futures)
    # One step of it is one step of the interpreter, whichever thread takes it.
    number = itertools.count(1)

    def count(done: Future[Any]) -> None:
        if next(number) == len(given):
            together.set_result(given)

    if not given:
        together.set_result(given)
    for each in given:
        each.add_done_callback(count)
    return together


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of futures, when all are there.

    Args:
        futures: the futures

    Example:
        >>> future = clew.futures.Future()
        >>> future.set_result(1)
        >>> clew.futures.wait_all([future])
        [1]
    """
    return [each.wait() for each in collect_all(futures).wait()]
