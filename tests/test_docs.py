"""The documentation shows what the library does: examples run, the table of ops is current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import import_graph

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    "README.md", "docs/architecture.md", "docs/doctor.md", "docs/func.md", "docs/saving.md",
]  # fmt: skip


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


ARCHITECTURE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
SOURCES = {path: path.read_text(encoding="utf-8") for path in (ROOT / "clew").rglob("*.py")}


@pytest.mark.parametrize(
    ("module", "name"),
    sorted(set(re.findall(r"`([\w/]+\.py)(?:: (?:\w+\.)?(\w+))?`", ARCHITECTURE))),
)
def test_the_modules_and_functions_that_the_page_names_exist(module: str, name: str) -> None:
    if module.startswith("tests/"):
        assert (ROOT / module).is_file()
        return
    sources = [text for path, text in SOURCES.items() if f"/{path}".endswith(f"/{module}")]
    assert sources
    assert not name or any(re.search(rf"(def|class) {name}\b", text) for text in sources)


def test_the_tables_of_kernels_have_every_module_once() -> None:
    sections = re.findall(r"^### `(\w+)/`\n(.*?)(?=^##)", ARCHITECTURE, re.MULTILINE | re.DOTALL)
    listed = [
        f"{folder}/{module}"
        for folder, section in sections
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for module in re.findall(r"`(\w+\.py)`", row)
    ]
    modules = (ROOT / "clew/kernels").glob("*/*.py")
    there = [f"{path.parent.name}/{path.name}" for path in modules if path.name != "__init__.py"]
    assert sorted(listed) == sorted(there)


def test_the_readme_lists_all_pages() -> None:
    listed = re.findall(r"^\| \[(docs/\w+\.md)\]\(\1\) \|", (ROOT / "README.md").read_text(), re.M)
    there = [f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")]
    assert sorted(listed) == sorted(there)


def anchors(page: Path) -> set[str]:
    """The fragments that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize(
    "page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda p: p.name
)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, fragment in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", prose):
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not fragment or fragment in anchors(there), fragment
