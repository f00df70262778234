"""`clew ops`: the table of operations, as it follows from their definitions."""

from __future__ import annotations

import argparse
from pathlib import Path

from clew.core.elementwise import Elementwise
from clew.core.op import OPS, Op
from clew.core.recording import INPUT, OUTPUT

_HEADER = """# Operations

Made by `clew ops --markdown docs/ops.md` from the definitions in `clew/ops`;
`tests/test_docs.py` checks that it is up to date. *saves*: what is kept for backward when all
inputs require grad. *forward mode*: how tangents follow. *notes*: the gradient at points where the
function is not smooth, or why there is none.

| operation | grad_fn | gradients | saves | forward mode | notes |
|---|---|---|---|---|---|
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
    return _HEADER + "".join(_row(OPS[name]) + "\n" for name in sorted(OPS))


def _row(op: Op) -> str:
    if not op.differentiable:
        return f"| `{op.name}` | | | | | {op.non_differentiable or 'no gradient'} |"
    gradients = ", ".join(op.grads) if op.joint is None else "all inputs at once"
    cells = [f"`{op.name}`", op.node_name, gradients, _saves(op), _forward(op), op.kinks]
    return "| " + " | ".join(cells) + " |"


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
    return "multilinear" if op.multilinear else "transposed"
