"""The documentation shows what the library does: examples run, the table of ops is current."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.bench.workloads import WORKLOADS
from tests import import_graph, packages
from tests.examples import Runner

ROOT = Path(__file__).resolve().parent.parent
# Written at every build of the site, from the docstrings.
API = ROOT / "docs/api"
TEXTS = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not path.is_relative_to(API)
)
# The rules of the doctor are shown by pieces of programs, before and after, side by side.
PIECES = {"docs/doctor.md"}


def examples(text: str) -> list[tuple[str, str]]:
    """Python blocks of a page that are followed by a block with their output."""
    block = r"((?:(?!```).)*)```"
    return re.findall(rf"```python\n{block}\s*```(?:text)?\n{block}", text, flags=re.DOTALL)


CASES = [
    pytest.param(page.parent, *pair, id=f"{page.relative_to(ROOT)}-{number}")
    for page in TEXTS
    for number, pair in enumerate(examples(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_program_of_a_page_is_followed_by_what_it_prints(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    pieces = str(page.relative_to(ROOT)) in PIECES
    assert pieces or text.count("```python\n") == len(examples(text))


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.close()


@pytest.mark.parametrize(("folder", "code", "output"), CASES)
def test_example_prints_what_the_page_says(
    folder: Path, code: str, output: str, runner: Runner, tmp_path: Path
) -> None:
    """And draws what the page shows."""
    printed, errors = runner.run(code, tmp_path)
    assert printed.strip() == output.strip(), errors
    for picture in tmp_path.glob("*.svg"):
        assert picture.read_text() == (folder / picture.name).read_text(), picture.name


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


def test_the_menu_of_the_site_has_all_pages() -> None:
    """`make docs` fails on a page without a place; here it is seen without Sphinx."""
    docs = ROOT / "docs"
    for index, folder in (("index.md", docs), ("notes/README.md", docs / "notes")):
        menus = re.findall(r"```{toctree}\n(.*?)```", (docs / index).read_text(), re.DOTALL)
        placed = {line for menu in menus for line in menu.splitlines() if not line.startswith(":")}
        pages = {path.stem for path in folder.glob("*.md")}
        assert pages - placed <= {Path(index).stem}, f"add these to the menu in docs/{index}"


def test_chart_of_performance_is_current() -> None:
    charts = runpy.run_path(str(ROOT / "docs/charts.py"))
    expected = charts["svg"]((ROOT / "docs/performance.md").read_text(encoding="utf-8"))
    assert (ROOT / "docs/performance.svg").read_text(encoding="utf-8") == expected, (
        "run `python docs/charts.py`"
    )


def test_chart_follows_the_tables() -> None:
    """Another number in a table is another picture; a table without a network is refused."""
    svg = runpy.run_path(str(ROOT / "docs/charts.py"))["svg"]
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    # The row of the VAE in the table of memory: MiB, PyTorch's MiB, their ratio.
    row = re.search(r"^\| VAE \| ([\d.]+ \| [\d.]+) \| [\d.]+ \|", page, flags=re.MULTILINE)
    assert row is not None
    assert svg(page.replace(row[0], f"| VAE | {row[1]} | 1.77 |")) != svg(page)
    with pytest.raises(AssertionError, match="other networks"):
        svg(page.replace(row[0], row[0].replace("VAE", "AE")))


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    code = r"```.*?```|`[^`]*`"
    prose = re.sub(code, "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            file = page.parent / path if path else page
            if file.is_relative_to(API):  # the site's build follows these
                continue
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_and_workloads_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"`((?:clew|tests|docs)/[\w/]+\.\w+)`", text):
        assert (ROOT / path).exists(), path
    for name in re.findall(r"clew bench [^`#\n]*--filter ([\w/]+)", text):
        assert any(name in workload for workload in WORKLOADS), name


def test_page_of_packages_is_that_of_the_table() -> None:
    assert (ROOT / "docs" / "packages.md").read_text(encoding="utf-8") == packages.page()
