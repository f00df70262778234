"""The hook through which autocast sees a function before it runs.

Autocast works on functions, not on operations: `linear` converts its arguments once, whatever it is
made of, and before it compares their dtypes. While autocast is off, `State.autocast` is None.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from clew.core.state import local

F = TypeVar("F", bound=Callable[..., Any])

# The dtype that a function's floating-point arguments are converted to.
LOWER = "lower"  # autocast's own dtype
FLOAT32 = "float32"
UNCHANGED = "unchanged"  # none, nor inside the function
FIRST = "first"  # that of the first argument
WIDEST = "widest"  # that of the widest among the arguments


def casts(policy: str) -> Callable[[F], F]:
    """Have autocast convert a function's arguments.

    Functions whose short path is worth more than a wrapper ask `State.autocast` themselves, where
    the short path ends.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            autocast = local.state.autocast
            if autocast is None:
                return function(*args, **kwargs)
            return autocast(policy, function, *args, **kwargs)

        return cast(F, wrapper)

    return decorate


def without_autocast(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function gives when its arguments stay as they are, as with `out=` and in place."""
    state = local.state
    autocast, state.autocast = state.autocast, None
    try:
        return function(*args, **kwargs)
    finally:
        state.autocast = autocast
