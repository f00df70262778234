"""`clew graph`: the computation graph of a program's first backward pass."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any

from clew.cli.doctor import add_program, load
from clew.cli.run import _Ending, _NotFound
from clew.core import engine
from clew.doctor.flow import measured
from clew.doctor.graphview import GraphView, parameter_names, snapshot


class _Seen(BaseException):
    """Ends the program when the graph has been seen."""


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
    ending = _Ending()
    try:
        main, code, _ = load(args)
    except _NotFound as error:
        print(f"clew graph: {error}", file=sys.stderr)
        return 2
    found: list[GraphView] = []
    with _stopping_at(args.at, found):
        try:
            # What the program prints is not the graph.
            with contextlib.redirect_stdout(sys.stderr):
                exec(code, main.__dict__)
        except _Seen:
            pass
        except SystemExit:
            pass
        except BaseException as error:
            return ending.report(error)
    if not found:
        print("clew graph: the program did not go backward", file=sys.stderr)
        return 1
    for path in (args.svg, args.html):
        if path is not None:
            found[0].save(path)
    if args.svg is None and args.html is None:
        print(found[0])
    return 0


@contextlib.contextmanager
def _stopping_at(number: int, found: list[GraphView]) -> Any:
    """While this holds, the given backward pass shows its graph and ends the program."""
    original = engine.Run
    count = 0

    # The engine's class is replaced for a while, and put back below: mypy allows neither.
    class Stopping(original):  # type: ignore[misc, valid-type]
        def run(self, roots: Any, grads: Any, where: Any) -> None:
            nonlocal count
            count += 1
            if count == number:
                nodes = [node for node, _ in roots]
                found.append(snapshot(nodes, parameter_names()))
                # A graph that cannot go backward is shown without the sizes of its gradients.
                with contextlib.suppress(Exception), measured(found[0], self):
                    super().run(roots, grads, where)
                raise _Seen
            super().run(roots, grads, where)

    engine.Run = Stopping  # type: ignore[misc]
    try:
        yield
    finally:
        engine.Run = original  # type: ignore[misc]
