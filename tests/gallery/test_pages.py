"""The gallery's pages: what they say of a program follows from it, and each has an exercise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from clew import gallery

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROGRAMS = runpy.run_path(str(DOCS / "programs.py"))
RECORDS = PROGRAMS["recorded"]()


@pytest.mark.parametrize("entry", gallery.entries(), ids=lambda entry: entry.name)
def test_a_page_is_current(entry: gallery.Entry) -> None:
    """Its claims are made of the figures of a recorded run, and hold."""
    page = (DOCS / f"gallery/{entry.name}.md").read_text(encoding="utf-8")
    assert page == PROGRAMS["page"](entry, RECORDS[entry.name], page), (
        "run `python docs/programs.py`"
    )
    written = page.partition(PROGRAMS["MARK"])[2]
    headings = ("## What to look at\n", "## Exercise\n", "<summary>Answer</summary>")
    places = [written.find(each) for each in headings]
    assert -1 < places[0] < places[1] < places[2] < written.find("```python\n")


def test_the_list_is_current() -> None:
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert page == PROGRAMS["listed"](RECORDS, page), "run `python docs/programs.py`"


def test_every_page_and_record_is_of_a_program() -> None:
    names = {entry.name for entry in gallery.entries()}
    assert {path.stem for path in (DOCS / "gallery").glob("*.md")} == names == set(RECORDS)
