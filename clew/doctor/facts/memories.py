"""Memories that keep one array many times: the program changes it and stores it again."""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew.doctor.facts.places import Line, locals_of, user_frames
from clew.doctor.facts.retained_graphs import storing_line

_ENTRIES = 16  # of each memory that are looked at
_SPACES = 64
_SAME = 3  # as many entries with one array are no accident


class MemoryWatch:
    """Now and then looks into lists and queues that have names."""

    def __init__(self) -> None:
        # Arrays that a memory holds several times: what was in them when they were seen last.
        self._seen: dict[int, tuple[weakref.ref[np.ndarray], int]] = {}
        self.found: Counter[Line] = Counter()

    def look(self) -> None:
        frames = list(user_frames(2))
        files = list(dict.fromkeys(frame.f_code.co_filename for frame in frames))
        for name, memory in _memories([locals_of(frame) for frame in frames]):
            array = _repeated(memory)
            if array is not None and self._has_changed(array):
                line = storing_line(name, files)
                if line is not None:
                    self.found[line] += 1

    def _has_changed(self, array: np.ndarray) -> bool:
        content = hash(array.tobytes())
        before = self._seen.get(id(array))
        self._seen[id(array)] = weakref.ref(array), content
        return before is not None and before[0]() is array and before[1] != content


def _memories(spaces: list[dict[str, Any]]) -> Iterator[tuple[str, list[Any] | deque[Any]]]:
    """Lists and queues, by their names: variables, and attributes of the program's objects."""
    todo: list[tuple[dict[str, Any], int]] = [(space, 0) for space in spaces]
    seen = {id(space) for space in spaces}
    while todo:
        names, depth = todo.pop()
        for name, value in list(names.items()):
            if isinstance(value, list | deque):
                yield name, value
            inner: Any = getattr(value, "__dict__", None)
            is_object = type(value).__module__ == "__main__" and isinstance(inner, dict)
            if is_object and depth < 2 and id(inner) not in seen and len(seen) < _SPACES:
                seen.add(id(inner))
                todo.append((inner, depth + 1))


def _repeated(memory: list[Any] | deque[Any]) -> np.ndarray | None:
    """An array that is in several entries, each of which has other values beside it."""
    first = memory[0] if memory else None
    if len(memory) < _SAME or isinstance(first, int | float | str):
        return None
    last = [memory[-1 - number] for number in range(min(len(memory), _ENTRIES))]
    held: Counter[int] = Counter()
    arrays: dict[int, np.ndarray] = {}
    for entry in last:
        own = {id(part): part for part in _parts(entry) if isinstance(part, np.ndarray)}
        held.update(own.keys())
        arrays.update(own)
    for key, count in held.most_common(1):
        if count >= _SAME and arrays[key].size and arrays[key].flags.writeable:
            return arrays[key]
    return None


def _parts(entry: Any) -> list[Any]:
    if isinstance(entry, np.ndarray):
        return [entry]
    if isinstance(entry, dict):
        return list(entry.values())
    if isinstance(entry, tuple | list):
        return list(entry[:16])
    inner = getattr(entry, "__dict__", None)
    return list(inner.values()) if isinstance(inner, dict) else []
