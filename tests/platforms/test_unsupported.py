"""What clew says where it cannot run."""

import subprocess
import sys


def said(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


def test_windows() -> None:
    line = said("import sys; sys.platform = 'win32'; import clew")
    assert line.startswith("ImportError: clew does not run on Windows itself")


def test_without_the_compiler() -> None:
    """What needs no kernel still runs."""
    line = said(
        "import sys; sys.modules['llvmlite'] = None\n"
        "import clew\n"
        "x = clew.ones(3) + 1\n"
        "assert x.tolist() == [2, 2, 2]\n"
        "clew.nn.functional.gelu(x)"
    )
    assert line.startswith("ImportError: clew compiles its kernels with llvmlite"), line
