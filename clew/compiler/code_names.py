"""What a function's code may look up, as its bytecode says."""

from __future__ import annotations

import dis
import functools
import itertools
import types
from typing import Any, NamedTuple

# Functions that look up an attribute by a text.
_BY_TEXT = frozenset({"getattr", "hasattr", "attrgetter", "vars", "__dict__"})


@functools.cache
def may_look(code: types.CodeType) -> bool:
    """Whether code asks for types, or computes with complex numbers, which ask nobody either."""
    if not {"type", "__class__"}.isdisjoint(code.co_names):
        return True
    return any(
        isinstance(each, complex) or (isinstance(each, types.CodeType) and may_look(each))
        for each in code.co_consts
    )


def codes_of(code: types.CodeType) -> dict[int, types.CodeType]:
    """Code and all code inside of it, by identity.

    It is not cached: equal code of another function, as of one that was defined twice, is another.
    """
    found = {id(code): code}
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            found.update(codes_of(each))
    return found


class Names(NamedTuple):
    """What a function's code may look up."""

    # In its module.
    own: tuple[str, ...]
    # Anywhere, as attributes, by name or by what may be given to `getattr`.
    attributes: tuple[str, ...]
    texts: tuple[str, ...]
    # The modules that it imports, by level and name.
    imported: tuple[tuple[int, str], ...]
    # Whether a pattern names attributes.
    matches_classes: bool


class Executed:
    """The code of the user's that a call has run."""

    def __init__(self) -> None:
        self.codes: dict[int, types.CodeType] = {}
        # Whether a function has looked at attributes by names that no code says.
        self.looks_at_all = False

    def enter(self, code: types.CodeType) -> None:
        """Some code runs."""
        self.codes[id(code)] = code

    def names(self) -> frozenset[str] | None:
        """The names of all attributes that the code may look at; None: any."""
        found = [names_of(code) for code in self.codes.values()]
        names = frozenset(itertools.chain(*[each.attributes for each in found]))
        if self.looks_at_all or not names.isdisjoint(LOOKING_AT_ALL):
            return None
        return None if any(each.matches_classes for each in found) else names


# Functions that look at attributes by names that they are given, or at all.
LOOKING_AT_ALL = frozenset({
    "__dict__", "__getattribute__", "__getstate__", "asdict", "astuple", "attrgetter", "copy",
    "deepcopy", "delattr", "dir", "fields", "format", "format_map", "getattr", "getattr_static",
    "getmembers", "hasattr", "methodcaller", "replace", "setattr", "vars",
})  # fmt: skip


@functools.cache
def names_of(code: types.CodeType) -> Names:
    """All names that a function's code may look up, and that of functions inside of it."""
    own: dict[str, None] = {}
    imported: dict[tuple[int, str], None] = {}
    constants: list[Any] = []
    matches = False
    for each in dis.get_instructions(code):
        if each.opname == "LOAD_CONST":
            constants.append(each.argval)
        elif each.opname == "IMPORT_NAME":
            imported[(constants[-2], each.argval)] = None
        elif "GLOBAL" in each.opname or each.opname in ("LOAD_NAME", "DELETE_NAME"):
            own[each.argval] = None
        matches |= each.opname == "MATCH_CLASS"
    inner = [names_of(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    texts: tuple[str, ...] = ()
    if not _BY_TEXT.isdisjoint(code.co_names):
        texts = tuple(each for each in constants if isinstance(each, str) and each.isidentifier())
    return Names(
        _joined(tuple(own), *[each.own for each in inner]),
        _joined(code.co_names, *[each.attributes for each in inner]),
        _joined(texts, *[each.texts for each in inner]),
        tuple({**imported, **{key: None for each in inner for key in each.imported}}),
        matches or any(each.matches_classes for each in inner),
    )


def _joined(*names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(itertools.chain(*names)))
