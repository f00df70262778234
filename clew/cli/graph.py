"""`clew graph`: the computation graph of a program's first backward pass."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any

from clew.cli.doctor import add_program, load
from clew.cli.program import Ending, NotFound
from clew.core.recording import OpNode
from clew.doctor.engines.native_graph import parameter_names
from clew.doctor.facts.flow import FlowWatch
from clew.doctor.report.graph_view import GraphView, snapshot
from clew.observer import Observer, observing


class _Seen(BaseException):
    """Ends the program when the graph has been seen."""


class _Stopping(Observer):
    """Takes a picture of the given backward pass, and ends the program after it."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.picture: GraphView | None = None
        self.run: Any = None
        self.flow = FlowWatch()

    def backward_begins(self, run: Any, roots: Any, outputs: Any) -> None:
        self.left -= 1
        if self.left == 0:
            self.picture = snapshot([node for node, _ in roots], parameter_names())
            self.run = run
            self.flow.begins(run)

    def node_ran(self, node: Any, grads: Any, results: Any) -> None:
        if self.flow.is_open and isinstance(node, OpNode):
            self.flow.node_ran(node, grads[0])

    def backward_ends(self, run: Any, completed: bool) -> None:
        # A graph that cannot go backward is shown without the sizes of its gradients.
        if run is self.run and isinstance(sys.exc_info()[1], Exception | None):
            self.flow.ends(self.picture)
            raise _Seen


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "graph",
        help="show the computation graph of a program",
        usage="clew graph [options] script.py [args ...]",
        description="Runs the program up to a backward pass and shows the graph behind it.",
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a drawing")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page, folded by module")
    parser.add_argument(
        "--at", type=int, default=1, metavar="N", help="the Nth backward (default 1)"
    )
    add_program(parser)
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    """0 when the graph was shown, 1 when there was none, 2 when there is no such program."""
    ending = Ending()
    try:
        main, code, _ = load(args)
    except NotFound as error:
        print(f"clew graph: {error}", file=sys.stderr)
        return 2
    stopping = _Stopping(args.at)
    with observing(stopping):
        try:
            # What the program prints is not the graph.
            with contextlib.redirect_stdout(sys.stderr):
                exec(code, main.__dict__)
        except _Seen:
            pass
        except SystemExit:
            pass
        except BaseException as error:  # any end is reported, also Ctrl-C
            return ending.report(error)
    picture = stopping.picture
    if picture is None:
        print("clew graph: the program did not go backward", file=sys.stderr)
        return 1
    for path in (args.svg, args.html):
        if path is not None:
            picture.save(path)
    if args.svg is None and args.html is None:
        print(picture)
    return 0
