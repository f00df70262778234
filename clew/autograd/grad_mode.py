"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator, also of generator functions, whose body then runs in the
mode although its caller does not. Modes belong to the thread.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from copy import copy
from sys import _getframe
from typing import Any

from clew.core.no_history import NoHistory
from clew.core.state import local
from clew.interrupts import enters_block, uninterrupted
from clew.source import INTERNAL_PACKAGES, Place, user_where


class _Mode:
    """A context manager that can decorate functions and generator functions."""

    # The function that this mode decorates, if it does.
    function: Callable[..., Any] | None = None

    def clone_for(self, function: Callable[..., Any]) -> _Mode:
        """The mode for one call of a decorated function."""
        mode = self.clone()
        mode.function = function
        return mode

    def where(self) -> Place | None:
        """The line that switches the mode; for a function of the program's, its decorator."""
        function: Any = self.function
        code = getattr(function, "__code__", None)
        if code is None or function.__globals__.get("__package__") in INTERNAL_PACKAGES:
            return user_where()
        return code, -1

    def clone(self) -> _Mode:
        """One for a call of a decorated function, which may call itself or run in a thread."""
        return copy(self)

    def __enter__(self) -> Any:
        raise NotImplementedError("a mode says what entering it does")

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError("a mode says what leaving it does")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone_for(function):
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator = function(*args, **kwargs)
            step: Callable[[], Any] = functools.partial(next, generator)
            while True:
                # The mode holds only while the generator's own body runs.
                try:
                    with self.clone_for(function):
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                    step = functools.partial(generator.send, sent)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:  # the generator gets whatever was thrown
                    step = functools.partial(generator.throw, error)

        return wrapped


class set_multithreading_enabled(_Mode):
    """Let backward leave work to other threads, or not; it switches at once, or for a block.

    Args:
        mode: whether it may

    Example:
        >>> with clew.autograd.set_multithreading_enabled(False):
        ...     clew.autograd.is_multithreading_enabled()
        False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before = local.state.multithreading
        local.state.multithreading = self.mode

    def clone(self) -> _Mode:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        local.state.multithreading = self.mode

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        local.state.multithreading = self._before


def is_multithreading_enabled() -> bool:
    """Whether backward may leave work to other threads."""
    return local.state.multithreading


class _GradMode(_Mode):
    """Switches grad mode, and notes who switched it off."""

    wanted: bool

    def __init__(self) -> None:
        # What was before it was entered, and the same for the times it was entered before that.
        self._before: Any = None

    def clone(self) -> _Mode:
        return type(self)()

    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        if function is None:
            return mode
        # Used as a decorator without parentheses: `@no_grad`.
        mode.__init__()  # type: ignore[misc]  # __new__ returns a function here, so nobody else does
        return mode(function)

    def __enter__(self) -> None:
        state = local.state
        before = reason = state.no_grad_reason
        if not self.wanted:
            reason = NoHistory("no_grad", "no_grad", self.where())
        self._before = state.grad_enabled, before, self._before
        state.grad_enabled, state.no_grad_reason = self.wanted, reason

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.grad_enabled, state.no_grad_reason, self._before = self._before


class no_grad(_GradMode):
    """Results made inside have no history: for evaluation, and for changing parameters.

    It is a context manager, and a decorator with or without parentheses.

    Args:
        function: what is decorated, in `@no_grad` without parentheses

    Example:
        >>> x = clew.ones(1, requires_grad=True)
        >>> with clew.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    wanted = False


class enable_grad(_GradMode):
    """Results made inside have history, also within `no_grad`.

    Args:
        function: what is decorated, in `@enable_grad` without parentheses

    Example:
        >>> x = clew.ones(1, requires_grad=True)
        >>> with clew.no_grad():
        ...     with clew.enable_grad():
        ...         y = x * 2
        >>> y.requires_grad
        True
    """

    wanted = True


class set_grad_enabled(_Mode):
    """Switch grad mode at once; as a context manager, switch back at its end.

    Args:
        mode: whether results get a history

    Example:
        >>> x = clew.ones(1, requires_grad=True)
        >>> training = False
        >>> with clew.set_grad_enabled(training):
        ...     y = x * 2
        >>> y.requires_grad, clew.is_grad_enabled()
        (False, True)
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before: Any = None
        if not enters_block(_getframe(1)):
            self._switch()

    def _switch(self) -> None:
        state = local.state
        before = reason = state.no_grad_reason
        if not self.mode:
            reason = NoHistory("no_grad", "set_grad_enabled(False)", self.where())
        if self._before is None:
            self._before = state.grad_enabled, before
        state.grad_enabled, state.no_grad_reason = self.mode, reason

    def clone(self) -> set_grad_enabled:
        # One that has not switched yet: `with` does it.
        made = copy(self)
        made._before = None
        return made

    @uninterrupted
    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # As a decorator the switch belongs to the calls, not to the line of the decoration.
        state = local.state
        state.grad_enabled, state.no_grad_reason = self._before
        return super().__call__(function)

    def __enter__(self) -> None:
        self._switch()

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.grad_enabled, state.no_grad_reason = self._before


class inference_mode(_Mode):
    """Like `no_grad`, and results keep no version counters either: the fastest mode.

    Results of it cannot take part in a graph later.

    Args:
        mode: False switches the mode off inside; a function is decorated

    Example:
        >>> with clew.inference_mode():
        ...     y = clew.ones(2) * 2
        >>> y.is_inference(), y.requires_grad
        (True, False)
    """

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)
        self._before: Any = None

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()  # type: ignore[misc]  # __new__ returns a function here, so nobody else does
        return made(mode)

    def clone(self) -> inference_mode:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        state = local.state
        before = reason = state.no_grad_reason
        if self.mode:
            reason = NoHistory("no_grad", "inference_mode", self.where())
        self._before = state.grad_enabled, state.inference, before, self._before
        state.inference, state.no_grad_reason = self.mode, reason
        state.grad_enabled = not self.mode

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.grad_enabled, state.inference, state.no_grad_reason, self._before = self._before


def is_grad_enabled() -> bool:
    """Whether results made now get a history.

    Example:
        >>> with clew.no_grad():
        ...     clew.is_grad_enabled()
        False
    """
    return local.state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread.

    Example:
        >>> with clew.inference_mode():
        ...     clew.is_inference_mode_enabled()
        True
    """
    return local.state.inference
