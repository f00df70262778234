"""`python -m tests.packages [NAME ...]`: import each package and run its program with clew.

Packages are installed at the versions of `table.tsv`, with what they need, into a virtual
environment of their own (by default ~/.cache/clew-packages, or $CLEW_PACKAGES) that sees the
packages of this one: PyTorch is there, so that pip does not fetch it. A program trains for a few
steps and prints numbers; it runs by `clew run` and with PyTorch, and the numbers are compared.

`python -m tests.packages --page` writes `docs/packages.md` from the table.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.packages import DOCS, PROGRAMS, Package, packages, page

ROOT = DOCS.parent
CACHE = Path(os.environ.get("CLEW_PACKAGES", Path.home() / ".cache" / "clew-packages"))
PYTHON = CACHE / "bin" / "python"
# Numbers of a few steps of training agree so well.
TOLERANCE = 2e-4
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")
# PyTorch without a GPU cannot load torchvision's compiled part; torchvision then needs these names.
_FOR_PYTORCH = """import sys, torch
for name in ("nms", "qnms"):
    torch.library.define("torchvision::" + name, "(Tensor a, Tensor b, float c) -> Tensor")
import runpy
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def prepare() -> None:
    """The virtual environment, if it is not there: with the packages of this one."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(CACHE)], check=True)
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        own = subprocess.run([str(PYTHON), "-c", code], capture_output=True, text=True, check=True)
        path = Path(own.stdout.strip()) / "surrounding.pth"
        path.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def install(package: Package) -> str:
    """What is wrong with the installation of a package, or nothing."""
    # torchvision names the one PyTorch that its compiled part is for.
    options = ["--no-deps"] if package.name == "torchvision" else []
    wanted = f"{package.name}=={package.version}"
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", *options, wanted, "torch", "numpy"]
    done = subprocess.run(command, capture_output=True, text=True)
    return last_line(done.stderr) if done.returncode else ""


def run(file: Path, with_clew: bool) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, by clew or by PyTorch."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1",
        # mpi4py, which Lightning imports, looks for its library beside the interpreter.
        "LD_LIBRARY_PATH": str(Path(sys.prefix) / "lib"),
    }  # fmt: skip
    how = ["-m", "clew", "run", str(file)] if with_clew else ["-c", _FOR_PYTORCH, str(file)]
    command = [str(PYTHON), "-W", "ignore", *how]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=CACHE)


def agree(ours: str, theirs: str) -> bool:
    """Whether two outputs have the same text, and numbers that are close."""
    if _NUMBER.sub("", ours) != _NUMBER.sub("", theirs):
        return False
    pairs = zip(map(float, _NUMBER.findall(ours)), map(float, _NUMBER.findall(theirs)), strict=True)
    return all(abs(a - b) <= TOLERANCE * max(1.0, abs(b)) for a, b in pairs)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1][:120] if text.strip() else "it ended without a word"


def judge(package: Package) -> str:
    """Whether a package's program runs, and gives PyTorch's numbers."""
    wrong = install(package)
    if wrong:
        return f"not installed: {wrong}"
    file = package.program
    if file is None:
        file = CACHE / "import_only.py"
        file.write_text(f"import {package.module}\n", encoding="utf-8")
    done = run(file, True)
    if done.returncode:
        return f"no: {last_line(done.stderr)}"
    if package.program is None:
        return "imports"
    reference = run(file, False)
    if reference.returncode:
        return f"runs; PyTorch fails: {last_line(reference.stderr)}"
    return "agrees" if agree(done.stdout, reference.stdout) else "no: other numbers"


def main(wanted: list[str]) -> int:
    if wanted == ["--page"]:
        (DOCS / "packages.md").write_text(page(), encoding="utf-8")
        return 0
    prepare()
    failed = 0
    for package in packages():
        if not wanted or package.name in wanted:
            said = judge(package)
            failed += said.startswith("no")
            print(f"{package.name:30} {package.version:12} {said}", flush=True)
    return bool(failed)


if __name__ == "__main__":
    assert PROGRAMS.is_dir()
    sys.exit(main(sys.argv[1:]))
