"""`clew gallery`: list the programs of the gallery, or run one."""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from clew import gallery
from clew.gallery import helper


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "gallery", help="classic systems that live by gradients: list them, or run one"
    )
    parser.add_argument("name", nargs="?", help="the program; without it, all are listed")
    helper.add_options(parser)
    parser.add_argument(
        "--torch", action="store_true",
        help="then run the same file under PyTorch, and compare figures and time",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.name is None:
        show_list(Console())
        return 0
    if args.name in gallery.bugs():
        return break_it(args.name)
    found = [entry for entry in gallery.entries() if entry.name == args.name]
    if not found:
        names = [*(entry.name for entry in gallery.entries()), *gallery.bugs()]
        nearest = ", ".join(difflib.get_close_matches(args.name, names)) or "see `clew gallery`"
        return complain(f"no program {args.name!r}; nearest: {nearest}")
    try:
        program = gallery.load(found[0])
        started = time.perf_counter()
        status = helper.run(program.main, program.claims, args)
        if args.torch:
            compare(found[0], args, time.perf_counter() - started)
    except helper.MissingExtra as error:
        return complain(str(error))
    return status


def complain(text: str) -> int:
    print(f"clew gallery: {text}", file=sys.stderr)
    return 2


def show_list(console: Console) -> None:
    names: dict[str, list[str]] = {section: [] for section in gallery.SECTIONS}
    for entry in gallery.entries():
        names[entry.section].append(entry.name)
    names[gallery.BROKEN.name] = gallery.bugs()
    width = max(len(name) for section in names.values() for name in section)
    for section, programs in names.items():
        folder = gallery.FOLDER / section
        console.print(f"[bold]{gallery.title(folder / '__init__.py')}[/bold]", soft_wrap=True)
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 2))
        table.add_column(width=width)
        for name in programs:
            table.add_row(name, gallery.title(folder / f"{name}.py"))
        console.print(table)
    console.print("Run one: clew gallery NAME [--fast] [--seed N] [--out DIR] [--torch]")


def compare(entry: gallery.Entry, args: argparse.Namespace, seconds: float) -> None:
    """The same file under PyTorch, its figures and time beside clew's."""
    if find_spec("torch") is None:
        raise helper.MissingExtra("PyTorch (for --torch)", "bench")
    print("\nThe same file under PyTorch:")
    try:
        program = gallery.load_for_pytorch(entry)
    except AttributeError as error:
        print(f"it does not run there: {error}")
        return
    started = time.perf_counter()
    helper.run(program.main, program.claims, args)
    theirs = time.perf_counter() - started
    print(f"clew {seconds:.1f} s, PyTorch {theirs:.1f} s: {seconds / theirs:.2f} times as long")


# -- break it --------------------------------------------------------------------------------------


def break_it(name: str) -> int:
    """What the doctor says of a script with a bug, what repairs it, and what it says then."""
    console = Console()
    broken = gallery.BROKEN / f"{name}.py"
    repaired = gallery.BROKEN / f"{name}_repaired.py"
    console.rule(f"{broken.name}, under the doctor")
    examine(broken)
    console.rule("the repair")
    console.print(Syntax("".join(repair(broken, repaired)), "diff", word_wrap=True))
    console.rule(f"{repaired.name}, under the doctor")
    return examine(repaired)


def examine(path: Path) -> int:
    sys.stdout.flush()
    command = [sys.executable, "-m", "clew", "doctor", "--check", str(path)]
    return subprocess.run(command, check=False).returncode


def repair(broken: Path, repaired: Path) -> Iterable[str]:
    """The lines that differ, docstrings left out."""
    before, after = (
        path.read_text(encoding="utf-8").split('"""', 2)[2].splitlines(keepends=True)
        for path in (broken, repaired)
    )
    return list(difflib.unified_diff(before, after, n=1))[2:]
