"""The world of ranks: how it is entered, its groups, and how it is left."""

from __future__ import annotations

import atexit
import itertools
import multiprocessing
import os
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from clew import errors
from clew.distributed.constants import default_pg_timeout
from clew.distributed.runtime import faults, mpi
from clew.distributed.runtime.process_group import ProcessGroup
from clew.distributed.runtime.watchdog import Watchdog
from clew.source import describe, user_where

NON_GROUP_MEMBER = -100


class World:
    """What this process knows of the others."""

    default: ProcessGroup | None = None
    watchdog: Watchdog | None = None
    # What the program gave, or was made when it asked for one.
    store: Any = None
    # The communicators from which all groups are made: all ranks, and for the end of the program.
    comm: Any = None
    leaving: Any = None


WORLD = World()
# The groups that this process is in, by name.
GROUPS: dict[str, ProcessGroup] = {}
_numbers = itertools.count(1)


def default_group() -> ProcessGroup:
    """The group of all ranks, which must be there."""
    found = WORLD.default
    if found is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group." + errors.at_user_line()
        )
    return found


def resolve(group: Any) -> ProcessGroup | None:
    """The group that an argument means: None is that of all ranks.

    None comes back where this process is not in it.
    """
    if group is None:
        return default_group()
    if isinstance(group, ProcessGroup):
        return group
    if group == NON_GROUP_MEMBER:
        return None
    raise TypeError(
        f"group must be a ProcessGroup or None, not {type(group).__name__}" + errors.at_user_line()
    )


# -- in and out ------------------------------------------------------------------------------------


def enter(backend: str, timeout: timedelta | None, rank: int, world_size: int) -> None:
    """Become one of the ranks that MPI knows, or the only one."""
    started = mpi.started_as()
    if multiprocessing.parent_process() is not None and (started is not None or world_size > 1):
        _refuse_child(started, world_size)
    wanted = int(os.environ.get("WORLD_SIZE", "1")) if world_size < 0 else world_size
    if started is None and wanted > 1:
        raise RuntimeError(
            f"init_process_group: {wanted} processes are expected, and MPI did not start this one. "
            f"Start the program with `clew launch -n {wanted} script.py`" + errors.at_user_line()
        )
    size, mine = (1, 0) if started is None else (started[1], started[0])
    if (world_size >= 0 and world_size != size) or (rank >= 0 and rank != mine):
        raise ValueError(
            f"init_process_group: rank={rank} and world_size={world_size} were given and this is "
            f"rank {mine} of {size}: start the program with `clew launch -n {world_size}`, or "
            "leave them out" + errors.at_user_line()
        )
    limit = timeout or default_pg_timeout
    if size == 1:
        WORLD.default = ProcessGroup(mpi.Solo(), [0], "0", limit, backend)
    else:
        _join(backend, limit)
    assert WORLD.default is not None
    GROUPS[WORLD.default.name] = WORLD.default


def _refuse_child(started: tuple[int, int, int] | None, world_size: int) -> None:
    """Raise in a process that multiprocessing has started, and end the job that it belongs to."""
    count = started[1] if started is not None else world_size
    what = (
        "init_process_group: multiprocessing started this process, and ranks are those that "
        f"`clew launch -n {count} script.py` starts: in place of a loop over Process(...), call "
        f"torch.multiprocessing.spawn(function, args, nprocs={count}), which runs the function in "
        "each of them"
    )
    if faults.is_launched():
        where = describe(user_where())
        faults.end_with("raised", f"RuntimeError: {what}", where, f"RuntimeError: {what}")
    raise RuntimeError(what + errors.at_user_line())


def _join(backend: str, timeout: timedelta) -> None:
    MPI = mpi.library()
    if WORLD.comm is None:
        WORLD.comm = MPI.COMM_WORLD.Dup()
        WORLD.leaving = MPI.COMM_WORLD.Dup()
        faults.install()
        # Runs before mpi4py's own function, which was registered when it was imported.
        atexit.register(leave)
        if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            WORLD.watchdog = Watchdog(MPI.COMM_WORLD.Dup(), GROUPS)
    comm = WORLD.comm.Dup()
    WORLD.default = ProcessGroup(comm, range(comm.size), "0", timeout, backend)


def leave() -> None:
    """The program has ended: wait for the others, who are told so if they wait for this rank."""
    for group in GROUPS.values():
        group.close()
    if WORLD.watchdog is not None:
        WORLD.watchdog.program_ends()
    request = WORLD.leaving.Ibarrier()
    while not request.Test():
        time.sleep(2e-3)
    if WORLD.watchdog is not None:
        WORLD.watchdog.stop()


def destroy(group: Any = None) -> None:
    """End a group, or with None all of them."""
    if group is None or group is WORLD.default:
        if WORLD.default is None:
            raise AssertionError(
                "Process group cannot be None: init_process_group was not called"
                + errors.at_user_line()
            )
        for each in GROUPS.values():
            each.close()
        GROUPS.clear()
        WORLD.default = None
        return
    found = resolve(group)
    if found is not None and GROUPS.pop(found.name, None) is None:
        raise ValueError("Invalid process group specified or has been destroyed.")
    if found is not None:
        found.close()


class deadline:
    """A moment some seconds from now; looking whether it is over lets others run."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._pause = 1e-5

    def is_over(self) -> bool:
        """Whether the moment has passed; waits a little if it has not."""
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, 5e-3)
        return time.monotonic() > self._until


# -- groups ----------------------------------------------------------------------------------------


def make_group(
    ranks: Sequence[int] | None, timeout: timedelta | None, backend: str | None, name: str = ""
) -> Any:
    """A group of some ranks; `NON_GROUP_MEMBER` for those who are not in it. All ranks call it."""
    parent = default_group()
    chosen = list(range(parent.size())) if ranks is None else sorted(ranks)
    if len(set(chosen)) != len(chosen) or any(not 0 <= r < parent.size() for r in chosen):
        raise ValueError(
            f"new_group: ranks {chosen} must be different numbers from 0 to {parent.size() - 1}, "
            "the ranks of the default group" + errors.at_user_line()
        )
    label = name or str(next(_numbers))
    limit, kind = timeout or parent.timeout, backend or parent.backend
    if parent.size() == 1:
        made = ProcessGroup(mpi.Solo(), [0], label, limit, kind) if chosen else None
    else:
        MPI = mpi.library()
        comms: list[Any] = []
        # One rank talks to nobody.
        color = 0 if parent.rank() in chosen and len(chosen) > 1 else MPI.UNDEFINED
        parent.run(
            "new_group",
            (f"ranks {chosen}", None),
            lambda: comms.append(
                parent.comm.Split(color, chosen.index(parent.rank()) if color == 0 else 0)
            ),
        )
        is_member = parent.rank() in chosen
        comm = comms[0] if len(chosen) > 1 else mpi.Solo()
        made = ProcessGroup(comm, chosen, label, limit, kind) if is_member else None
    if made is None:
        return NON_GROUP_MEMBER
    GROUPS[label] = made
    return made


def duplicate(group: Any, purpose: str) -> Any:
    """A group of the same ranks for another thread: its calls have an order of their own.

    All of the ranks call it; one that is there for the purpose is found again.
    """
    found = resolve(group)
    if found is None:
        return NON_GROUP_MEMBER
    label = f"{found.name} ({purpose})"
    if label not in GROUPS:
        comms: list[Any] = []
        found.run("duplicate", (purpose, None), lambda: comms.append(found.comm.Dup()))
        GROUPS[label] = ProcessGroup(comms[0], found.ranks, label, found.timeout, found.backend)
    return GROUPS[label]
