"""Which blocks of a model to checkpoint: the least time within some memory, by dynamic programming.

Blocks run one after the other, and their backwards in reverse. When the backward of a block runs,
memory holds what all blocks before it keep, and all that it saves itself: it was kept, or is
computed again. So a walk from the first block to the last needs to know no more of its past than
the bytes that are kept, and only those choices that are faster or keep less are followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

# Bytes are told apart to this part of the budget.
_PRECISION = 4096


@dataclass
class Block:
    """What was measured of one call of a module, or of the code between two."""

    name: str
    # Arrays by identity, with their bytes: those that are saved for backward, and the arguments.
    saved: dict[int, int] = field(default_factory=dict)
    inputs: dict[int, int] = field(default_factory=dict)
    # The seconds of its forward, and the bytes of the gradients of its parameters.
    seconds: float = 0.0
    gradients: int = 0
    may_checkpoint: bool = False
    # The sequence whose neighbours may be checkpointed with it as one.
    sequence: str | None = None


# From the first block to the one after the last.
Group = tuple[int, int]


@dataclass(frozen=True)
class _Choice:
    """The groups of blocks that are checkpointed so far, with what is kept and recomputed."""

    kept: int
    seconds: float
    groups: tuple[Group, ...]


def peak_without(blocks: Sequence[Block]) -> int:
    """The memory that is kept at most where nothing is checkpointed, as the walk counts it."""
    prefix, most = 0, 0
    rest = _gradients_from(blocks)
    for number, block in enumerate(blocks):
        new = _new(blocks, number, block.saved, is_after_kept=True)
        most = max(most, prefix + new + rest[number])
        prefix += new
    return most


def choose(blocks: Sequence[Block], budget: int) -> tuple[Group, ...] | None:
    """The groups to checkpoint that take the least time within a budget, or None."""
    rest = _gradients_from(blocks)
    unit = max(1, budget // _PRECISION)
    # By the number of blocks that are done, and whether the last of them was kept.
    states: list[dict[bool, list[_Choice]]] = [{} for _ in range(len(blocks) + 1)]
    states[0] = {True: [_Choice(0, 0.0, ())]}
    for number, block in enumerate(blocks):
        for is_after_kept, choices in states[number].items():
            fastest = _fastest(choices, unit)
            new = _new(blocks, number, block.saved, is_after_kept)
            for each in fastest:
                if each.kept + new + rest[number] <= budget:
                    kept = _Choice(each.kept + new, each.seconds, each.groups)
                    states[number + 1].setdefault(True, []).append(kept)
            for end in _ends(blocks, number):
                own = _new(blocks, number, block.inputs, is_after_kept)
                again = _all_saved(blocks, number, end)
                seconds = sum(one.seconds for one in blocks[number:end])
                for each in fastest:
                    if each.kept + own + again + rest[number] <= budget:
                        groups = (*each.groups, (number, end))
                        found = _Choice(each.kept + own, each.seconds + seconds, groups)
                        states[end].setdefault(False, []).append(found)
    done = [each for choices in states[-1].values() for each in choices]
    best = min(done, key=lambda each: each.seconds, default=None)
    return None if best is None else best.groups


def _fastest(choices: list[_Choice], unit: int) -> list[_Choice]:
    """Those that no other is faster than with as little kept."""
    found: list[_Choice] = []
    for each in sorted(choices, key=lambda each: (each.kept // unit, each.seconds)):
        if not found or each.seconds < found[-1].seconds:
            found.append(each)
    return found


def _ends(blocks: Sequence[Block], number: int) -> list[int]:
    """Where a group may end that begins with a block."""
    first = blocks[number]
    if not first.may_checkpoint:
        return []
    end = number + 1
    found = [end]
    while (
        end < len(blocks)
        and first.sequence is not None
        and blocks[end].may_checkpoint
        and blocks[end].sequence == first.sequence
    ):
        end += 1
        found.append(end)
    return found


def _new(blocks: Sequence[Block], number: int, held: dict[int, int], is_after_kept: bool) -> int:
    """The bytes that a block holds and that are not held already."""
    before = blocks[number - 1].saved if number and is_after_kept else {}
    return sum(nbytes for array, nbytes in held.items() if array not in before)


def _all_saved(blocks: Sequence[Block], number: int, end: int) -> int:
    """The bytes that a group of blocks saves, without its arguments."""
    arrays = {key: size for block in blocks[number:end] for key, size in block.saved.items()}
    return sum(nbytes for key, nbytes in arrays.items() if key not in blocks[number].inputs)


def _gradients_from(blocks: Sequence[Block]) -> list[int]:
    """The bytes of the gradients that are there when the backward of each block ends."""
    found, total = [], 0
    for block in reversed(blocks):
        total += block.gradients
        found.append(total)
    return found[::-1]
