"""Any object as text: classes, attributes and values, also where objects refer to each other.

Imports nothing of clew, so that a process that uses it has only what it asked for itself.
"""

from __future__ import annotations

import types
import weakref
from typing import Any


class Halving:
    """A schedule: a user's object that can be called and has a state."""

    def __init__(self) -> None:
        self.factor = 0.5

    def __call__(self, epoch: int) -> float:
        return self.factor**epoch


def described(value: Any) -> str:
    return _described(value, {})


def _described(value: Any, seen: dict[int, int]) -> str:
    kind = type(value)
    if value is None or isinstance(value, str | bytes | int | float | complex):
        return repr(value)
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return value.__qualname__
    if isinstance(value, weakref.ref):
        return _described(value(), seen)
    if id(value) in seen:
        return f"<{seen[id(value)]}>"
    seen[id(value)] = len(seen)
    # Objects stay alive in `seen`'s place: a freed one's number could come again.
    _alive.append(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        return f"{name}{_tensor(value)}{_described(vars(value), seen)}"
    if isinstance(value, dict):
        items = [f"{_described(k, seen)}: {_described(v, seen)}" for k, v in value.items()]
        return f"{name}{{{', '.join(items)}}}{_described(getattr(value, '__dict__', None), seen)}"
    if isinstance(value, set | frozenset):
        return name + repr(sorted(_described(item, seen) for item in value))
    if isinstance(value, list | tuple):
        return name + "(" + ", ".join(_described(item, seen) for item in value) + ")"
    if hasattr(value, "data_ptr"):
        # Asking a typed storage itself for its length warns.
        return f"storage of {len(getattr(value, '_untyped_storage', value))} bytes"
    made_from = kind.__reduce__ is not object.__reduce__
    state = value.__reduce__()[1:] if made_from else value.__getstate__()
    return f"{name}<{repr(value) if state is None else _described(state, seen)}>"


_alive: list[Any] = []


def _tensor(value: Any) -> str:
    if "Uninitialized" in type(value).__name__:
        return str(value.requires_grad)
    return f"{value.dtype}{tuple(value.shape)}{value.stride()}{value.requires_grad}{value.tolist()}"
