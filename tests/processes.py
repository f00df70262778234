"""Programs in processes of their own, with a time limit: a hang is a failure, not a stuck test."""

import os
import signal
import subprocess
import sys

import pytest

# Since 3.12 Python says of every fork beside threads that it may hang. Whether it does is what the
# programs find out.
QUIET = ("-W", "ignore:This process:DeprecationWarning")


def ended(program: str, limit: int, **environment: str) -> tuple[int, str]:
    """How a program ends and what it says; when its time is over, it is ended with its children."""
    process = subprocess.Popen(
        [sys.executable, *QUIET, "-c", program], env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(f"still running after {limit} seconds: {process.communicate()[0]}")
    return process.returncode, output
