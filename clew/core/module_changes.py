"""A count of changes to modules: attributes set, parameters replaced, hooks added.

Whoever depends on how modules are (a compiled function) looks at the count before each call, and
at the modules themselves only when it has moved.
"""

from __future__ import annotations

import itertools

_moves = itertools.count(1)
_last = 0


def note() -> None:
    """A module has changed."""
    global _last
    _last = next(_moves)


def count() -> int:
    """How many changes there have been."""
    return _last
