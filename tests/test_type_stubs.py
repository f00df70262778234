"""The types that editors and type checkers see of what is attached at run time."""

from __future__ import annotations

import subprocess
import sys


def test_stubs_are_current_and_complete() -> None:
    """If this fails: python -m tests.type_stubs.

    In a fresh process: from the first class with `__torch_function__` on, functions look otherwise.
    """
    command = [sys.executable, "-m", "tests.type_stubs", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
