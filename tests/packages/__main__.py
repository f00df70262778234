"""`python -m tests.packages [NAME ...]`: import each package and run its program with clew.

Packages are installed into a folder of their own (by default ~/.cache/clew-packages, or
$CLEW_PACKAGES), at the versions of `table.tsv`, without their dependency on PyTorch. A program
trains for a few steps and prints numbers; where PyTorch is installed it runs with it, too, and the
numbers are compared.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
CACHE = Path(os.environ.get("CLEW_PACKAGES", Path.home() / ".cache" / "clew-packages"))
# Numbers of a few steps of training agree so well.
TOLERANCE = 2e-4
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


class Package(NamedTuple):
    """One line of the table."""

    name: str
    version: str
    module: str
    needs: list[str]


def packages() -> list[Package]:
    """The table: a package, its version, the module to import, what it needs besides."""
    with open(FOLDER / "table.tsv", encoding="utf-8") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows)
        return [
            Package(name, version, module, needs.split()) for name, version, module, needs in rows
        ]


def install(requirement: str) -> Path:
    """The folder of one package, which is installed if it is not there."""
    target = CACHE / requirement.replace("==", "-")
    if not target.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*command, "--target", str(target), requirement], check=True)
    return target


def run(path: list[Path], program: str, with_clew: bool) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, by clew or by PyTorch."""
    start = "import clew.aliasing; clew.aliasing.install()\n" if with_clew else ""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *path])),
        "HF_HUB_OFFLINE": "1",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-W", "ignore", "-c", start + program]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=CACHE)


def agree(ours: str, theirs: str) -> bool:
    """Whether two outputs have the same text, and numbers that are close."""
    if _NUMBER.sub("", ours) != _NUMBER.sub("", theirs):
        return False
    pairs = zip(map(float, _NUMBER.findall(ours)), map(float, _NUMBER.findall(theirs)), strict=True)
    return all(abs(a - b) <= TOLERANCE * max(1.0, abs(b)) for a, b in pairs)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1][:120] if text.strip() else "it ended without a word"


def judge(package: Package, with_torch: bool) -> tuple[str, str, str]:
    """Whether it imports, whether its program runs, whether the results agree."""
    path = [install(f"{package.name}=={package.version}"), *map(install, package.needs)]
    done = run(path, f"import {package.module}", True)
    if done.returncode:
        return f"no: {last_line(done.stderr)}", "", ""
    file = FOLDER / f"{package.module}.py"
    if not file.exists():
        return "yes", "none", ""
    program = file.read_text(encoding="utf-8")
    done = run(path, program, True)
    if done.returncode:
        return "yes", f"no: {last_line(done.stderr)}", ""
    if not with_torch:
        return "yes", "yes", ""
    reference = run(path, program, False)
    if reference.returncode:
        return "yes", "yes", f"PyTorch fails: {last_line(reference.stderr)}"
    return "yes", "yes", "yes" if agree(done.stdout, reference.stdout) else "no"


def main(wanted: list[str]) -> int:
    CACHE.mkdir(parents=True, exist_ok=True)
    probe = [sys.executable, "-c", "import torch"]
    with_torch = subprocess.run(probe, capture_output=True, cwd=CACHE).returncode == 0
    failed = 0
    for package in packages():
        if not wanted or package.name in wanted:
            said = judge(package, with_torch)
            failed += any(each.startswith("no") and each != "none" for each in said)
            print(f"{package.name:30} {package.version:12} {' | '.join(said)}", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
