"""A sample of tests/cold.py: fresh processes, an empty code cache, more threads than cores."""

import pickle
from pathlib import Path

import pytest

from tests import cold

# What has functions compiled inside of other kernels, by whichever thread comes first.
SAMPLE = (
    "attention of one query", "products of odd sizes", "3x3 convolution", "LSTM", "rows", "Adam",
)  # fmt: skip


@pytest.mark.parametrize("program", SAMPLE)
def test_fresh_processes_with_an_empty_code_cache(program: str, tmp_path: Path) -> None:
    table = tmp_path / "calls"
    table.write_bytes(pickle.dumps([]))
    ended = [cold.run(cold.Task(threads, program, []), table) for threads in (1, 2, 16)]
    assert not any(each.failure for each in ended), [each.failure for each in ended]
    assert len({each.digests[program] for each in ended}) == 1
