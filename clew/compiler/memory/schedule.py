"""A schedule: the steps of a call in the order in which they run, some of them more than once.

Steps read and make blocks of memory. A block lives from the step that makes it to the last that
reads it; if it is made once more in between, the first copy is freed after its own last reader. So
a schedule alone says how much memory is needed at each moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """What one step reads and makes (blocks by their number), and what it costs."""

    reads: tuple[int, ...]
    makes: tuple[int, ...]
    seconds: float = 0.0
    # Bytes that it needs besides, while it runs.
    scratch: int = 0
    # It may run again before any step with a number up to this one; -1: it runs once.
    again_until: int = -1


class Problem(NamedTuple):
    """The steps of a call, in their order, and the memory that they work on."""

    steps: list[Step]
    sizes: list[int]
    # Blocks that must be there at the end.
    results: frozenset[int]
    # Bytes that are there anyway while each step runs: state, arguments.
    resident: list[int]

    @property
    def once(self) -> list[int]:
        """The schedule without recomputation."""
        return list(range(len(self.steps)))

    def makers(self) -> dict[int, int]:
        """The step that makes each block."""
        return {block: number for number, step in enumerate(self.steps) for block in step.makes}


def seconds_of(problem: Problem, schedule: Iterable[int]) -> float:
    """The time of a schedule."""
    return sum(problem.steps[number].seconds for number in schedule)


def last_reads(problem: Problem, schedule: Sequence[int]) -> dict[tuple[int, int], int]:
    """By block and the place where a copy of it is made: the last place that needs the copy."""
    last: dict[tuple[int, int], int] = {}
    made_at: dict[int, int] = {}
    for place, number in enumerate(schedule):
        step = problem.steps[number]
        for block in step.reads:
            last[block, made_at[block]] = place
        for block in step.makes:
            made_at[block] = place
            last[block, place] = place
    for block in problem.results:
        last[block, made_at[block]] = len(schedule)
    return last


def profile(problem: Problem, schedule: Sequence[int]) -> list[int]:
    """The bytes that are needed while each step of a schedule runs."""
    freed = [0] * (len(schedule) + 2)
    for (block, _), place in last_reads(problem, schedule).items():
        freed[place + 1] += problem.sizes[block]
    needed: list[int] = []
    live = reached = 0
    for place, number in enumerate(schedule):
        step = problem.steps[number]
        reached = max(reached, number)
        live += sum(problem.sizes[block] for block in step.makes) - freed[place]
        needed.append(live + step.scratch + problem.resident[reached])
    return needed


def peak(problem: Problem, schedule: Sequence[int]) -> int:
    """The most memory that a schedule needs at one time."""
    return max(profile(problem, schedule), default=0)
