"""Programs in the words of PyTorch's tutorials, as ranks."""

from pathlib import Path

import pytest

from tests.distributed.ranks import needs_mpi, passes


@needs_mpi
def test_tutorials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUTORIAL_FOLDER", str(tmp_path))
    assert passes(2, "program_tutorials.py").out.count("tutorials done") == 2
