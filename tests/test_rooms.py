"""The folders of the package: not too many modules in one, none too long, each says first what it
is, and what silences a check says why."""

import ast
import io
import itertools
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "clew").rglob("*.py"))
# Programs as users write them, and files that are data, are left as they are.
OF_USERS = {"data", "doctor_programs", "user_programs"}
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if not OF_USERS & set(path.parts))
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
    for path in [*MODULES, *TESTS]:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= MOST_LINES, f"{path.relative_to(ROOT)} has {lines} lines"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_first_what_it_is(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text, "no docstring"
    assert len(text.splitlines()[0]) > 10


def test_tests_are_in_the_folders_of_what_they_test() -> None:
    """A folder of tests has the name of a folder of the package."""
    own = OF_USERS | {"cases", "packages", "platforms", "__pycache__"}
    for folder in (ROOT / "tests").rglob("*"):
        parts = folder.relative_to(ROOT / "tests").parts
        if folder.is_dir() and not own & set(parts):
            assert (ROOT / "clew").joinpath(*parts).is_dir(), folder


# -- reasons -------------------------------------------------------------------------------------

MARKER = re.compile(
    r"# *(?:ruff: *)?noqa(?:: *[A-Z]+[0-9]+(?:, *[A-Z]+[0-9]+)*)?"
    r"|# *type: *ignore(?:\[[a-z, -]+\])?"
)
EVERYTHING = {"Exception", "BaseException"}


def catches_everything(types: ast.expr | None) -> bool:
    return types is None or any(
        isinstance(node, ast.Name) and node.id in EVERYTHING for node in ast.walk(types)
    )


def hides_nothing(handler: ast.ExceptHandler) -> bool:
    """It raises, ends the process, or uses the error that it caught."""
    last = handler.body[-1]
    ends = isinstance(last, ast.Expr) and ast.unparse(last).startswith(("sys.exit(", "os.abort("))
    names = [node.id for node in ast.walk(handler) if isinstance(node, ast.Name)]
    return isinstance(last, ast.Raise) or ends or handler.name in names


def silencing(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Handlers that let no error out: each one's line, and the first one of what it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            if catches_everything(node.type) and not hides_nothing(node):
                yield node.lineno, node.body[0].lineno
        elif isinstance(node, ast.With):
            calls = [each.context_expr for each in node.items]
            if any("suppress(" in ast.unparse(call) and catches_everything(call) for call in calls):
                yield node.lineno, node.body[0].lineno


def without_reason(path: Path) -> Iterator[int]:
    """Lines that silence a check or an error, and neither there nor just above it is said why."""
    source = path.read_text(encoding="utf-8")
    if not MARKER.search(source) and not re.search(r"except:|Exception", source):
        return
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string for t in tokens if t.type == tokenize.COMMENT}
    # What a comment says beside the marker; a formatter's marker says nothing.
    words = {
        line: MARKER.sub("", text).replace("fmt: skip", "").strip(" #()")
        for line, text in comments.items()
    }

    def is_said(first: int, last: int) -> bool:
        return any(words.get(line) for line in range(first, last + 1))

    lines = source.splitlines()
    for line, text in comments.items():
        marker = MARKER.search(text)
        if marker and not is_said(line - 2, line):
            # Once is enough for the same marker in one paragraph.
            paragraph = itertools.takewhile(lambda n: lines[n - 1], range(line, 0, -1))
            if not any(marker[0] in comments.get(n, "") and words[n] for n in paragraph):
                yield line
    for first, last in silencing(ast.parse(source)):
        if not is_said(first - 1, last):
            yield first


@pytest.mark.parametrize("tree", [MODULES, TESTS], ids=["clew", "tests"])
def test_what_silences_a_check_says_why(tree: list[Path]) -> None:
    found = [f"{path.relative_to(ROOT)}:{line}" for path in tree for line in without_reason(path)]
    assert not found


def test_a_missing_reason_is_found(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "import os  # noqa: F401\n"
        "import sys  # noqa: F401  (programs look for it here)\n"
        "import re  # noqa: F401\n"
        "\n\n\n"
        "x: int = ''  # type: ignore[assignment]\n"
        "try:\n    x = 1\nexcept Exception:\n    x = 2\n"
        "try:\n    x = 1\nexcept Exception:\n    raise\n"
        "try:\n    x = 1\nexcept (ValueError, BaseException):  # of no use\n    x = 2\n"
        "with contextlib.suppress(Exception):\n    x = 1\n"
    )
    assert sorted(without_reason(path)) == [1, 7, 10, 20]


def test_the_package_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clew", "--version"], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("clew ")
