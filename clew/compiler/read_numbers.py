"""Numbers that a captured call has read from tensors, and whether it has used them.

`loss.item()` that is only returned need not be the same in a replay: the replay reads it anew. So
while a call is captured, `item()` gives a number that notices when it is used: computed with,
compared, formatted. One that was used is a guard. C functions take a number's value without asking
it; the call of one from the user's code (`watch.py` sees it) counts as a use of all of them, but
for functions that are known to look at no number.

So does a float among the arguments. It may be computed with other numbers, and scale tensors: it
is an input of the graph then, and the trace holds for all its values. Any other use makes it a
guard.
"""

from __future__ import annotations

import collections
import gc
import itertools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from clew.compiler.graph import Instruction, Value
from clew.core.op import Op
from clew.core.tensor import Tensor
from clew.utils._pytree import tree_flatten

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


class Given:
    """The numbers that a capture has given out: nobody is to find one when it has ended."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def give(self, kind: type, value: Any, reading: Any) -> Any:
        """A number of a kind that notices its use."""
        number = kind(value)
        number.reading = reading
        self.all.append(number)
        return number

    def end(self, containers: list[Any]) -> None:
        """Where the program has put one, let it have a number as it knows them.

        Containers that the collector does not know, as of a module that was imported before this
        library, are among those that are given.
        """
        kept = []
        while self.all:
            number = self.all.pop()
            # Two references are this function's.
            if sys.getrefcount(number) > _OWN_REFERENCES:
                kept.append(number)
        for number in kept:
            _put_instead(number, plain(number), [kept, containers], containers)


# The references to a local variable's object while `sys.getrefcount` counts them.
_OWN_REFERENCES = 2


def _put_instead(old: Any, new: Any, known: list[Any], containers: Iterable[Any] = ()) -> None:
    """Replace an object in all containers that have it, but for some that are known."""
    # No variable of this function may be one of a closure: its cell would be found, too.
    for owner in itertools.chain(gc.get_referrers(old), containers):
        if id(owner) in map(id, known) or isinstance(owner, types.FrameType):
            continue
        if isinstance(owner, dict):
            _replace(owner, list(owner.items()), old, new)
        elif isinstance(owner, list | collections.deque):
            _replace(owner, enumerate(owner), old, new)
        elif isinstance(owner, set):
            owner.remove(old)
            owner.add(new)
        elif isinstance(owner, tuple):
            items = list(owner)
            _replace(items, enumerate(owner), old, new)
            make = getattr(owner, "_make", type(owner))
            _put_instead(owner, make(items), [*known, items])
        elif isinstance(owner, types.CellType):
            owner.cell_contents = new
        else:
            _replace_attribute(owner, old, new)


def _replace(owner: Any, items: Iterable[tuple[Any, Any]], old: Any, new: Any) -> None:
    for key, each in items:
        if each is old:
            owner[key] = new


def _replace_attribute(owner: Any, old: Any, new: Any) -> None:
    names = list(getattr(owner, "__dict__", ()))
    for base in type(owner).__mro__:
        for name, each in vars(base).items():
            if isinstance(each, types.MemberDescriptorType):
                names.append(name)
    for name in names:
        if getattr(owner, name, None) is old:
            object.__setattr__(owner, name, new)


_UNWATCHED = {
    "__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__",
    "__setattr__", "__delattr__", "__dir__", "__doc__", "__getstate__", "__sizeof__",
}  # fmt: skip


def _watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def use(self: Any, *args: Any) -> Any:
        reading = self.__dict__.get("reading")
        if reading is not None:
            reading.is_used = True
        for each in args:
            used(each)
        return method(self, *args)

    use.__name__ = name
    return use


for _kind, _base in ((ReadFloat, float), (ReadInt, int)):
    for _name in dir(_base):
        _method = getattr(_base, _name)
        if _name not in _UNWATCHED and callable(_method) and not isinstance(_method, type):
            setattr(_kind, _name, _watched(_name, _method))


# -- numbers among the arguments -----------------------------------------------------------------


class GivenReading:
    """A number that is computed from floats among the arguments, by their places."""

    __slots__ = ("compute", "fixed", "given", "places")

    def __init__(
        self,
        places: frozenset[int],
        compute: Callable[[Any], float],
        fixed: set[int],
        given: Given,
    ) -> None:
        self.places = places
        self.compute = compute
        # The places of all arguments that were used, which are guards.
        self.fixed = fixed
        self.given = given

    @property
    def is_used(self) -> bool:
        return not self.places.isdisjoint(self.fixed)

    @is_used.setter
    def is_used(self, is_used: bool) -> None:
        self.fixed |= self.places


class GivenFloat(ReadFloat):
    """A float among the arguments, or one that was computed from such."""


def _reading(number: Any) -> Any:
    return object.__getattribute__(number, "reading")


def _computed(name: str) -> Callable[..., Any]:
    method: Callable[..., Any] = getattr(float, name)

    def compute(self: GivenFloat, *others: Any) -> Any:
        if any(isinstance(each, Tensor) for each in others):
            return NotImplemented
        mine = _reading(self)
        kinds = {type(each) for each in others}
        if mine.is_used or not kinds <= {float, int, GivenFloat}:
            mine.is_used = True
            return method(float.__float__(self), *map(used, others))
        readings = [_reading(each) for each in others if type(each) is GivenFloat]
        value = method(float.__float__(self), *map(plain, others))
        if value is NotImplemented:
            return value
        places = mine.places.union(*[each.places for each in readings])
        operands = [_reading(each) if type(each) is GivenFloat else each for each in others]

        def again(numbers: Any) -> float:
            values = [each.compute(numbers) if isinstance(each, GivenReading) else each
                      for each in operands]  # fmt: skip
            result: float = method(mine.compute(numbers), *values)
            return result

        reading = GivenReading(places, again, mine.fixed, mine.given)
        return mine.given.give(GivenFloat, value, reading)

    return compute


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg"):
    setattr(GivenFloat, f"__{_name}__", _computed(f"__{_name}__"))

# Operations that do nothing with a number but compute.
_SCALING = frozenset({"add", "sub", "rsub", "mul", "div"})
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


# A number that a graph takes: how it is computed from the arguments, and its type.
NumberInput = tuple[GivenReading, np.dtype]


class GivenNumbers:
    """The floats among the arguments of a call that is captured."""

    def __init__(self, numbers: tuple[float, ...]) -> None:
        self.numbers = numbers
        # The places of those that are guards: all that are not given out.
        self.fixed = set(range(len(numbers)))
        self.inputs: list[NumberInput] = []
        self.given = Given()

    def give(self, place: int) -> GivenFloat:
        """A float in the form that notices its use."""
        self.fixed.discard(place)
        reading = GivenReading(
            frozenset({place}), lambda numbers: numbers[place], self.fixed, self.given
        )
        number: GivenFloat = self.given.give(GivenFloat, self.numbers[place], reading)
        return number

    def use_all(self) -> None:
        """Take all numbers for used: a C function may have been given one."""
        self.fixed.update(range(len(self.numbers)))

    def dtype_for(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The type in which an operation takes numbers that are inputs; None if it does not."""
        if len(self.fixed) == len(self.numbers) or op.name not in _SCALING or params:
            return None
        if not any(type(each) is GivenFloat and not _reading(each).is_used for each in inputs):
            return None
        found = {each._array.dtype for each in inputs if isinstance(each, Tensor)}
        dtype = found.pop() if len(found) == 1 else None
        return dtype if dtype in _FLOATS else None

    def add(self, number: GivenFloat, dtype: np.dtype) -> np.ndarray:
        """Make a number an input of the graph; its array."""
        reading = _reading(number)
        self.inputs.append((reading, dtype))
        return np.array(float.__float__(number), dtype)


