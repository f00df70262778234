"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator, also of generator functions, whose body then runs in the
mode although its caller does not. Modes belong to the thread.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any

from clew.core.state import local
from clew.core.tensor import NoHistory
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
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError("a mode says what entering it does")

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError("a mode says what leaving it does")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            raise TypeError(
                f"{type(self).__name__} cannot decorate a class; decorate its methods instead"
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
                except BaseException as error:
                    step = functools.partial(generator.throw, error)

        return wrapped


class _GradMode(_Mode):
    """Switches grad mode, and notes who switched it off."""

    wanted: bool

    def __init__(self) -> None:
        self._before: list[tuple[bool, Any]] = []

    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        if function is None:
            return mode
        # Used as a decorator without parentheses: `@no_grad`.
        mode.__init__()  # type: ignore[misc]  # __new__ returns a function here, so nobody else does
        return mode(function)

    def __enter__(self) -> None:
        state = local.state
        self._before.append((state.grad_enabled, state.no_grad_reason))
        state.grad_enabled = self.wanted
        if not self.wanted:
            state.no_grad_reason = NoHistory("no_grad", "no_grad", self.where())

    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.grad_enabled, state.no_grad_reason = self._before.pop()


class no_grad(_GradMode):
    """Results made inside have no history."""

    wanted = False


class enable_grad(_GradMode):
    """Results made inside have history, also within `no_grad`."""

    wanted = True


class set_grad_enabled(_Mode):
    """Switch grad mode at once; as a context manager, switch back at its end."""

    def __init__(self, mode: bool) -> None:
        state = local.state
        self._before = (state.grad_enabled, state.no_grad_reason)
        self.mode = bool(mode)
        self._switch()

    def _switch(self) -> None:
        state = local.state
        state.grad_enabled = self.mode
        if not self.mode:
            state.no_grad_reason = NoHistory("no_grad", "set_grad_enabled(False)", self.where())

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # As a decorator the switch belongs to the calls, not to the line of the decoration.
        state = local.state
        state.grad_enabled, state.no_grad_reason = self._before
        return super().__call__(function)

    def __enter__(self) -> None:
        self._switch()

    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.grad_enabled, state.no_grad_reason = self._before


class inference_mode(_Mode):
    """Like `no_grad`, and results keep no version counters either: the fastest mode."""

    def __init__(self, mode: bool = True) -> None:
        self.mode = bool(mode)
        self._before: list[tuple[bool, bool, Any]] = []

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
        self._before.append((state.grad_enabled, state.inference, state.no_grad_reason))
        state.inference = self.mode
        state.grad_enabled = not self.mode
        if self.mode:
            state.no_grad_reason = NoHistory("no_grad", "inference_mode", self.where())

    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.grad_enabled, state.inference, state.no_grad_reason = self._before.pop()


def is_grad_enabled() -> bool:
    """Whether results made now get a history."""
    return local.state.grad_enabled


def is_inference_mode_enabled() -> bool:
    return local.state.inference
