"""Runs the examples of the documentation: `python example.py`, without the time of the import.

A process of its own imports the library once. For every folder that it is told, a fork of it runs
the folder's `example.py` as a script, and writes what it prints to the files `out` and `err`.
"""

from __future__ import annotations

import importlib
import os
import runpy
import subprocess
import sys
import traceback
from pathlib import Path


class Runner:
    """The process that is told folders."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.examples"],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, folder: Path) -> tuple[str, str]:
        """What a program prints, and what it says on the error stream."""
        assert self.process.stdin is not None and self.process.stdout is not None
        (folder / "example.py").write_text(code, encoding="utf-8")
        print(folder, file=self.process.stdin, flush=True)
        assert self.process.stdout.readline(), "the process that runs examples has died"
        return (folder / "out").read_text(), (folder / "err").read_text()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def _run_here(folder: str) -> None:
    """In a fork: become `python example.py` in a folder."""
    os.chdir(folder)
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    sys.argv[:], sys.path[0] = ["example.py"], folder
    try:
        runpy.run_path("example.py", run_name="__main__")
    except BaseException:  # as a script's end: whatever it is, it is printed
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()


def main() -> None:
    for name in ("clew.nn", "clew.optim"):
        importlib.import_module(name)

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                _run_here(line.rstrip("\n"))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        print("done", flush=True)


if __name__ == "__main__":
    main()
