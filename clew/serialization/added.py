"""What users let files use, beside what clew knows."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinMethodType, MethodType
from typing import Any

from clew.interrupts import uninterrupted

_safe: list[Any] = []
METHOD = (MethodType, BuiltinMethodType)


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Any, str]]) -> None:
    """Let files use these classes and functions.

    Args:
        safe_globals: classes and functions; a pair gives the name that files use for one

    Example:
        >>> from fractions import Fraction
        >>> from clew.serialization import add_safe_globals, clear_safe_globals, get_safe_globals
        >>> add_safe_globals([Fraction])
        >>> get_safe_globals()
        [<class 'fractions.Fraction'>]
        >>> clear_safe_globals()
    """
    for each in safe_globals:
        if not any(each is known for known in _safe):
            _safe.append(each)


def get_safe_globals() -> list[Any]:
    """What users have added.

    Example:
        >>> from fractions import Fraction
        >>> with clew.serialization.safe_globals([Fraction]):
        ...     clew.serialization.get_safe_globals()
        [<class 'fractions.Fraction'>]
    """
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what users have added.

    Example:
        >>> clew.serialization.clear_safe_globals()
        >>> clew.serialization.get_safe_globals()
        []
    """
    _safe.clear()


class safe_globals:
    """Let files use these classes and functions inside a `with` block.

    Args:
        safe_globals: classes and functions; a pair gives the name that files use for one

    Example:
        >>> from fractions import Fraction
        >>> clew.save(Fraction(1, 3), "third.pt")
        >>> with clew.serialization.safe_globals([Fraction]):
        ...     clew.load("third.pt")
        Fraction(1, 3)
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = list(_safe)
        try:
            add_safe_globals(self.safe_globals)
        except BaseException:  # an interrupt too leaves the list as it was
            _safe[:] = self._before
            raise

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        _safe[:] = self._before


def is_added(value: Any) -> bool:
    """Whether users have named this very object."""
    return any(_is(value, each[0] if isinstance(each, tuple) else each) for each in _safe)


def _is(value: Any, added: Any) -> bool:
    # A method of a class is made anew each time it is looked up.
    return value is added or (isinstance(value, METHOD) and value == added)
