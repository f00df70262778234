"""The source of a program's modules, which files of the legacy format have beside the objects."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from clew import source
from clew.nn.modules.module import Module
from clew.serialization.names import is_program_class


class SourceChangeWarning(Warning):
    """A file's object has a class whose source was another one when it was saved.

    Example:
        >>> issubclass(clew.serialization.SourceChangeWarning, Warning)
        True
    """


def is_container(value: Any) -> bool:
    """Whether a value is a class of the program's own modules."""
    return is_program_class(value) and issubclass(value, Module)


def source_of(kind: type) -> tuple[str | None, str | None]:
    """The file of a class and its source; None where there is none."""
    try:
        return inspect.getsourcefile(kind), inspect.getsource(kind)
    except (OSError, TypeError):
        warnings.warn(
            f"Couldn't retrieve source code for container of type {kind.__name__}. It won't be "
            "checked for correctness upon loading.",
            stacklevel=source.user_stacklevel(),
        )
        return None, None


def compare(kind: Any, file: Any, saved: Any) -> None:
    """Warn if the source of a class is another one than the file says."""
    if not (is_container(kind) and isinstance(saved, str) and file):
        return
    try:
        now = inspect.getsource(kind)
    except (OSError, TypeError):
        return
    if now != saved:
        warnings.warn(
            f"source code of class '{kind.__module__}.{kind.__qualname__}' has changed. The object "
            "gets the attributes that were saved, and the methods of today.",
            SourceChangeWarning,
            stacklevel=source.user_stacklevel(),
        )
