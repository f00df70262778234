"""Words of memory that must be as they were: guards that one native call compares.

Most of what a trace depends on is who is where: the contents of a cell, the code of a function, the
items of a list, the array of a tensor. Each of these is a pointer in an object that a guard keeps
alive, and a dict has a word that is another one after every change of it. So the usual answer,
that nothing has changed, takes one comparison of some hundred words. Where a word differs, Python
looks, as it does where an interpreter has no such words.

Where the words are is found by trying, once: no layout is taken for granted.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import types
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from clew.core.tensor import Tensor, wrap
from clew.kernels.runtime import jit

_word_at = ctypes.c_size_t.from_address
_WORD = ctypes.sizeof(ctypes.c_size_t)


def _offset(owner: Any, value: Any, size: int) -> int | None:
    """Where in an object of some bytes a pointer to a value is, if in one place."""
    first, wanted = object.__basicsize__, id(value)
    places = range(first, size, _WORD)
    found = [place for place in places if _word_at(id(owner) + place).value == wanted]
    return found[0] if len(found) == 1 else None


def _sample_function() -> Any:
    def sample(a: Any = object(), *, b: Any = object()) -> None:  # noqa: B008  it must be unique
        return None

    return sample


@functools.cache
def _offsets() -> dict[str, int]:
    """The places of what guards look at, by name; not those that were not found."""
    function, contents = _sample_function(), object()
    cell = types.CellType(contents)
    tensor, items = wrap(np.zeros(1)), [object(), object()]
    flag: Any = object()
    tensor._requires_grad = flag
    found: dict[str, int | None] = {
        name: _offset(function, getattr(function, name), types.FunctionType.__basicsize__)
        for name in ("__code__", "__defaults__", "__kwdefaults__")
    }
    found["cell_contents"] = _offset(cell, contents, types.CellType.__basicsize__)
    found["_array"] = _offset(tensor, tensor._array, Tensor.__basicsize__)
    found["_requires_grad"] = _offset(tensor, flag, Tensor.__basicsize__)
    found["items"] = _items_offset(items)
    found["version"] = _version_offset()
    return {name: place for name, place in found.items() if place is not None}


def _items_offset(items: list[Any]) -> int | None:
    """Where a list has the address of its items; the word before it is their number."""
    place = list.__basicsize__ - 2 * _WORD
    length = _word_at(id(items) + place - _WORD).value
    address = _word_at(id(items) + place).value
    if length != len(items) or not address:
        return None
    words = [_word_at(address + _WORD * i).value for i in range(length)]
    return place if words == [id(each) for each in items] else None


def _version_offset() -> int | None:
    """Where a dict has a word that is another one after every change."""
    found: dict[str, Any] = {"a": 1}
    changes: list[Any] = [
        lambda: found.__setitem__("a", 2), lambda: found.__setitem__("b", 3),
        lambda: found.pop("a"), lambda: found.update(b=4), lambda: found.setdefault("c", 5),
        lambda: found.clear(), lambda: found.__setitem__("a", 1),
    ]  # fmt: skip
    places = range(object.__basicsize__, dict.__basicsize__, _WORD)
    seen: dict[int, set[int]] = {place: {_word_at(id(found) + place).value} for place in places}
    for number, change in enumerate(changes, 2):
        change()
        for place in list(seen):
            seen[place].add(_word_at(id(found) + place).value)
            if len(seen[place]) != number:
                del seen[place]
    # It stays where the dict is only read.
    for place in list(seen):
        before = _word_at(id(found) + place).value
        if (
            found.get("a") != 1
            or list(found) != ["a"]
            or _word_at(id(found) + place).value != before
        ):
            del seen[place]
    return min(seen, default=None)


def version_of(found: dict[Any, Any]) -> int | None:
    """The word of a dict that is another one after every change; None if there is none."""
    place = _offsets().get("version")
    return None if place is None else _word_at(id(found) + place).value


class Words:
    """Addresses with what must be there."""

    def __init__(self) -> None:
        self._table: list[int] = []
        self._kept: list[Any] = []
        self._array: Any = None

    def _put(self, owner: Any, address: int) -> None:
        self._kept.append(owner)
        self._table += address, _word_at(address).value

    def attribute(self, owner: Any, name: str) -> bool:
        """Watch an attribute of a function, a cell or a tensor; False if that is not possible."""
        place = _offsets().get(name)
        if place is None or not isinstance(owner, types.FunctionType | types.CellType | Tensor):
            return False
        value = getattr(owner, name)
        word = _word_at(id(owner) + place).value
        if word != id(value) and not (word == 0 and value is None):
            return False
        self._put(owner, id(owner) + place)
        return True

    def dict(self, found: Any) -> bool:
        """Watch a dict, or what a class's namespace shows; False if that is not possible."""
        place = _offsets().get("version")
        if isinstance(found, types.MappingProxyType):
            (found,) = gc.get_referents(found) or (None,)
        # An OrderedDict's order may change by itself.
        if place is None or type(found) not in (dict, defaultdict):
            return False
        self._put(found, id(found) + place)
        return True

    def list(self, found: Any) -> bool:
        """Watch the items of a list; False if that is not possible."""
        place = _offsets().get("items")
        if place is None or type(found) is not list:
            return False
        # Their number and address first: what they say is true while these are as they were.
        self._put(found, id(found) + place - _WORD)
        self._put(found, id(found) + place)
        address = _word_at(id(found) + place).value
        for number, item in enumerate(found):
            self._kept.append(item)
            self._put(found, address + _WORD * number)
        return True

    def are_same(self) -> bool:
        """Whether every word is what it was."""
        if self._array is None:
            array = np.array(self._table, np.uint64)
            self._arguments = array.ctypes.data, len(self._table) // 2
            self._compare = jit.machine().same_words
            # Last: a signal may come before.
            self._array = array
        return bool(self._compare(*self._arguments))


def of_tensors(tensors: Iterable[Tensor]) -> Words | None:
    """The arrays of tensors, and whether they require grad; None if that cannot be watched."""
    words = Words()
    names = "_array", "_requires_grad"
    return words if all([words.attribute(t, n) for t in tensors for n in names]) else None
