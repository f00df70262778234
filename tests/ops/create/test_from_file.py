"""from_file against torch's, on the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import clew
from tests import oracle


@pytest.mark.parametrize("dtype", ["int32", "float64", "bool"])
def test_what_one_library_writes_the_other_reads(tmp_path: Path, dtype: str) -> None:
    path = str(tmp_path / "numbers")
    ours = clew.from_file(path, shared=True, size=4, dtype=getattr(clew, dtype))
    assert ours.tolist() == [0, 0, 0, 0]
    ours[1] = 1
    theirs = torch.from_file(path, shared=True, size=4, dtype=getattr(torch, dtype))
    oracle.assert_same(ours, theirs)
    theirs[2] = 1
    oracle.assert_same(ours, theirs)


def test_private_writes_stay_private(tmp_path: Path) -> None:
    path = str(tmp_path / "numbers")
    clew.from_file(path, True, 3).fill_(2)
    private = clew.from_file(path, False, 3)
    private[0] = 5
    assert clew.from_file(path, size=3).tolist() == [2, 2, 2]
    assert clew.from_file(path).shape == (0,)


def test_a_shared_file_is_extended(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    clew.from_file(str(path), True, 2)
    assert clew.from_file(str(path), True, 4, requires_grad=True).requires_grad
    assert path.stat().st_size == 16


@pytest.mark.parametrize("arguments", [(False, 40), (False, 4), (True, 4)])
def test_what_is_refused(tmp_path: Path, arguments: tuple[Any, ...]) -> None:
    path = tmp_path / "missing" / "numbers" if arguments[0] else tmp_path / "numbers"
    if arguments[1] == 40:
        path.write_bytes(b"abc")
    _, expected = oracle.outcome(torch.from_file, str(path), *arguments)
    _, error = oracle.outcome(clew.from_file, str(path), *arguments)
    assert expected is not None
    oracle.assert_same_error(error, expected, 2)
