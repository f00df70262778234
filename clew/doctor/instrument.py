"""How the doctor attaches itself: a handful of functions are replaced while it watches.

The engine knows nothing of the doctor. While nobody watches, nothing is replaced and nothing is
asked; while somebody does, each replacement calls the original and then tells the session what it
saw. `tests/test_doctor_events.py` checks that every replacement is undone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.doctor import attach_engine, attach_library

_PARTS: tuple[Callable[[Any], None], ...] = (
    attach_engine.operations, attach_engine.histories, attach_engine.backward,
    attach_library.optimizers, attach_library.modules, attach_library.mixed_precision,
    attach_library.states, attach_library.creation, attach_library.data,
    attach_library.checkpoints,
)  # fmt: skip


class Instrument:
    """The replacements of one session, and how to undo them."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.undo: list[tuple[Any, str, Any]] = []
        self.hook: Any = None

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put `make(original)` in the place of an attribute of a class or a module."""
        original = owner.__dict__[name]
        self.undo.append((owner, name, original))
        setattr(owner, name, make(original))

    def install(self) -> None:
        for part in _PARTS:
            part(self)

    def remove(self) -> None:
        self.hook.remove()
        while self.undo:
            owner, name, original = self.undo.pop()
            setattr(owner, name, original)
