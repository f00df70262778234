"""What ranks print: taken apart by rank, with prefixes and colours; faults are kept aside."""

from __future__ import annotations

import json
import linecache
import os
import re
from collections.abc import Callable
from typing import Any, TextIO

from clew.distributed.runtime.faults import INSTALLED, MARK

# What Open MPI puts before each piece: job, rank and stream.
_TAG = re.compile(r"\[\d+,(\d+)\]<(?:stdout|stderr|stddiag)>: ?")
_COLORS = (36, 33, 32, 35, 34, 31, 96, 93, 92, 95)
# Lines of Open MPI about itself that say nothing about the program.
_CHATTER = re.compile(r"^-{20,}$|^prterun |^PMIx|^\s*$")
# What Python prints of a process that crashes: how it begins, its other lines, those of the stack.
_CRASH = "Fatal Python error: "
_OF_CRASH = re.compile(
    r"Current thread |Stack \(most|  File |  \.\.\.|  <|Extension modules: |\s*$"
)
_FRAME = re.compile(r'  File "(.+)", line (\d+) in ')


class Output:
    """Sorts the output of mpirun into lines of ranks, faults, and words of MPI's own."""

    def __init__(self, ranks: int, stdout: TextIO, stderr: TextIO, prefixed: bool = True) -> None:
        self._ranks = ranks
        self._streams = {"out": stdout, "err": stderr}
        self._prefixed = prefixed and ranks > 1
        self._rests: dict[tuple[str, int | None], str] = {}
        self.faults: list[dict[str, Any]] = []
        # What mpirun says itself.
        self.notes: list[str] = []
        self.on_fault: Callable[[], None] = lambda: None
        # The stacks of ranks that have crashed. Some do because of others: they are kept aside.
        self._crashes: dict[int, list[str]] = {}

    def feed(self, stream: str, text: str) -> None:
        """Take a piece of what mpirun wrote on one of its streams."""
        text = self._rests.pop((stream, None), "") + text
        if "\n" not in text:
            self._rests[stream, None] = text
            return
        whole, _, rest = text.rpartition("\n")
        if rest:
            self._rests[stream, None] = rest
        for line in whole.split("\n"):
            self._line(stream, line)

    def _line(self, stream: str, line: str) -> None:
        """A line may have pieces of several ranks: those that did not end theirs come first."""
        pieces = _TAG.split(line)
        if pieces[0]:
            self.notes.append(pieces[0])
        tagged = list(zip(pieces[1::2], pieces[2::2]))
        for number, (rank, piece) in enumerate(tagged):
            key = stream, int(rank)
            piece = self._rests.pop(key, "") + piece
            if number < len(tagged) - 1:
                self._rests[key] = piece
            else:
                self._show(stream, int(rank), piece)

    def _show(self, stream: str, rank: int, line: str) -> None:
        if MARK in line:
            line, _, fault = line.partition(MARK)
            self.faults.append(json.loads(fault))
            self.on_fault()
            if not line:
                return
        if line.startswith(_CRASH):
            self._crashes[rank] = []
        if rank in self._crashes and (line.startswith(_CRASH) or _OF_CRASH.match(line)):
            self._crashes[rank].append(line)
            return
        # Of a line that was drawn over and over, the last state.
        self.write(self._streams[stream], rank, line.rstrip("\r").rpartition("\r")[2])

    def write(self, target: TextIO, rank: int, line: str) -> None:
        """Print a line of a rank."""
        prefix = f"[{rank}] " if self._prefixed else ""
        if prefix and target.isatty():
            prefix = f"\x1b[{_COLORS[rank % len(_COLORS)]}m{prefix}\x1b[0m"
        target.write(f"{prefix}{line}\n")
        target.flush()

    def close(self) -> None:
        """Print what did not end with a line."""
        for stream in ("out", "err"):
            rest = self._rests.pop((stream, None), "")
            if rest:
                self._line(stream, rest)
        for (stream, rank), rest in sorted(self._rests.items(), key=str):
            if rank is not None and rest.strip():
                self._show(stream, rank, rest)
        self._rests.clear()

    def crash_of(self, rank: int) -> tuple[str, str]:
        """The user's line at which a rank crashed, and the stack; empty if it did not."""
        lines = self._crashes.get(rank, [])
        frames = (found for line in lines if (found := _FRAME.match(line)))
        for path, number in (frame.groups() for frame in frames):
            if not path.startswith(INSTALLED):
                text = linecache.getline(path, int(number)).strip()
                return f"{os.path.relpath(path)}:{number}: {text}", "\n".join(lines)
        return "", "\n".join(lines)

    def words_of_mpi(self) -> list[str]:
        """What mpirun said that is no chatter."""
        return [line for line in self.notes if not _CHATTER.match(line)]
