"""A rank that `clew launch` has started: its environment, and how its errors end the job."""

from __future__ import annotations

import faulthandler
import os

from clew.distributed.launcher.job import die_with_parent
from clew.distributed.runtime import faults, flight_recorder, mpi


def begin() -> None:
    """Make this process a rank as programs expect it, before the program runs."""
    die_with_parent()
    faulthandler.enable(all_threads=False)
    export_environment()
    faults.install()
    _write_down()


def _write_down() -> None:
    """Leave this process's number for the launcher: some of them name a process, and no rank."""
    folder, rank = os.environ.get(flight_recorder.FOLDER, ""), os.environ.get("RANK")
    if rank is not None and os.path.isdir(folder):
        with open(os.path.join(folder, f"process-{rank}"), "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))


def export_environment() -> None:
    """Set `RANK` and its kin from what MPI's launcher says."""
    started = mpi.started_as()
    if started is None:
        return
    rank, size, local_rank = started
    local_size = mpi.ranks_of_machine(size)
    os.environ.update(
        RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(local_rank),
        LOCAL_WORLD_SIZE=str(local_size), GROUP_RANK=str(rank // max(1, local_size)),
        ROLE_RANK=str(rank), ROLE_WORLD_SIZE=str(size),
    )  # fmt: skip
    os.environ.setdefault("TORCHELASTIC_RUN_ID", "clew")
    os.environ.setdefault("TORCHELASTIC_RESTART_COUNT", "0")
