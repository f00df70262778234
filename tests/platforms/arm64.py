"""`make test-arm64`: clew on an emulated arm64 Linux, and compiled for other systems.

A Python for arm64 is put together in `build/arm64` (debian.py: 200 MB, once). The program of
sample.py runs there twice and here once: the numbers must agree, workers must have worked, and the
second process must find all code in the cache. Then a sample of the tests runs there. Without QEMU,
or where packages cannot be had, it says so and ends well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.platforms import cross_compile, debian, sample

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CLEW_ARM64", ROOT / "build" / "arm64"))
# Numbers that other instructions round differently agree so well.
TOLERANCE = 1e-5
# Seconds after which a process hangs; emulation is twenty times slower.
LIMIT = 600


def dependencies() -> list[str]:
    """The project's own."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        named: list[str] = tomllib.load(file)["project"]["dependencies"]
    return named


def outcome(python: str, cache: str, threads: int) -> tuple[list[float], bool, int]:
    """What the program of the sample says."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "CLEW_CACHE_DIR": cache,
        "OMP_NUM_THREADS": str(threads),
    }  # fmt: skip
    done = subprocess.run(
        [python, "-c", sample.PROGRAM], env=environment, stdout=subprocess.PIPE, text=True,
        timeout=LIMIT, check=True,
    )  # fmt: skip
    numbers, compiled, busy = json.loads(done.stdout)
    return numbers, compiled, busy


def check_program(python: str) -> list[str]:
    """What is wrong with the program on arm64."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        here, _, _ = outcome(sys.executable, f"{folder}/here", 1)
        first, compiled, busy = outcome(python, f"{folder}/there", 2)
        second, compiled_again, _ = outcome(python, f"{folder}/there", 2)
    error = max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(first, here, strict=True))
    print(f"largest difference from {os.uname().machine}: {error:.1e}; busy workers: {busy}")
    if error > TOLERANCE:
        wrong.append("other numbers than here")
    if first != second:
        wrong.append("other numbers in a second process")
    if busy < 1:
        wrong.append("no worker had anything to do")
    if not compiled or compiled_again:
        wrong.append("the code cache was not used")
    return wrong


def main() -> int:
    failed = cross_compile.main()
    try:
        python = str(debian.make_python(FOLDER, [*dependencies(), *sample.REQUIREMENTS]))
    except debian.Missing as error:
        print(f"skipped: {error}")
        return failed
    wrong = check_program(python)
    print("\n".join(wrong) or "the program runs on arm64", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2"}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sample.TESTS]
    tests = subprocess.run(command, env=environment, cwd=ROOT).returncode
    return int(bool(failed or wrong or tests))


if __name__ == "__main__":
    sys.exit(main())
