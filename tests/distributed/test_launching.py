"""`clew launch`, torchrun, and what is said of ranks that fail."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from clew.distributed.launcher import job
from tests.distributed.faults import PROGRAM, expected
from tests.distributed.ranks import command, launch, left_over, needs_mpi, passes

pytestmark = needs_mpi

# Some of those that `python -m tests.distributed.kills` runs.
SAMPLE = ["mute", "exits", "leaves", "drops", "segfault", "shape", "order", "late", "sleeps"]


@pytest.mark.parametrize("how", SAMPLE)
def test_a_fault_ends_the_job_with_its_cause(how: str) -> None:
    began = time.monotonic()
    ended = launch(3, PROGRAM, how, "1")
    assert time.monotonic() - began < 60
    assert ended.status != 0
    for words in expected(how, who=1, size=3):
        assert words in ended.err, ended.err
    # The cause is said once, and nothing of MPI's, nor the stack of a crash that it led to.
    assert ended.err.count("clew launch: ") == 1
    assert "prterun" not in ended.err and "MPI_ABORT" not in ended.err
    assert ("Fatal Python error" in ended.err) == (how == "segfault")


def test_what_killed_launchers_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "_MEMORY", str(tmp_path))
    with job._folder() as first:
        left = shutil.copytree(first, tmp_path / "clew-launch-left")
        with job._folder() as second:
            there = {path.name for path in tmp_path.iterdir()}
    assert there == {Path(first).name, Path(second).name}
    assert not left.exists() and not list(tmp_path.iterdir())


def program(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text)
    return path


def test_the_environment_of_torchrun(tmp_path: Path) -> None:
    path = program(
        tmp_path,
        "import os, sys, torch.distributed as dist\n"
        "assert dist.is_torchelastic_launched()\n"
        "dist.init_process_group(rank=int(os.environ['RANK']), "
        "world_size=int(os.environ['WORLD_SIZE']), init_method='env://')\n"
        "names = 'RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT'.split()\n"
        "print(*[os.environ[name] for name in names], *sys.argv[1:])\n",
    )
    lines = sorted(passes(2, path, "--lr", "3").out.splitlines())
    assert lines == [f"[{r}] {r} {r} 2 2 127.0.0.1 29500 --lr 3" for r in range(2)]
    words = ["-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone", str(path), "x"]
    lines = sorted(command("run", *words).out.splitlines())
    assert lines == [f"[{r}] {r} {r} 2 2 127.0.0.1 29500 x" for r in range(2)]


def test_programs_that_spawn(tmp_path: Path) -> None:
    path = program(
        tmp_path,
        "import torch, torch.distributed as dist, torch.multiprocessing as mp\n"
        "def main(rank, world_size):\n"
        "    dist.init_process_group('gloo', rank=rank, world_size=world_size)\n"
        "    x = torch.ones(1)\n"
        "    dist.all_reduce(x)\n"
        "    print(rank, x.item())\n"
        "    dist.destroy_process_group()\n"
        "if __name__ == '__main__':\n"
        "    context = mp.spawn(main, args=(2,), nprocs=2, join=False)\n"
        "    while context is not None and not context.join(0.1):\n"
        "        pass\n",
    )
    assert sorted(passes(2, path).out.splitlines()) == ["[0] 0 2.0", "[1] 1 2.0"]
    alone = command("run", str(path))
    assert alone.status == 0 and sorted(alone.out.splitlines()) == ["0 2.0", "1 2.0"], alone.err
    other = launch(3, path)
    assert other.status == 1 and "start the program with `clew launch -n 2" in other.err


SPAWNS = """
import os, signal, sys, torch.distributed as dist, torch.multiprocessing as mp
class Trainer:
    def __init__(self, rank, world_size):
        dist.init_process_group('gloo', rank=rank, world_size=world_size)
    def fit(self, how):
        if dist.get_rank() == 1 and how == 'raise':
            raise ValueError('bad')
        if dist.get_rank() == 1 and how == 'exit':
            sys.exit(3)
        if dist.get_rank() == 1 and how == 'kill':
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()
def main(rank, how, found):
    Trainer(rank, 2).fit(how)
    found.append(rank)
if __name__ == '__main__':
    with mp.Manager() as manager:
        found = manager.list()
        for how in sys.argv[1:]:
            try:
                mp.spawn(main, args=(how, found), nprocs=2)
            except mp.ProcessExitedException as error:
                print(error, error.exit_code, error.signal_name, error.error_index)
            except mp.ProcessRaisedException as error:
                print(str(error).splitlines()[2], str(error).splitlines()[-1], error.error_index)
        print(sorted(found))
    mp.spawn(main, args=('none', mp.get_context('spawn').Queue()), nprocs=2)
"""


def test_spawned_ranks_share_and_fail_as_processes_do(tmp_path: Path) -> None:
    ended = command("run", str(program(tmp_path, SPAWNS)), "well", "raise", "exit", "kill")
    assert ended.out.splitlines() == [
        "-- Process 1 terminated with the following error: ValueError: bad 1",
        "process 1 terminated with exit code 3 3 None 1",
        "process 1 terminated with signal SIGKILL -9 SIGKILL 1",
        "[0, 1]",
    ]
    assert ended.status == 1 and "give them what a multiprocessing.Manager() makes" in ended.err
    assert not left_over()


def test_loops_over_processes_are_told_how(tmp_path: Path) -> None:
    path = program(
        tmp_path,
        "import torch.distributed as dist, torch.multiprocessing as mp\n"
        "if __name__ == '__main__':\n"
        "    process = mp.Process(target=dist.init_process_group, args=('gloo',),\n"
        "        kwargs={'rank': 0, 'world_size': 2})\n"
        "    process.start()\n"
        "    process.join()\n",
    )
    assert (
        "call torch.multiprocessing.spawn(function, args, nprocs=2)"
        in command("run", str(path)).err
    )


def test_it_starts_again(tmp_path: Path) -> None:
    path = program(
        tmp_path,
        "import os, torch.distributed as dist\n"
        "dist.init_process_group()\n"
        "print(dist.get_world_size(), os.environ['TORCHELASTIC_RESTART_COUNT'])\n"
        "assert dist.get_world_size() == 1, 'too many'\n",
    )
    ended = launch(2, path, options=("--restarts", "1", "--min-ranks", "1"))
    assert ended.status == 0, ended.err
    assert "AssertionError: too many" in ended.err and "restart 1 of 1" in ended.err
    assert ended.out.splitlines()[-1] == "1 1"
    assert not left_over()


def test_what_cannot_start_says_so() -> None:
    ended = launch(2, Path("/nowhere/train.py"))
    assert ended.status == 2 and "can't open file '/nowhere/train.py'" in ended.err


def test_an_interrupt_that_was_lost_ends_the_job() -> None:
    """A signal's exception is swallowed where it is raised in a finalizer."""
    later = threading.Timer(0.5, job.INTERRUPTS.append, (signal.SIGINT,))
    later.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            job.Job(1, [sys.executable, "-c", "import time; time.sleep(60)"]).run()
    finally:
        later.join()
        job.INTERRUPTS.clear()
