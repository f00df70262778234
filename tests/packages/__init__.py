"""Packages of the PyTorch ecosystem: the table of those that are tried, and its page."""

from __future__ import annotations

import ast
import csv
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent
PROGRAMS = FOLDER / "programs"
DOCS = FOLDER.parent.parent / "docs"

_HEAD = """# What runs on clew

Packages that are written in Python over PyTorch run on clew as programs do: `pip install` them
without PyTorch (`--no-deps` where they ask for it), and start the program with `clew run`. These
have been run so, unchanged; the programs train for some steps, and their numbers are PyTorch's to
rounding. A program that magnifies rounding has other numbers in every library and on every
machine: batch norm over two values that hardly differ, eigenvectors of a matrix without full rank
(the optimizer SOAP in its first steps). The same program in double precision says whose error is
larger. This page is made by
`python -m tests.packages --page` from `tests/packages/table.tsv`;
the programs are in `tests/packages/programs/`. `make test-packages` installs the packages at these
versions into a virtual environment of their own and runs every program twice, by `clew run` and
with PyTorch; it takes long and is not part of `make test`. `python -m tests.packages einops timm`
takes some of them.

| package | version | what its program does |
|---|---|---|
"""
_TAIL = """
What packages reach and clew does not have: [from_pytorch.md](from_pytorch.md#what-is-not-there).
"""


class Package(NamedTuple):
    """One line of the table."""

    name: str
    version: str
    module: str

    @property
    def program(self) -> Path | None:
        """Its program, if it has one."""
        file = PROGRAMS / f"with_{self.module}.py"
        return file if file.exists() else None


def packages() -> list[Package]:
    """The table: a package, its version, the module to import."""
    with open(FOLDER / "table.tsv", encoding="utf-8") as file:
        rows = csv.reader(file, delimiter="\t")
        next(rows)
        return [Package(*row) for row in rows]


def page() -> str:
    """The page of the documentation."""
    with_programs = [each for each in packages() if each.program is not None]
    lines = [
        f"| {each.name} | {each.version} | {_said(each.program)} |"
        for each in with_programs
        if each.program is not None
    ]
    others = ", ".join(f"{e.name} {e.version}" for e in packages() if e.program is None)
    return _HEAD + "\n".join(lines) + f"\n\nThese are imported: {others}.\n" + _TAIL


def _said(program: Path) -> str:
    text = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).rstrip(".").replace("|", "/")
