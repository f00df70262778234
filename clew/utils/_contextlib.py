"""Context managers that are decorators, too, with or without parentheses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]

F = TypeVar("F", bound=Callable[..., Any])


def context_decorator(ctx: Any, func: F) -> F:
    """A function that runs inside a context manager, made anew at each call."""
    make = ctx if callable(ctx) and not hasattr(ctx, "__enter__") else lambda: ctx

    @functools.wraps(func)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return inside  # type: ignore[return-value]  # it has the signature of the function


class _DecoratorContextManager:
    """Base of context managers that may decorate a function: `@Manager(...)`."""

    def __call__(self, orig_func: F) -> F:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another one with the same arguments."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same, and `@Manager` without parentheses."""

    def __new__(cls, orig_func: Any = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
