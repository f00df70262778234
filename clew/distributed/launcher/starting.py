"""`clew launch`: runs a program as ranks, again if it fails and restarts are left."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from clew.distributed.launcher.job import INTERRUPTS, Failure, Job, LaunchError


@dataclass(frozen=True)
class Options:
    """How many ranks, where, and what happens after a failure."""

    ranks: int
    restarts: int = 0
    fewest_ranks: int | None = None
    hosts: str | None = None
    prefixed: bool = True
    master_address: str | None = None
    master_port: str | None = None
    # What of the command line of clew runs the program.
    runner: Sequence[str] = ("run",)


def launch(options: Options, program: Sequence[str]) -> int:
    """Run `clew run program...` as ranks; returns the exit status, after saying what failed."""
    ranks, status = options.ranks, 0
    for attempt in range(options.restarts + 1):
        try:
            failure = _job(options, program, ranks, attempt).run()
        except LaunchError as error:
            print(f"clew launch: {error}", file=sys.stderr)
            return 2
        if failure is None:
            return 0
        say(failure, ranks)
        status = failure.status or 1
        if attempt < options.restarts:
            if options.fewest_ranks is not None:
                ranks = max(ranks - 1, options.fewest_ranks)
            print(
                f"clew launch: starting again with {ranks} ranks "
                f"(restart {attempt + 1} of {options.restarts})",
                file=sys.stderr,
            )
    return status


def _job(options: Options, program: Sequence[str], ranks: int, attempt: int) -> Job:
    environment = {
        "TORCHELASTIC_RUN_ID": "clew",
        "TORCHELASTIC_RESTART_COUNT": str(attempt),
        "TORCHELASTIC_MAX_RESTARTS": str(options.restarts),
    }
    if options.master_address:
        environment["MASTER_ADDR"] = options.master_address
    if options.master_port:
        environment["MASTER_PORT"] = options.master_port
    command = [sys.executable, "-m", "clew", *options.runner, *program]
    return Job(ranks, command, options.hosts, environment, options.prefixed)


def say(failure: Failure, ranks: int) -> None:
    """Print the first cause: rank, what happened, the line; the text of an error before it."""
    if failure.rank < 0:
        print(f"clew launch: {failure.title}", file=sys.stderr)
        return
    for line in failure.text.rstrip().splitlines():
        print(f"[{failure.rank}] {line}", file=sys.stderr)
    at = f", at {failure.place}" if failure.place else ""
    others = f" ({_listed(failure.others)} too)" if failure.others else ""
    print(
        f"clew launch: rank {failure.rank} of {ranks}: {failure.title}{at}{others}", file=sys.stderr
    )


def _listed(ranks: Sequence[int]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks))


def interrupted(number: int, frame: FrameType | None) -> NoReturn:
    """A handler of SIGINT and SIGTERM: the ranks are ended."""
    INTERRUPTS.append(number)
    raise KeyboardInterrupt


def is_rank() -> bool:
    """Whether an MPI launcher (`srun`, `mpirun`) has started this process already."""
    return (
        "OMPI_COMM_WORLD_RANK" in os.environ
        or "PMI_RANK" in os.environ
        or ("SLURM_PROCID" in os.environ and int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) > 1)
    )
