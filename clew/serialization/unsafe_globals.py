"""Which names a file would need, read from its pickles without executing them."""

from __future__ import annotations

import io
import os
import pickletools
from typing import IO, Any

from clew.serialization import allowed
from clew.serialization.archive import ArchiveReader, is_archive
from clew.serialization.loading import GARBAGE, explained, opened, peek


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """The names that a file uses and that are not allowed; nothing of it is loaded.

    Args:
        f: a path, or a file open for reading bytes

    Example:
        >>> from fractions import Fraction
        >>> clew.save(Fraction(1, 3), "third.pt")
        >>> clew.serialization.get_unsafe_globals_in_checkpoint("third.pt")
        ['fractions.Fraction']
    """
    with opened(f) as file:
        if is_archive(peek(file)):
            stream, pickles = io.BytesIO(ArchiveReader(file).read("data.pkl")), 1
        else:
            stream, pickles = io.BytesIO(file.read()), 4
    try:
        used = {name: None for _ in range(pickles) for name in _names_in_pickle(stream)}
    except GARBAGE as error:
        raise explained(error) from error
    return [f"{module}.{name}" for module, name in used if not allowed.is_allowed(module, name)]


def _names_in_pickle(stream: IO[bytes]) -> dict[tuple[str, str], None]:
    """The names in the next pickle of a stream, in order, without executing it."""
    names: dict[tuple[str, str], None] = {}
    texts: list[Any] = []
    memo: dict[Any, Any] = {}
    for opcode, argument, _ in pickletools.genops(stream):
        if opcode.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            names[module, name] = None
        elif opcode.name == "STACK_GLOBAL":
            names[str(texts[-2]), str(texts[-1])] = None
        elif "UNICODE" in opcode.name:
            texts.append(argument)
        elif opcode.name == "MEMOIZE" or opcode.name.endswith("PUT"):
            memo[len(memo) if argument is None else argument] = texts[-1] if texts else None
        elif opcode.name.endswith("GET"):
            texts.append(memo.get(argument))
    return names
