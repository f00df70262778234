"""`clew scratch`: a mini autograd built from nothing, step by step."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax

from clew.gallery import helper
from clew.gallery.by_hand import scratch


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "scratch", help="a mini autograd built from nothing, in five steps that each run"
    )
    parser.add_argument(
        "step", nargs="?", type=int, choices=range(1, len(scratch.STEPS) + 1),
        help="show and run this step; without it, all run and are compared with the library",
    )  # fmt: skip
    helper.add_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    console = Console()
    if args.step is None:
        console.print(f"{Path(scratch.__file__)}", soft_wrap=True, highlight=False)
        return helper.run(scratch.main, scratch.claims, args)
    console.print(Syntax(source_of(args.step), "python", word_wrap=True))
    result = scratch.STEPS[args.step - 1]()
    if isinstance(result, dict):
        for name, value in result.items():
            console.print(f"{name}: {value:.6g}")
    else:
        ours, theirs = result
        console.print(f"last loss {ours[-1]:.6g}, with the library {theirs[-1]:.6g}")
    return 0


def source_of(step: int) -> str:
    """The part of the file between the heading of this step and that of the next one."""
    parts = inspect.getsource(scratch).split("# -- step ")[1:]
    text = f"# -- step {parts[step - 1]}"
    return text.split("\nSTEPS = ")[0].rstrip() + "\n"
