"""Programs as real ranks under `clew launch`, with a time limit and nothing left over."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
LIMIT = 120

needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None,
    reason="mpi4py is not installed: pip install 'clew[mpi]'",
)


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def environment() -> dict[str, str]:
    found = {
        **os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    return {name: value for name, value in found.items() if not name.startswith("PYTEST_")}


def command(*words: str) -> Ended:
    """Run the command line of clew to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "clew", *words],
        capture_output=True, text=True, timeout=LIMIT, env=environment(), cwd=ROOT,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def launch(ranks: int, program: str | Path, *args: str, options: tuple[str, ...] = ()) -> Ended:
    """Run a program of this folder, or of a path, as ranks."""
    path = program if isinstance(program, Path) else FOLDER / program
    return command("launch", "-n", str(ranks), *options, str(path), *args)


def passes(ranks: int, program: str | Path, *args: str) -> Ended:
    """The same, and it must end well."""
    ended = launch(ranks, program, *args)
    assert ended.status == 0, ended.out[-3000:] + ended.err[-3000:]
    return ended


def left_over() -> list[str]:
    """What jobs have left in memory. Jobs that another test runs meanwhile have time to end."""
    there = set(Path("/dev/shm").glob("clew-launch-*"))
    until = time.monotonic() + LIMIT
    while any(path.exists() for path in there) and time.monotonic() < until:
        time.sleep(0.1)
    return [path.name for path in there if path.exists()]
