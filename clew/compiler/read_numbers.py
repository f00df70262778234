"""Numbers that a captured call has read from tensors, and whether it has used them.

`loss.item()` that is only returned need not be the same in a replay: the replay reads it anew. So
while a call is captured, `item()` gives a number that notices when it is used: computed with,
compared, formatted. One that was used is a guard. C functions take a number's value without asking
it; the call of one from the user's code (`watch.py` sees it) counts as a use of all of them, but
for functions that are known to look at no number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.compiler.graph import Instruction, Value

# C functions that leave the value of a number alone.
HARMLESS = frozenset({
    "append", "callable", "enumerate", "extend", "get", "getattr", "hasattr", "id", "insert",
    "isinstance", "issubclass", "items", "iter", "keys", "len", "locals", "next", "pop", "range",
    "reversed", "setattr", "super", "update", "values", "vars", "zip", "__exit__", "__enter__",
    "popleft", "setdefault", "setprofile", "clear",
})  # fmt: skip


class Reading:
    """One number: the value that it was read from, and the check that it is unless unused."""

    __slots__ = ("check", "is_used", "value")

    def __init__(self, value: Value, check: Instruction) -> None:
        self.value = value
        self.check = check
        self.is_used = False


class ReadFloat(float):
    """A float that notices its use."""

    reading: Reading


class ReadInt(int):
    """An int that notices its use."""

    reading: Reading


_UNWATCHED = {
    "__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__",
    "__setattr__", "__delattr__", "__dir__", "__doc__", "__getstate__", "__sizeof__",
}  # fmt: skip


def _watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def use(self: Any, *args: Any) -> Any:
        reading = self.__dict__.get("reading")
        if reading is not None:
            reading.is_used = True
        return method(self, *args)

    use.__name__ = name
    return use


for _kind, _base in ((ReadFloat, float), (ReadInt, int)):
    for _name in dir(_base):
        _method = getattr(_base, _name)
        if _name not in _UNWATCHED and callable(_method) and not isinstance(_method, type):
            setattr(_kind, _name, _watched(_name, _method))


class Readings:
    """The numbers that a capture has given out."""

    def __init__(self) -> None:
        self.all: list[Reading] = []

    def give(self, number: Any, value: Value, check: Instruction) -> Any:
        """A number in the form that notices its use."""
        if type(number) not in (float, int):
            return number
        given: Any = (ReadFloat if type(number) is float else ReadInt)(number)
        given.reading = Reading(value, check)
        self.all.append(given.reading)
        return given

    def use_all(self) -> None:
        """Take all numbers for used: a C function may have been given one."""
        for reading in self.all:
            reading.is_used = True


def reading_of(number: Any) -> Reading | None:
    """The reading behind a number that was not used."""
    if type(number) not in (ReadFloat, ReadInt):
        return None
    reading: Reading = object.__getattribute__(number, "reading")
    return None if reading.is_used else reading


def plain(leaf: Any) -> Any:
    """A number as programs know it; everything else as it is."""
    if type(leaf) is ReadFloat:
        return float.__float__(leaf)
    return int.__int__(leaf) if type(leaf) is ReadInt else leaf


def used(leaf: Any) -> Any:
    """A number that an operation takes: that is a use."""
    if type(leaf) in (ReadFloat, ReadInt):
        object.__getattribute__(leaf, "reading").is_used = True
        return plain(leaf)
    return leaf
