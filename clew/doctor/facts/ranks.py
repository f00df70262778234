"""What one rank of several has seen, as it leaves it for whoever compares the ranks."""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from clew.doctor.facts.places import Line


@dataclass
class RankFacts:
    """The facts of a rank. Values are checksums, so that equal ones can be told."""

    rank: int
    # What parameters and gradients were at a step: by step, then by parameter.
    values: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    # Name and line of each parameter.
    params: dict[str, tuple[str, Any]] = field(default_factory=dict)
    # What the replica was given while it trained, and where it was called.
    inputs: list[int] = field(default_factory=list)
    called: Any = None
    # Where the data come from: the line of the loop.
    loader: Any = None
    # By kind of random numbers, and worker: the states after batches for which some were drawn.
    drawn: dict[str, list[int]] = field(default_factory=dict)
    # Where a sampler of ranks began another epoch with the number of the last one, and how often.
    same_epoch: Any = None
    epochs: int = 0
    optimizer: Any = None
    # Parameters lie in parts over ranks: they differ as they should.
    is_sharded: bool = False
    has_ended: bool = False
    # What the doctor says of this rank by itself.
    findings: list[dict[str, Any]] = field(default_factory=list)
    iterations: int = 0
    # Optimizer steps, batches of loaders, and calls of the replica while it trains.
    steps: int = 0
    batches: int = 0
    calls: int = 0

    def line(self, name: str) -> Line | None:
        """A line that was noted."""
        found = getattr(self, name)
        return None if found is None else Line(*found)


class RankFile:
    """Where a rank leaves its facts: a file, and counts that are right even if it is killed."""

    def __init__(self, folder: str | Path, rank: int) -> None:
        self._path = Path(folder, f"rank-{rank}.json")
        self._drawn = f"drawn-{rank}"
        with open(Path(folder, f"counts-{rank}"), "w+b") as file:
            file.truncate(24)
            self.counts = memoryview(mmap.mmap(file.fileno(), 24)).cast("q")

    def path_of_worker(self, worker: int) -> str:
        """The file for what a worker of this rank notes."""
        return str(self._path.with_name(f"{self._drawn}-{worker}.lines"))

    def save(self, facts: RankFacts) -> None:
        """Replace what was left before."""
        facts.steps, facts.batches, facts.calls = self.counts
        partial = self._path.with_suffix(".new")
        partial.write_text(json.dumps(asdict(facts), default=str))
        os.replace(partial, self._path)


def note_drawn(path: str, states: dict[str, int]) -> None:
    """Note states of random numbers, as a worker."""
    with open(path, "a") as file:
        file.write(f"{json.dumps(states)}\n")


def load(folder: str | Path) -> list[RankFacts]:
    """The facts of all ranks that left some."""
    found = []
    for path in sorted(Path(folder).glob("rank-*.json"), key=lambda p: int(p.stem[5:])):
        facts = RankFacts(**json.loads(path.read_text()))
        counts = Path(folder, f"counts-{facts.rank}").read_bytes()
        facts.steps, facts.batches, facts.calls = memoryview(counts).cast("q")
        for lines in Path(folder).glob(f"drawn-{facts.rank}-*.lines"):
            worker = lines.stem.rpartition("-")[2]
            # The last line of a worker that was killed may have no end.
            for line in lines.read_text().splitlines(keepends=True):
                for kind, state in json.loads(line).items() if line.endswith("\n") else ():
                    facts.drawn.setdefault(f"{kind} in worker {worker}", []).append(state)
        found.append(facts)
    return found
