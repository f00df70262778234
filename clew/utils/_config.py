"""`config.patch(...)`: settings that are changed for a `with` block or while a function runs."""

from __future__ import annotations

import contextlib
from typing import Any


class Patch(contextlib.ContextDecorator):
    """Some settings of a module, changed inside: `patch(name=value)` or `patch("name", value)`."""

    def __init__(self, settings: dict[str, Any], *args: Any, **changes: Any) -> None:
        if args:
            given = {args[0]: args[1]} if isinstance(args[0], str) else dict(args[0])
            changes = {**given, **changes}
        self._settings, self._changes = settings, changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        missing = [name for name in self._changes if name not in self._settings]
        self._before.append(
            {name: self._settings[name] for name in self._changes if name not in missing}
        )
        self._settings.update(self._changes)

    def __exit__(self, *exc: Any) -> None:
        for name in self._changes:
            self._settings.pop(name, None)
        self._settings.update(self._before.pop())
