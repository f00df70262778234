"""Who started a rank, as environments say it; what MPICH's launcher says of failures."""

from __future__ import annotations

import io
import os

import pytest

from clew.distributed.launcher import ranks, starting
from clew.distributed.launcher.job import Job, failure_of
from clew.distributed.launcher.output import Output
from clew.distributed.runtime import mpi
from tests.distributed.ranks import needs_mpi

# Of rank 5 of 8 on a second machine with four ranks, except for one machine of PMI's.
LAUNCHERS = {
    "openmpi": {
        "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8",
        "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    },
    "mpich": {"PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"},
    # PBS starts MPI's own launcher and adds its variables.
    "pbs": {
        "PBS_JOBID": "1.server", "PMI_RANK": "5", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1",
        "MPI_LOCALNRANKS": "4",
    },
    "slurm": {
        "SLURM_JOB_ID": "7", "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8",
        "SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
    },
}  # fmt: skip
_NAMES = ("OMPI_", "PMI_", "PMIX_", "MPI_", "SLURM_", "PBS_", "RANK", "WORLD_SIZE", "LOCAL_")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in list(os.environ):
        if name.startswith(_NAMES):
            monkeypatch.delenv(name)
    found = dict(os.environ)
    monkeypatch.setattr(os, "environ", found)
    return found


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_of_every_launcher(launcher: str, environment: dict[str, str]) -> None:
    assert mpi.started_as() is None and not starting.is_rank()
    environment.update(LAUNCHERS[launcher])
    assert mpi.started_as() == (5, 8, 1) and starting.is_rank()
    ranks.export_environment()
    wanted = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
    assert {name: environment[name] for name in wanted} == wanted
    assert environment["GROUP_RANK"] == "1"


def test_a_batch_script_of_slurm_is_no_rank(environment: dict[str, str]) -> None:
    environment.update({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0"})
    assert mpi.started_as() is None and not starting.is_rank()


@needs_mpi
def test_ranks_that_wait_leave_their_core_unless_they_are_told_otherwise(
    environment: dict[str, str],
) -> None:
    name = "OMPI_MCA_mpi_yield_when_idle"
    job = Job(2, ["train.py"])
    assert job._environment("folder")[name] == "1"
    environment[name] = "0"
    assert job._environment("folder")[name] == "0"


HYDRA = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 28214 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
"""


def test_words_of_mpich() -> None:
    out, err = io.StringIO(), io.StringIO()
    output = Output(2, out, err)
    output.feed("out", "[1,1]<stdout>: hello\n")
    output.feed("err", HYDRA)
    output.close()
    assert out.getvalue() == "[1] hello\n"
    found = failure_of(137, output, None, {28214: 1, 28213: 0})
    assert found is not None and found.rank == 1
    assert found.title == "was killed by SIGKILL: out of memory?"
    silent = failure_of(4, Output(2, out, err))
    assert silent is not None and "status 4, and no rank said why" in silent.title
