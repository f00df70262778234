"""Writes what the pages of the gallery say of its programs, from the programs and their figures.

    python docs/programs.py                 # the pages, from docstrings and recorded figures
    python docs/programs.py --run dqn vae   # first run these (or, without names, all): minutes

A page, `docs/gallery/NAME.md`, has a head that is made here and ends with MARK; what follows it is
written by hand. The figures of a run are kept in `docs/gallery/figures.json`, its pictures beside
them. `docs/gallery.md` has the list of all programs.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

from clew import gallery

HERE = Path(__file__).resolve().parent
PAGES, LIST = HERE / "gallery", HERE / "gallery.md"
FIGURES = PAGES / "figures.json"
MARK = "<!-- The text above is made by docs/programs.py from the program; below, write. -->"
START, END = "<!-- made by docs/programs.py -->", "<!-- until here -->"


def recorded() -> dict[str, Any]:
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def text_of(entry: gallery.Entry) -> tuple[str, str]:
    """The title and the rest of a program's docstring; lines in columns become blocks."""
    docstring = entry.path.read_text(encoding="utf-8").split('"""')[1]
    title, _, rest = docstring.partition("\n")
    block = r"(?:^(?:  +\S.*|\S.*   .*)\n)+"
    rest = re.sub(block, lambda found: f"```text\n{dedent(found[0])}```\n", rest, flags=re.M)
    return title, rest.strip()


def pictures(entry: gallery.Entry) -> list[str]:
    """The program's pictures, the one with its own name first."""
    found = [path.name for path in PAGES.glob(f"{entry.name}*.svg")]
    others = [name for name in found if re.fullmatch(rf"{entry.name}[-_]\w+\.svg", name)]
    return [f"{entry.name}.svg", *sorted(others)]


def needs(entry: gallery.Entry) -> str:
    """The package that a program needs beside clew, or nothing."""
    source = entry.path.read_text(encoding="utf-8")
    calls = {"helper.digits(": "scikit-learn", "helper.cartpole(": "gymnasium"}
    return next((package for call, package in calls.items() if call in source), "")


def title_of(picture: Path) -> str:
    """The first words of a picture."""
    found = re.search(r"<text[^>]*>(.*?)</text>", picture.read_text(encoding="utf-8"))
    assert found is not None, picture
    return found[1].replace("&amp;", "&").replace("&lt;", "<")


def escaped(claim: str) -> str:
    """A claim whose first sign does not make it a list."""
    return f"\\{claim}" if claim[0] in "+-" else claim


def head(entry: gallery.Entry, record: dict[str, Any]) -> str:
    """What a page says from the program itself: title, text, pictures, claims, how to run it."""
    title, text = text_of(entry)
    extra = f"It needs {needs(entry)}: `pip install 'clew[gallery]'`.\n" if needs(entry) else ""
    seconds = record["seconds"]
    about = f"about {seconds} s on one core" if seconds < 60 else f"about {seconds / 60:.1g} min"
    claims = list(gallery.load(entry).claims(record["figures"], False))
    assert all(holds for _, holds in claims), f"{entry.name}: a claim does not hold: {claims}"
    command = f"clew gallery {entry.name}"
    return "\n".join([
        f"# {entry.name}", "", title, "",
        *(f"![{title_of(PAGES / name)}]({name})" for name in pictures(entry)), "",
        text, "",
        f"{extra}The program is [{entry.section}/{entry.name}.py]"
        f"(../../clew/gallery/{entry.section}/{entry.name}.py).", "",
        "```sh", f"{command}         # {about}",
        f"{command} --fast  # in seconds, with smaller claims", "```",
        "", "What it claims, with the figures of this run (seed 0):", "",
        *(f"- {escaped(claim)}" for claim, _ in claims), "", MARK, "", "",
    ])  # fmt: skip


def page(entry: gallery.Entry, record: dict[str, Any], old: str) -> str:
    """A page with a new head and its old rest."""
    return head(entry, record) + old.partition(MARK)[2].lstrip("\n")


def tables(records: dict[str, Any]) -> Iterator[str]:
    """The list of all programs, section by section, and the same as a menu."""
    for section in gallery.SECTIONS:
        yield f"## {gallery.title(gallery.FOLDER / section / '__init__.py').rstrip('.')}\n"
        yield "| program | what it shows | s |\n|---|---|---|"
        for entry in gallery.entries():
            if entry.section == section:
                link = f"[{entry.name}](gallery/{entry.name}.md)"
                yield f"| {link} | {text_of(entry)[0]} | {records[entry.name]['seconds']} |"
        yield ""


def listed(records: dict[str, Any], old: str) -> str:
    """`gallery.md` with a new list."""
    before, _, rest = old.partition(START)
    return before + "\n".join([START, "", *tables(records), END]) + rest.partition(END)[2]


def run(entry: gallery.Entry) -> dict[str, Any]:
    """Run a program and keep its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        figures = gallery.load(entry).main(False, 0, Path(folder))
        seconds = max(1, round(time.process_time() - started))
        for picture in Path(folder).glob("*.svg"):
            shutil.copy(picture, PAGES)
    return {"seconds": seconds, "figures": figures}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the pages of the gallery.")
    parser.add_argument("--run", nargs="*", metavar="NAME", help="run these programs, or all")
    asked = parser.parse_args().run
    records = recorded() if FIGURES.exists() else {}
    for entry in gallery.entries():
        if asked is not None and (not asked or entry.name in asked):
            records[entry.name] = run(entry)
    FIGURES.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    for entry in gallery.entries():
        path = PAGES / f"{entry.name}.md"
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(page(entry, records[entry.name], old), encoding="utf-8")
    LIST.write_text(listed(records, LIST.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
