"""Which processors the engines may use, so that all have as many as they have threads."""

import os
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

_SYSTEM = Path("/sys/devices/system/cpu")


def some_processors(count: int) -> Set[int] | None:
    """So many of those that this process may use, of different cores while there are such.

    None for all: where there are no more, or the system does not let a process choose.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    if count >= len(allowed):
        return None
    # The first processor of every core, then those that share a core with one of them.
    cores = [_siblings(each) for each in allowed]
    first = [each for i, each in enumerate(allowed) if cores[i] not in cores[:i]]
    others = [each for each in allowed if each not in first]
    return frozenset((first + others)[:count])


def _siblings(processor: int) -> str:
    """The processors of the same core, in the system's words."""
    file = _SYSTEM / f"cpu{processor}" / "topology" / "thread_siblings_list"
    return file.read_text().strip() if file.exists() else str(processor)


@contextmanager
def on_processors(processors: Set[int] | None) -> Iterator[None]:
    """Processes that start in here may use these processors only; None changes nothing."""
    if processors is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
