"""Which classes have a `__torch_dispatch__`."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor

# By class, its handler or None.
_handlers: dict[type, Any] = {Tensor: None}


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_dispatch__` of classes that take over nothing."""
    return func(*args, **(kwargs or {}))


def handler_of(kind: type) -> Any:
    """The `__torch_dispatch__` of a class, or None."""
    try:
        return _handlers[kind]
    except KeyError:
        found = getattr(kind, "__torch_dispatch__", None)
        is_none = found is None or getattr(found, "__func__", found) is disabled
        _handlers[kind] = found = None if is_none else found
        return found


def is_wrapper(value: Any) -> bool:
    """Whether an object is of a class that takes over operations."""
    return type(value) is not Tensor and handler_of(type(value)) is not None
