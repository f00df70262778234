"""Guards: what Python state a captured function depends on, and whether it is still the same.

A function reads its closure, the globals that it names, and everything that hangs on those:
modules, lists, dicts, objects and classes of the user's. Before a call is captured, all of it is
walked (`reachable.py`). Tensors found there are the graph's state; numbers, strings and the
identity of objects become guards. After the call they are compared once more: what the call has
changed cannot be repeated without running Python, so the capture is refused with its name.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable
from itertools import chain, repeat
from operator import attrgetter, is_
from typing import Any

from clew.core import module_changes
from clew.core.tensor import Tensor

SCALARS = (bool, int, float, complex, str, bytes, type(None))
MISSING = object()


class Guards:
    """What was found, and what must still be there."""

    def __init__(self) -> None:
        self.tensors: dict[int, Tensor] = {}
        # Some names of a namespace (globals, a Python module): the values, MISSING for none.
        self._names: dict[int, tuple[dict[str, Any], dict[str, Any], str]] = {}
        # Dicts of all kinds as wholes: the keys in order, the values, what they are called.
        self._dicts: list[tuple[Any, list[Any], list[Any], str]] = []
        self._lists: list[tuple[Any, tuple[Any, ...], str]] = []
        # Attributes of functions, and the contents of cells, by name: what gets one, whose they
        # are, the values, what they are called.
        self._read: dict[str, tuple[Any, list[Any], list[Any], list[str]]] = {}
        # What a function without arguments gives: slots, contents.
        self._probes: list[tuple[Callable[[], Any], Any, str]] = []
        # Like `_probes`, but others may change it between calls: the call itself must not.
        self._positions: list[tuple[Callable[[], Any], Any, str]] = []
        # Parameters, buffers and children of modules, in one list for all of them.
        self._registries: list[dict[str, Any]] = []
        self._registered: list[Any] = []
        # Other attributes of modules, and hooks: their changes are counted.
        self._counted: list[tuple[Any, list[Any], list[Any], str]] = []
        self._changes = module_changes.count()

    # -- adding ----------------------------------------------------------------------------------

    def name(self, space: dict[str, Any], name: str, prefix: str = "") -> Any:
        """Guard one name of a namespace; its value."""
        _, values, _ = self._names.setdefault(id(space), (space, {}, prefix))
        return values.setdefault(name, space.get(name, MISSING))

    def whole_dict(self, found: Any, path: str) -> None:
        """Guard all keys and values of a dict or a class's namespace, and their order."""
        self._dicts.append((found, list(found), list(found.values()), path))

    def items(self, found: Any, path: str) -> None:
        """Guard the items of a list or deque."""
        self._lists.append((found, tuple(found), path))

    def attribute(self, owner: Any, name: str, path: str) -> Any:
        """Guard an attribute; its value."""
        _, owners, values, paths = self._read.setdefault(name, (attrgetter(name), [], [], []))
        owners.append(owner)
        values.append(getattr(owner, name))
        paths.append(path)
        return values[-1]

    def probe(self, ask: Callable[[], Any], path: str) -> Any:
        """Guard what a function gives; what it gives now."""
        value = ask()
        self._probes.append((ask, value, path))
        return value

    def position(self, ask: Callable[[], Any], path: str) -> None:
        """Guard against the call itself changing what a function gives."""
        self._positions.append((ask, ask(), path))

    def registry(self, found: dict[str, Any], path: str) -> None:
        """Guard what a module has registered under names."""
        if found:
            self._registries.append(found)
            self._registered += found.values()
        self.counted(found, path)

    def counted(self, found: Any, path: str) -> None:
        """Guard a dict whose changes are counted."""
        self._counted.append((found, list(found), list(found.values()), path))

    # -- comparing -------------------------------------------------------------------------------

    def changed(self) -> str | None:
        """What is not as it was, or None."""
        for space, values, prefix in self._names.values():
            now = map(space.get, values, repeat(MISSING))
            if not all(map(is_, now, values.values())):
                name = _first_change(space, values, values.values())
                if name is not None:
                    return f"{prefix}{name}"
        for found, keys, kept, path in self._dicts:
            if len(found) != len(keys):
                return path
            if not (all(map(is_, found.values(), kept)) and all(map(is_, found, keys))):
                changed = _changed_key(found, keys, kept, path)
                if changed is not None:
                    return changed
        for items, before, path in self._lists:
            if len(items) != len(before) or not all(map(same, items, before)):
                return path
        for get, owners, values_then, paths in self._read.values():
            try:
                if all(map(is_, map(get, owners), values_then)):
                    continue
                for owner, value, path in zip(owners, values_then, paths, strict=True):
                    if not same(get(owner), value):
                        return path
            except ValueError:
                # A cell is empty.
                return "a variable"
        for ask, value, path in self._probes:
            now_value = ask()
            if now_value is not value and not same(now_value, value):
                return path
        registered = chain.from_iterable(map(dict.values, self._registries))
        if self._changes != module_changes.count() or not all(
            map(is_, registered, self._registered)
        ):
            return self._changed_modules()
        return None

    def changed_by_call(self) -> str | None:
        """What the call that was captured has changed, or None."""
        for ask, value, path in self._positions:
            if not same(ask(), value):
                return path
        return self.changed()

    def _changed_modules(self) -> str | None:
        count = module_changes.count()
        for found, keys, kept, path in self._counted:
            if len(found) != len(keys):
                return path
            changed = _changed_key(found, keys, kept, path)
            if changed is not None:
                return changed
        self._changes = count
        return None


def _first_change(found: Any, keys: Iterable[Any], kept: Iterable[Any]) -> Any:
    for key, value in zip(keys, kept, strict=True):
        if not same(found.get(key, MISSING), value):
            return key
    return None


def _changed_key(found: Any, keys: list[Any], kept: list[Any], path: str) -> str | None:
    key = _first_change(found, keys, kept)
    if key is not None:
        return f"{path}.{key}" if isinstance(key, str) else f"{path}[{key!r}]"
    return path if list(found) != keys else None


def same(now: Any, then: Any) -> bool:
    """Whether a value is what it was: the same object, or an equal number or string."""
    if now is then:
        return True
    if type(now) is not type(then):
        return False
    if isinstance(now, tuple):
        return len(now) == len(then) and all(map(same, now, then))
    if isinstance(now, float):
        return is_same_float(now, then)
    if isinstance(now, complex):
        return is_same_float(now.real, then.real) and is_same_float(now.imag, then.imag)
    if isinstance(now, types.MethodType):
        return now.__self__ is then.__self__ and now.__func__ is then.__func__
    return isinstance(now, SCALARS + (frozenset,)) and bool(now == then)


def is_same_float(now: float, then: float) -> bool:
    """Whether two floats are one number: -0.0 is not 0.0."""
    return now == then and math.copysign(1.0, now) == math.copysign(1.0, then)
