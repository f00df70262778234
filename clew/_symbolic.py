"""Symbolic numbers of PyTorch's compiler: clew has none, so these functions are of plain ones.

`SymFloat` and `SymBool` are for `isinstance`: no object of theirs exists. A `SymInt` is the length
of a ragged dimension of a nested tensor.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any

from clew.core.overrides import overridable
from clew.core.size import SymInt

__all__ = [
    "SymBool", "SymFloat", "SymInt", "sym_float", "sym_fresh_size", "sym_int", "sym_ite", "sym_max",
    "sym_min", "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip


class SymFloat:
    """A number that a compiler does not know yet: for `isinstance`.

    Example:
        >>> isinstance(1.5, clew.SymFloat)
        False
    """


class SymBool:
    """A truth value that a compiler does not know yet: for `isinstance`.

    Example:
        >>> isinstance(True, clew.SymBool)
        False
    """


def sym_int(a: Any) -> int:
    """A number as an integer: `int(a)`.

    Args:
        a: a number

    Example:
        >>> clew.sym_int(2.7)
        2
    """
    return builtins.int(a)


def sym_float(a: Any) -> float:
    """A number as a float: `float(a)`.

    Args:
        a: a number

    Example:
        >>> clew.sym_float(2)
        2.0
    """
    return builtins.float(a)


def _common(a: Any, b: Any, chosen: Any) -> Any:
    """A result is a float if either number is."""
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers, a float if either is.

    Args:
        a: a number
        b: another one

    Example:
        >>> clew.sym_max(3, 2.0)
        3.0
    """
    return _common(a, b, builtins.max(a, b))


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, a float if either is.

    Args:
        a: a number
        b: another one

    Example:
        >>> clew.sym_min(2, 3)
        2
    """
    return _common(a, b, builtins.min(a, b))


def sym_not(a: Any) -> bool:
    """The opposite of a truth value: `not a`.

    Args:
        a: a truth value

    Example:
        >>> clew.sym_not(True)
        False
    """
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t if b else f`.

    Args:
        b: the condition
        t: the value if it holds
        f: the value if it does not

    Example:
        >>> clew.sym_ite(True, 1, 2)
        1
    """
    return t if b else f


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of integers.

    Args:
        args: the integers

    Example:
        >>> clew.sym_sum([1, 2])
        3
    """
    return builtins.sum(args)


def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)


def sym_fresh_size(expr: Any) -> Any:
    """Raises: only a compiler has new symbols."""
    raise RuntimeError("sym_fresh_size: clew has no compiler, and no symbols")


overridable("torch", globals(), *(name for name in __all__ if name.startswith("sym_")))
