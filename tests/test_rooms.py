"""The folders of the package: not too many modules in one, none too long, and each says first what
it is."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "clew").rglob("*.py"))
MOST_MODULES = 30
MOST_LINES = 500
# Folders whose modules are where PyTorch has them, or that programs import by name.
AS_IN_PYTORCH = {"clew", "clew/distributions", "clew/nn/modules"}


def test_no_folder_has_too_many_modules() -> None:
    for folder in {path.parent for path in MODULES}:
        name = str(folder.relative_to(ROOT))
        if name not in AS_IN_PYTORCH:
            modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
            assert len(modules) <= MOST_MODULES, f"{name} has {len(modules)} modules"


def test_no_module_is_too_long() -> None:
    for path in MODULES:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= MOST_LINES, f"{path.relative_to(ROOT)} has {lines} lines"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_first_what_it_is(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text, "no docstring"
    assert len(text.splitlines()[0]) > 10


def test_tests_are_in_the_folders_of_what_they_test() -> None:
    """A folder of tests has the name of a folder of the package."""
    own = {"cases", "data", "doctor_programs", "user_programs", "__pycache__"}
    for folder in (ROOT / "tests").rglob("*"):
        parts = folder.relative_to(ROOT / "tests").parts
        if folder.is_dir() and not own & set(parts):
            assert (ROOT / "clew").joinpath(*parts).is_dir(), folder


def test_the_package_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clew", "--version"], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("clew ")
