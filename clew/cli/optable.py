"""`clew ops`: the table of operations, as it follows from their definitions."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from clew.core.elementwise import Elementwise
from clew.core.op import OPS, Op
from clew.core.recording import INPUT, OUTPUT

_HEADER = """# Operations

Made by `clew ops --markdown docs/ops.md` from the definitions in `clew/ops`;
`tests/test_docs.py` checks that it is up to date. *saves*: what is kept for backward when all
inputs require grad. *forward mode*: how tangents follow. *notes*: the gradient at points where the
function is not smooth, or why there is none. *defined in*: the module below `clew`, where the
gradient and, if it has one of its own, the kernel stand too; its samples are in `tests/cases`.

| operation | grad_fn | gradients | saves | forward mode | notes | defined in |
|---|---|---|---|---|---|---|
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("ops", help="print the table of operations")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to a file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    text = markdown()
    if arguments.markdown is None:
        print(text)
    else:
        arguments.markdown.write_text(text)
        print(f"wrote {len(OPS)} operations to {arguments.markdown}")
    return 0


def markdown() -> str:
    """The whole page."""
    places = _places()
    return _HEADER + "".join(_row(OPS[name], places) + "\n" for name in sorted(OPS))


def _row(op: Op, places: dict[int, str]) -> str:
    place = places.get(id(op), "")
    if not op.differentiable:
        why = op.non_differentiable or "no gradient"
        return f"| `{op.name}` | | | | | {why} | {place} |"
    gradients = ", ".join(op.grads) if op.joint is None else "all inputs at once"
    cells = [f"`{op.name}`", op.node_name, gradients, _saves(op), _forward(op), op.kinks, place]
    return "| " + " | ".join(cells) + " |"


def _places() -> dict[int, str]:
    """The module of each operation, by its identity: the one that has it and names it first.

    Rows of a table have no variable; they are found by their text.
    """
    places: dict[int, str] = {}
    for name, module in sorted(sys.modules.items()):
        if not name.startswith("clew.ops.") or not module.__file__:
            continue
        text = Path(module.__file__).read_text(encoding="utf-8")
        path = f"`{name.removeprefix('clew.').replace('.', '/')}.py`"
        rows = set(re.findall(r'\w*[rR]ow\(\s*"([\w.]+)"', text))
        for op in [
            *_ops_of(vars(module).values()),
            *(op for op in OPS.values() if op.name in rows),
        ]:
            if re.search(rf'\(\s*"{re.escape(op.name)}"', text) or op.forward.__module__ == name:
                places.setdefault(id(op), path)
    return places


def _ops_of(values: Iterable[Any]) -> Iterator[Op]:
    """The operations among values, and in the tables among them."""
    for value in values:
        if isinstance(value, Op):
            yield value
        elif isinstance(value, (dict, tuple, list)):
            inner = value.values() if isinstance(value, dict) else value
            yield from (each for each in inner if isinstance(each, Op))


def _saves(op: Op) -> str:
    names = dict.fromkeys(
        name
        for names in op.formula_names.values()
        for name in names
        if op.capture(name)[0] in (INPUT, OUTPUT)
    )
    return ", ".join("result" if name == "out" else name for name in names)


def _forward(op: Op) -> str:
    if isinstance(op, Elementwise):
        return "elementwise"
    if op.linear:
        return "linear"
    if op.affine is not None:
        return "affine"
    return "multilinear" if op.multilinear else "transposed"
