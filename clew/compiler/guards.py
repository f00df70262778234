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
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from operator import attrgetter, is_
from typing import Any

from clew.compiler.native.words import Words, version_of
from clew.core import module_changes
from clew.core.tensor import Tensor

SCALARS = (bool, int, float, complex, str, bytes, type(None))
MISSING = object()
# Words that are so often not as they were are not watched: something in there always changes.
_MOST_TIMES = 16


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
        # The parameters of optimizers.
        self._groups: list[Groups] = []
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
        # The same as words of memory, for what can be; and how often they were made anew.
        self._words: Words | None = None
        self._times = 0

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

    def groups(self, optimizer: Any, path: str) -> None:
        """Guard which parameters an optimizer has; the lists of them may be others."""
        self._groups.append(Groups(optimizer, path))

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

    def containers(self) -> list[Any]:
        """The namespaces, dicts and lists that were found."""
        found = [each[0] for each in (*self._names.values(), *self._dicts, *self._lists)]
        found = [each.own if isinstance(each, Attributes) else each for each in found]
        return [each for each in found if isinstance(each, dict | list)]

    # -- comparing -------------------------------------------------------------------------------

    def changed(self) -> str | None:
        """What is not as it was, or None."""
        words = self._words
        if words is not None and self._changes == module_changes.count() and words.are_same():
            return self._changed_names() or self._changed_others()
        changed = self._changed_names() or self._changed_words() or self._changed_others()
        if changed is None and self._times < _MOST_TIMES:
            self._times += 1
            self._words = self._as_words()
        return changed

    def _as_words(self) -> Words:
        """Watch what can be watched; the others are looked at in every call."""
        words = Words()
        self._others = [
            (get, owner, value, path)
            for name, (get, owners, values, paths) in self._read.items()
            for owner, value, path in zip(owners, values, paths, strict=True)
            if not words.attribute(owner, name)
        ]
        self._other_lists = [each for each in self._lists if not words.list(each[0])]
        self._are_groups_watched = all([words.list(s) for g in self._groups for s in g.lists()])
        registries = [(each, list(each), list(each.values()), "") for each in self._registries]
        self._other_dicts = [
            each for each in (*self._dicts, *registries) if not self._is_watched(words, each[0])
        ]
        return words

    def _is_watched(self, words: Words, found: Any) -> bool:
        if not isinstance(found, Attributes):
            return words.dict(found)
        before, found.version = found.version, version_of(found.own)
        if before is not None and before != found.version and not found.is_restless:
            # It was this one that has changed, where nobody looks.
            found.is_restless = True
            self._times -= 1
        return not found.is_restless and words.dict(found.own)

    def _changed_names(self) -> str | None:
        for space, values, prefix in self._names.values():
            now = map(space.get, values, repeat(MISSING))
            if not all(map(is_, now, values.values())):
                name = _first_change(space, values, values.values())
                if name is not None:
                    return f"{prefix}{name}"
        return None

    def _changed_others(self) -> str | None:
        """What has changed of that which is not watched."""
        is_watched = self._words is not None and self._are_groups_watched
        for groups in self._groups:
            if is_watched and groups.are_in_place():
                continue
            if groups.have_changed():
                return groups.path
            # The words are those of lists that are not in use any more.
            self._words = None
        for get, owner, value, path in self._others if self._words is not None else ():
            try:
                if not same(get(owner), value):
                    return path
            except ValueError:
                # A cell is empty.
                return "a variable"
        if self._words is not None:
            changed = _changed_list(self._other_lists) or _changed_dict(self._other_dicts)
            if changed is not None:
                return changed
        for ask, value, path in self._probes:
            now_value = ask()
            if now_value is not value and not same(now_value, value):
                return path
        return None

    def _changed_words(self) -> str | None:
        """What has changed of all that may be watched."""
        changed = _changed_dict(self._dicts) or _changed_list(self._lists)
        if changed is not None:
            return changed
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


class Attributes(dict[str, Any]):
    """The attributes of an object that mean something, as they are at every look."""

    def __init__(
        self, own: dict[str, Any], unseen: frozenset[str], names: frozenset[str] | None
    ) -> None:
        self.own, self._unseen, self._names = own, unseen, names
        # Its word when it was last watched, and whether that changes for nothing.
        self.version: int | None = None
        self.is_restless = False

    def __iter__(self) -> Any:
        names = self._names
        return (
            key
            for key in self.own
            if key not in self._unseen
            # The library's own of a module are read by the library.
            and (names is None or key in names or key.startswith("_") or key == "training")
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def values(self) -> Any:
        return [self.own[key] for key in self]

    def get(self, key: str, default: Any = None) -> Any:
        return self.own.get(key, default)


class Groups:
    """The parameters of an optimizer, in the order of its groups."""

    def __init__(self, optimizer: Any, path: str) -> None:
        self.optimizer, self.path = optimizer, path
        self._now()
        self.params = [param for params in self.params_of for param in params]

    def _now(self) -> None:
        self.groups = self.optimizer.param_groups
        self.params_of = [group["params"] for group in self.groups]

    def lists(self) -> list[Any]:
        """The lists that say which they are: one of groups, and that of each group."""
        return [self.groups, *self.params_of]

    def are_in_place(self) -> bool:
        """Whether these lists are those that the optimizer uses; not what is in them."""
        groups = self.optimizer.param_groups
        if groups is not self.groups or len(groups) != len(self.params_of):
            return False
        return all(g["params"] is params for g, params in zip(groups, self.params_of, strict=True))

    def have_changed(self) -> bool:
        """Whether there are other parameters, in whatever lists."""
        self._now()
        params = [param for params in self.params_of for param in params]
        return len(params) != len(self.params) or not all(map(is_, params, self.params))


def _changed_dict(dicts: Sequence[tuple[Any, list[Any], list[Any], str]]) -> str | None:
    for found, keys, kept, path in dicts:
        if len(found) != len(keys):
            return path
        if not (all(map(is_, found.values(), kept)) and all(map(is_, found, keys))):
            changed = _changed_key(found, keys, kept, path)
            if changed is not None:
                return changed
    return None


def _changed_list(lists: Sequence[tuple[Any, tuple[Any, ...], str]]) -> str | None:
    for items, before, path in lists:
        if len(items) != len(before) or not all(map(same, items, before)):
            return path
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
