"""Questions about sizes that may be symbols: here every size is a number, and has an answer."""

from __future__ import annotations

from typing import Any

__all__ = [
    "GuardOnDataDependentSymNode", "free_symbols", "free_unbacked_symbols", "guard_bool",
    "guard_int", "guard_or_false", "guard_or_true", "guard_size_oblivious", "has_free_symbols",
    "has_static_value", "is_concrete_bool", "is_concrete_int", "is_symbolic",
    "statically_known_true", "sym_eq",
]  # fmt: skip


class GuardOnDataDependentSymNode(RuntimeError):
    """A decision by a size that nobody knows: it is not raised here."""


def guard_bool(a: Any) -> bool:
    """A decision by sizes.

    Args:
        a: the condition
    """
    return _of_type(bool, a)


guard_or_true = guard_or_false = guard_size_oblivious = statically_known_true = guard_bool


def guard_int(a: Any) -> int:
    """A size as a number.

    Args:
        a: the size
    """
    return _of_type(int, a)


def _of_type(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise AssertionError(f"Expected {kind.__name__}, got {value}")
    return value


def is_symbolic(val: Any) -> bool:
    """Whether a size is a symbol.

    Args:
        val: the size
    """
    return False


def has_static_value(a: Any) -> bool:
    """Whether a size is a number.

    Args:
        a: the size
    """
    return True


is_concrete_bool = is_concrete_int = has_static_value


def free_symbols(val: Any) -> set[Any]:
    """The symbols in sizes.

    Args:
        val: sizes, tensors, or lists of them
    """
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val: Any) -> bool:
    """Whether sizes have symbols.

    Args:
        val: sizes, tensors, or lists of them
    """
    return False


def sym_eq(x: Any, y: Any) -> bool:
    """Whether sizes, or lists of them, are equal.

    Args:
        x: the first
        y: the second
    """
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(sym_eq, x, y))
    return bool(x == y)
