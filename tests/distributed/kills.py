"""Jobs that are ended at random: `python -m tests.distributed.kills 100`.

Each must end by itself, soon, with the first cause, its rank and its line, leave nothing behind,
and lose no checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import clew
from clew.distributed import checkpoint as dcp
from tests.distributed.faults import FAULTS, PROGRAM, expected
from tests.distributed.ranks import FOLDER, command, environment

# The faults of programs; a rank, or the launcher, of jobs that write checkpoints is ended from
# outside.
KINDS = [*FAULTS, "save is killed", "async save is killed", "launcher is ended"]
ENDS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
# When a job is given up, and what counts as a clean end: 10 s, and the timeout of the group.
LIMIT, SOON = 60.0, 12.0


def one(kind: str, ranks: int, rng: random.Random) -> str | None:
    """Run one job to its end; what is wrong with how it ended, or None."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, temporary = Path(folder) / "checkpoint", Path(folder) / "temporary"
        temporary.mkdir()
        who, when = rng.randrange(ranks), rng.randrange(1, 20)
        if kind in FAULTS:
            words = [PROGRAM, kind, str(who), str(when)]
        else:
            words = ["program_saving.py", str(checkpoint), *kind.split()[:1]]
        start = [sys.executable, "-m", "clew", "launch", "-n", str(ranks)]
        job = subprocess.Popen(
            [*start, FOLDER / words[0], *words[1:]],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment() | {"TMPDIR": str(temporary)},
        )  # fmt: skip
        if kind in FAULTS:
            await_line(job, "begins")
        else:
            processes = await_saving(job, ranks)
            time.sleep(rng.random())
            if kind == "launcher is ended":
                job.send_signal(rng.choice(ENDS))
            else:
                os.kill(processes[who], signal.SIGKILL)
        # How long the ranks take to start depends on what else the machine does.
        began = time.monotonic()
        try:
            _, err = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            job.kill()
            return f"did not end in {LIMIT:.0f} s"
        took = time.monotonic() - began
        if found := wrong(kind, who, ranks, job.returncode, err):
            return found
        if kind not in FAULTS and (found := lost(checkpoint)):
            return found
        if took > SOON:
            return f"took {took:.0f} s to end"
        return left(str(temporary), 10.0 if kind == "launcher is ended" else 1.0)


def wrong(kind: str, who: int, ranks: int, status: int, err: str) -> str | None:
    """What was not said, or said too often."""
    if status == 0:
        return "ended with status 0"
    if kind == "launcher is ended":
        return None
    if err.count("clew launch: ") != 1 or "MPI_ABORT" in err or "prterun" in err:
        return f"said {err[-1500:]!r}"
    words = expected(kind, who, ranks) if kind in FAULTS else [f"rank {who} of {ranks}: was killed"]
    missing = [each for each in words if each not in err]
    return f"did not say {missing} but {err[-1500:]!r}" if missing else None


def lost(checkpoint: Path) -> str | None:
    """Whether a checkpoint is whole, and of one step."""
    state = {"x": clew.zeros(7, 3), "step": 0}
    dcp.load(state, checkpoint_id=checkpoint)
    if not clew.equal(state["x"], clew.full((7, 3), float(state["step"]))):
        return "the checkpoint is of several steps"
    return None


def left(temporary: str, seconds: float) -> str | None:
    """What a job has left, when its processes have had so many seconds: processes and files."""
    until = time.monotonic() + seconds
    while (processes := processes_of(temporary)) and time.monotonic() < until:
        time.sleep(0.05)
    if processes:
        return f"processes are left: {processes}"
    if files := [str(path) for path in Path(temporary).rglob("*") if path.is_file()]:
        return f"files are left: {files}"
    return None


def processes_of(temporary: str) -> list[str]:
    """The processes that have a folder for temporary files."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={temporary}".encode() in path.read_bytes().split(b"\0"):
                found.append((path.parent / "cmdline").read_text().replace("\0", " "))
    return found


def await_line(job: subprocess.Popen[str], word: str) -> None:
    """Read what a job prints up to a line with a word."""
    assert job.stdout is not None
    while (line := job.stdout.readline()) and word not in line:
        pass


def await_saving(job: subprocess.Popen[str], ranks: int) -> dict[int, int]:
    """The processes of all ranks, when they have said so and something is saved."""
    processes: dict[int, int] = {}
    saved = False
    assert job.stdout is not None
    while len(processes) < ranks or not saved:
        line = job.stdout.readline()
        assert line, "the program ended by itself"
        saved = saved or "saved" in line
        if "process" in line:
            processes[int(line[1 : line.index("]")])] = int(line.split()[-1])
    return processes


def main() -> int:
    """Run so many jobs, the kinds by turns, with random ranks and moments."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    rng = random.Random(seed)
    failed = 0
    for number in range(count):
        kind, ranks = KINDS[(seed + number) % len(KINDS)], rng.randint(2, 4)
        found = one(kind, ranks, rng)
        failed += found is not None
        print(f"{number} {kind} on {ranks}: {found or 'ended cleanly'}", flush=True)
    # A launcher that was killed cannot remove its folder: the next one does.
    command("launch", "-n", "1", "no such program")
    there = sorted(path.name for path in Path("/dev/shm").glob("clew-launch-*"))
    print(f"{count - failed} of {count} ended cleanly; left in memory: {there}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