def noticing(given: GivenNumbers, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments, with floats that notice their use; not those inside of containers."""
    place = 0

    def changed(argument: Any) -> Any:
        nonlocal place
        leaves, _ = tree_flatten(argument)
        first, place = place, place + sum(type(each) is float for each in leaves)
        return given.give(first) if type(argument) is float else argument

    return [changed(each) for each in args], {key: changed(each) for key, each in kwargs.items()}


def is_given(leaf: Any) -> bool:
    """Whether something is, or contains, a float of the arguments that notices its use."""
    if type(leaf) is GivenFloat:
        return not _reading(leaf).is_used
    if type(leaf) in (list, tuple, set, frozenset):
        return any(map(is_given, leaf))
    return type(leaf) is dict and any(map(is_given, leaf.values()))


class Readings:
    """The numbers that a capture has given out."""

    def __init__(self) -> None:
        self.all: list[Reading] = []
        self.given = Given()

    def give(self, number: Any, value: Value, check: Instruction) -> Any:
        """A number in the form that notices its use."""
        if type(number) not in (float, int):
            return number
        reading = Reading(value, check)
        self.all.append(reading)
        return self.given.give(ReadFloat if type(number) is float else ReadInt, number, reading)

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
    if type(leaf) in (ReadFloat, GivenFloat):
        return float.__float__(leaf)
    return int.__int__(leaf) if type(leaf) is ReadInt else leaf


def used(leaf: Any) -> Any:
    """A number that an operation takes: that is a use."""
    if type(leaf) in (ReadFloat, ReadInt, GivenFloat):
        object.__getattribute__(leaf, "reading").is_used = True
        return plain(leaf)
    return leaf
