"""Programs with objects that take over functions by `__torch_function__`, under `clew run`."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.cli.test_run import run, write

DUCK = """
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, cls in types, len(args)
    """
CALLS = """
    for call in CALLS:
        if (child := os.fork()) == 0:  # each is the first that meets it
            print(call, eval(call), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    """


@pytest.mark.parametrize(
    ("from_main", "calls"),
    [
        (True, ("x.where(d, x)", "x.expand_as(d)", "F.relu(d)", "x.index_select(0, d)", "x[d]")),
        (False, ("x.add(d)", "x + d", "d + x", "x @ d", "x < d", "x.exp_().mul(d)", "d - x")),
        (False, ("2 / x + d", "torch.exp(d)", "torch.cat([x, d])", "x.sub(d)", "d >= x")),
    ],
)
def test_the_first_object_that_takes_over_is_noticed(
    tmp_path: Path, from_main: bool, calls: tuple[str, ...]
) -> None:
    write(tmp_path / "helper.py", DUCK)
    start = textwrap.dedent(DUCK) if from_main else "from helper import Duck"
    program = f"""import os, torch
import torch.nn.functional as F
{start}
x, d = torch.ones(2), Duck()
CALLS = {calls!r}
{textwrap.dedent(CALLS)}
"""
    path = write(tmp_path / "program.py", program)
    theirs = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    done = run("program.py", cwd=tmp_path)
    assert done.stdout == theirs.stdout, done.stderr
