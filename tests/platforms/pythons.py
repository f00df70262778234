"""`make test-pythons`: clew on every Python from 3.11 on that is installed, with the oldest NumPy
that it takes and with the newest.

Each has an environment in `build/pythons`. Pythons that are not installed are named and skipped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.platforms import sample

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("CLEW_PYTHONS", ROOT / "build" / "pythons"))
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def find(version: str) -> str | None:
    """An installed Python: pyenv's newest of a version, or the one of the system."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    if found:
        return str(found[-1])
    other = shutil.which(f"python{version}")
    # A shim of pyenv stands for Pythons that may not be chosen.
    return None if other is None or "shims" in Path(other).parts else other


def oldest_numpy() -> str:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'"numpy>=([\d.]+)"', text)
    return f"numpy=={version}.*"


def check(python: str, name: str, numpy: str) -> str:
    """What is wrong in an environment, or nothing."""
    folder = FOLDER / name
    own = folder / "bin" / "python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    needed = [numpy, *sample.REQUIREMENTS, "-e", str(ROOT)]
    install = [str(own), "-m", "pip", "install", "--quiet", "--only-binary=numpy,llvmlite"]
    done = subprocess.run([*install, *needed], capture_output=True, text=True)
    if done.returncode:
        return f"not installed: {done.stderr.strip().splitlines()[-1]}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2"}
    said = subprocess.run(
        [str(own), "-c", sample.PROGRAM], capture_output=True, text=True, env=environment
    )
    if said.returncode:
        return f"the program fails: {said.stderr.strip().splitlines()[-1]}"
    if not json.loads(said.stdout)[2]:
        return "no worker had anything to do"
    command = [str(own), "-m", "pytest", "-q", "-p", "no:cacheprovider", *sample.TESTS]
    tests = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    return tests.stdout[-2000:] if tests.returncode else ""


def main() -> int:
    failed = 0
    for version in VERSIONS:
        python = find(version)
        if python is None:
            print(f"Python {version}: skipped, it is not installed", flush=True)
            continue
        for numpy in (oldest_numpy(), "numpy"):
            name = f"{version}-{'newest' if numpy == 'numpy' else 'oldest'}-numpy"
            wrong = check(python, name, numpy)
            failed += bool(wrong)
            print(f"Python {version}, {numpy}: {wrong or 'passes'}", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
