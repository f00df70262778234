"""Eviction: a schedule that fits a budget, by dropping blocks when memory runs out.

The steps run in their order. Where there is no room for what one makes, the block is evicted that
is cheapest to make again for the memory that it frees and the time until it is needed. What a step
reads and is not there is made again first, with whatever that needs. (Kirisame et al., "Dynamic
tensor rematerialization", with the future known.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from clew.compiler.memory.schedule import Problem, peak, seconds_of


class Weights(NamedTuple):
    """How an eviction is judged: powers of its bytes, and of the steps until it is needed; and
    whether blocks count that were evicted before and need it. And which operand is made first."""

    size: float
    distance: float
    neighbours: bool
    first_first: bool


WEIGHTS = tuple(
    Weights(size, distance, neighbours, first_first)
    for size in (1.0, 0.5)
    for distance in (1.0, 0.5, 0.0)
    for neighbours in (True, False)
    for first_first in (True, False)
)
# A walk that makes things again and again has lost its way.
MOST_RUNS, DEEPEST = 4, 200
# So many schedules are looked through for what is made again in vain, each in so many places.
_IMPROVED, _PLACES = 4, 300
# Blocks that are so much smaller than what is missing are not looked at first.
_TOO_SMALL = 64


class NoRoom(Exception):
    """Nothing can be evicted any more."""


class _Eviction:
    """One walk through the steps."""

    def __init__(self, problem: Problem, budget: int, weights: Weights) -> None:
        self.problem, self.budget, self.weights = problem, budget, weights
        self.maker = problem.makers()
        self.schedule: list[int] = []
        self.there: set[int] = set()
        self.used = 0
        self.now = self.depth = 0
        # The steps that read each block, and the blocks that are made from it.
        self.readers: list[list[int]] = [[] for _ in problem.sizes]
        self.children: list[set[int]] = [set() for _ in problem.sizes]
        for number, step in enumerate(problem.steps):
            for block in step.reads:
                self.readers[block].append(number)
                self.children[block].update(step.makes)
        for block in problem.results:
            self.readers[block].append(len(problem.steps))
        # Blocks that are not there and will be made again.
        self.missing: set[int] = set()

    def run(self) -> list[int]:
        for number in range(len(self.problem.steps)):
            self.now = number
            self._run(number, frozenset())
        return self.schedule

    def _run(self, number: int, pinned: frozenset[int]) -> None:
        step = self.problem.steps[number]
        self._bring(step.reads, pinned)
        pinned |= set(step.reads)
        new = [block for block in step.makes if block not in self.there]
        self._make_room(sum(self.problem.sizes[b] for b in new) + step.scratch, pinned)
        self.schedule.append(number)
        for block in new:
            self.there.add(block)
            self.missing.discard(block)
            self.used += self.problem.sizes[block]
        # What nobody needs any more is freed.
        after = self.now + 1 if number == self.now else self.now
        for block in {*step.reads, *step.makes}:
            if block not in pinned - set(step.reads) and self._is_dead(block, after):
                self._drop(block)

    def _bring(self, blocks: tuple[int, ...], pinned: frozenset[int]) -> None:
        """Make blocks that a step reads and that are not there."""
        if len(self.schedule) > MOST_RUNS * len(self.problem.steps) or self.depth > DEEPEST:
            raise NoRoom
        self.depth += 1
        order = blocks if self.weights.first_first else blocks[::-1]
        # At first what makes one may push out another, which needs less room itself.
        for kept in (frozenset[int](), frozenset(blocks)):
            for block in order:
                if block not in self.there:
                    self._run(self.maker[block], pinned | kept)
                kept |= {block}
        self.depth -= 1

    def _make_room(self, nbytes: int, pinned: frozenset[int]) -> None:
        resident = self.problem.resident[self.now]
        while self.used + nbytes + resident > self.budget:
            excess = self.used + nbytes + resident - self.budget
            block = self._worst(pinned, excess // _TOO_SMALL)
            self._drop(block)
            self._miss(block)

    def _drop(self, block: int) -> None:
        self.there.discard(block)
        self.used -= self.problem.sizes[block]

    def _miss(self, block: int) -> None:
        """Note that a block, and what it is made from, will be needed again."""
        stack = [block]
        while stack:
            each = stack.pop()
            if each not in self.there and each not in self.missing:
                self.missing.add(each)
                stack += self.problem.steps[self.maker[each]].reads

    def _next_read(self, block: int, since: int) -> int | None:
        readers = self.readers[block]
        place = bisect_left(readers, since)
        return readers[place] if place < len(readers) else None

    def _is_dead(self, block: int, since: int) -> bool:
        return self._next_read(block, since) is None and self.missing.isdisjoint(
            self.children[block]
        )

    def _needs(self, block: int) -> tuple[int, int]:
        """The next step and the last that need a block, or a missing one that is made from it."""
        first, last, seen, stack = len(self.problem.steps), -1, {block}, [block]
        while stack:
            each = stack.pop()
            found = self._next_read(each, self.now)
            if found is not None:
                first, last = min(first, found), max(last, self.readers[each][-1])
            more = (self.children[each] & self.missing) - seen
            seen |= more
            stack += more
        return first, last

    def _worst(self, pinned: frozenset[int], least: int) -> int:
        """The block to evict, of more than so many bytes if there is one."""
        best, found = 0.0, -1
        size, distance, *_ = self.weights
        for block in self.there - pinned:
            if self.problem.sizes[block] <= least:
                continue
            if self._is_dead(block, self.now):
                return block
            following, until = self._needs(block)
            seconds = self._seconds_again(block, until)
            if seconds is None:
                continue
            gap = following - self.now + 1
            score = self.problem.sizes[block] ** size * gap**distance / (seconds + 1e-9)
            if score > best:
                best, found = score, block
        if found < 0 and least:
            return self._worst(pinned, 0)
        if found < 0:
            raise NoRoom
        return found

    def _seconds_again(self, block: int, until: int) -> float | None:
        """The time to make a block again, with all that is missing for it; None if it cannot be."""
        if block in self.problem.results:
            return None
        total, seen, stack = 0.0, {self.maker[block]}, [self.maker[block]]
        while stack:
            number = stack.pop()
            step = self.problem.steps[number]
            if step.again_until < until:
                return None
            total += step.seconds
            for parent in step.reads:
                maker = self.maker[parent]
                if parent not in self.there and maker not in seen:
                    seen.add(maker)
                    stack.append(maker)
        if self.weights.neighbours:
            total += sum(self.problem.steps[n].seconds for n in self._needing(block) - seen)
        return total

    def _needing(self, block: int) -> set[int]:
        """The makers of missing blocks that are made from a block."""
        found: set[int] = set()
        stack = [block]
        while stack:
            for child in self.children[stack.pop()] & self.missing:
                if self.maker[child] not in found:
                    found.add(self.maker[child])
                    stack.append(child)
        return found


def evicting(problem: Problem, budget: int, weights: Weights) -> list[int] | None:
    """A schedule within a budget, or None if this way of judging finds none."""
    try:
        return _Eviction(problem, budget, weights).run()
    except NoRoom:
        return None


def without_needless(problem: Problem, schedule: Sequence[int], budget: int) -> list[int]:
    """A schedule without the recomputation for which there is room after all, dearest first."""
    seen: set[int] = set()
    again = []
    for place, number in enumerate(schedule):
        if number in seen:
            again.append(place)
        seen.add(number)
    again.sort(key=lambda place: -problem.steps[schedule[place]].seconds)
    left: list[int | None] = list(schedule)
    for place in again[:_PLACES]:
        before, left[place] = left[place], None
        if peak(problem, [number for number in left if number is not None]) > budget:
            left[place] = before
    return [number for number in left if number is not None]


def cheapest(problem: Problem, budget: int) -> list[int] | None:
    """The best schedule within a budget that eviction finds, or None."""
    if peak(problem, problem.once) <= budget:
        return problem.once

    def seconds(schedule: Sequence[int]) -> float:
        return seconds_of(problem, schedule)

    found = {tuple(evicting(problem, budget, weights) or ()) for weights in WEIGHTS} - {()}
    best = sorted(found, key=seconds)[:_IMPROVED]
    return min(
        [without_needless(problem, each, budget) for each in best], key=seconds, default=None
    )


def smallest(problem: Problem, precision: float) -> list[int]:
    """The schedule that needs the least memory, to a part of it.

    Time does not matter to it: what was measured is different each time, the least memory is not.
    """
    steps = [step._replace(seconds=1.0) for step in problem.steps]
    problem = problem._replace(steps=steps)
    best = problem.once
    # A step needs what it reads and makes.
    low = max(
        resident + step.scratch + sum(problem.sizes[b] for b in (*step.reads, *step.makes))
        for step, resident in zip(problem.steps, problem.resident, strict=True)
    )
    high = peak(problem, best)
    while high - low > max(precision * high, 1):
        middle = (low + high) // 2
        ways = (evicting(problem, middle, weights) for weights in WEIGHTS)
        found = next((each for each in ways if each is not None), None)
        if found is None:
            low = middle
        else:
            best, high = found, peak(problem, found)
    return best
