"""Whether all ranks of a group call the same collective, and what is said where they do not."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.distributed.runtime import mpi
from clew.source import Place, describe

# The first call of each kind and shape is compared, and one of so many.
EVERY = 256


def interval() -> int:
    """Of how many calls one is compared in any case."""
    return 1 if os.environ.get("TORCH_DISTRIBUTED_DEBUG", "").upper() == "DETAIL" else EVERY


def in_words(name: str, details: tuple[Any, ...]) -> str:
    """A call without its place: `all_reduce of float32 [2, 3], SUM`."""
    if not details:
        return name
    dtype, shape, *rest = details
    words = [f"{dtype} {errors.shape_list(shape)}" if shape is not None else f"{dtype}"]
    return f"{name} of {', '.join([*words, *map(str, rest)])}"


def checksum(call: str) -> int:
    """A number that is the same for the same words."""
    return zlib.crc32(call.encode())


def compare(group: Any, name: str, details: tuple[Any, ...], place: Place | None) -> None:
    """Raise, on all ranks, if they have not called the same."""
    MPI = mpi.library()
    code = checksum(in_words(name, details))
    codes = np.array([code, -code], np.int64)
    group.control.Allreduce(MPI.IN_PLACE, (codes, MPI.INT64_T), MPI.MAX)
    if codes[0] != -codes[1]:
        said = group.control.allgather((in_words(name, details), describe(place)))
        raise RuntimeError(mismatch(group.name, group.sequence, list(zip(group.ranks, said))))


def mismatch(group: str, number: int, said: Sequence[tuple[int, tuple[str, str]]]) -> str:
    """Who called what at which line, as call of that number of a group: ranks and their calls."""
    ranks: dict[tuple[str, str], list[int]] = {}
    for rank, call in said:
        ranks.setdefault(call, []).append(rank)
    calls = list(ranks)
    lines = "".join(
        f"\n  {named(who)}: {call} at {place}" for (call, place), who in sorted(ranks.items())
    )
    if len({call for call, _ in calls}) == len(calls) or not calls:
        advice = "All ranks of a group must make the same calls in the same order."
    else:
        advice = "They come from different lines of the program: a branch that not all ranks take?"
    return (
        "Detected mismatch between collectives on ranks. The ranks called different collectives "
        f"as number {number} of the group '{group}':{lines}\n  {advice}"
    )


def named(ranks: list[int]) -> str:
    """`rank 0`, `ranks 1, 3`."""
    numbers = ", ".join(map(str, ranks))
    return f"rank {numbers}" if len(ranks) == 1 else f"ranks {numbers}"
