"""The collectives that ranks called last, in memory that outlives them.

Two different collectives that meet may crash a rank inside of MPI, where nothing can be said any
more. So each rank writes down what it calls in a file in memory of `clew launch`, which finds the
first number at which ranks of its machine called different things.
"""

from __future__ import annotations

import itertools
import json
import mmap
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clew.distributed.runtime import checking

# Where the launcher wants the files.
FOLDER = "CLEW_LAUNCH_FOLDER"
# So many calls of a group are known, a power of two.
SLOTS = 256
NUMBER_OF_SLOT = SLOTS - 1
# A slot has the checksum of a call above its number, so that both are written at once.
_BITS = 24
NUMBERS = (1 << _BITS) - 1

_generations: dict[str, Iterator[int]] = defaultdict(itertools.count)


class FlightRecorder:
    """The last calls of a group, as its rank in the world writes them down."""

    def __init__(self, group: str, ranks: list[int], rank: int) -> None:
        self._folder = os.environ.get(FOLDER, "")
        self._rank = rank
        # A group that is made again after its end counts from the beginning.
        again = next(_generations[group])
        self.slots: Any = [0] * SLOTS
        if self._folder and os.path.isdir(self._folder):
            path = Path(self._folder, f"calls-{ranks[0]}-{again}-{group}".replace("/", "_"))
            path.mkdir(exist_ok=True)
            with open(path / str(rank), "w+b") as file:
                file.truncate(8 * SLOTS)
                self.slots = memoryview(mmap.mmap(file.fileno(), 8 * SLOTS)).cast("q")
        else:
            self._folder = ""

    def describe(self, call: str, place: str) -> int:
        """The code of a call, whose words and line are kept; made at the first call of a kind."""
        code = checking.checksum(call)
        if self._folder:
            line = json.dumps([code, call, place])
            with open(Path(self._folder, f"words-{self._rank}"), "a") as file:
                file.write(f"{line}\n")
        return code << _BITS


def note_place(rank: int, place: str) -> None:
    """Write down where the program is: of a rank that is killed nothing else is known."""
    folder = os.environ.get(FOLDER, "")
    if os.path.isdir(folder):
        Path(folder, f"place-{rank}").write_text(place)


def last_place(folder: str, rank: int) -> str:
    """Where a rank was when it last wrote it down."""
    try:
        return Path(folder, f"place-{rank}").read_text()
    except OSError:
        return ""


def mismatch(folder: str) -> str | None:
    """The first call of a group that ranks did not make alike, in words."""
    for path in sorted(Path(folder).glob("calls-*")):
        calls = {int(file.name): _numbered(file) for file in sorted(path.iterdir())}
        numbers = sorted({number for each in calls.values() for number in each})
        for number in numbers:
            codes = {rank: each[number] for rank, each in calls.items() if number in each}
            if len(set(codes.values())) > 1:
                words = {rank: _words(folder, rank).get(code) for rank, code in codes.items()}
                name = path.name.split("-", 3)[3]
                return checking.mismatch(
                    name, number, [(rank, said) for rank, said in words.items() if said]
                )
    return None


def _numbered(file: Path) -> dict[int, int]:
    """The code of each call by its number."""
    data = memoryview(file.read_bytes().ljust(8 * SLOTS, b"\0")[: 8 * SLOTS]).cast("q")
    return {each & NUMBERS: each >> _BITS for each in data if each}


def _words(folder: str, rank: int) -> dict[int, tuple[str, str]]:
    try:
        lines = Path(folder, f"words-{rank}").read_text().splitlines()
    except OSError:
        return {}
    calls = map(json.loads, lines)
    return {code: (call, f"{place} (its first such call)") for code, call, place in calls}
