"""The documentation shows what the library does: examples run, the table of ops is current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import import_graph

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "docs/architecture.md", "docs/doctor.md", "docs/func.md"]


def examples(page: str) -> list[tuple[str, str]]:
    """Python blocks of a page that are followed by a block with their output."""
    text = (ROOT / page).read_text()
    block = r"((?:(?!```).)*)```"
    return re.findall(rf"```python\n{block}\s*```(?:text)?\n{block}", text, flags=re.DOTALL)


CASES = [(page, *pair) for page in PAGES for pair in examples(page)]


def test_pages_have_examples() -> None:
    assert {page for page, _, _ in CASES} == set(PAGES)


@pytest.mark.parametrize(("page", "code", "output"), CASES)
def test_example_prints_what_the_page_says(
    page: str, code: str, output: str, tmp_path: Path
) -> None:
    script = tmp_path / "example.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == output.strip(), done.stderr


def test_table_of_operations_is_current() -> None:
    # In a fresh process: tests define operations of their own.
    print_table = "from clew.cli import optable; print(optable.markdown(), end='')"
    done = subprocess.run(
        [sys.executable, "-c", print_table], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs/ops.md").read_text() == done.stdout, (
        "run `clew ops --markdown docs/ops.md`"
    )


def test_picture_of_the_layers_is_current() -> None:
    assert (ROOT / "docs/layers.svg").read_text(encoding="utf-8") == import_graph.svg(), (
        "run `python -m tests.import_graph docs/layers.svg`"
    )
