"""`clew doctor`: run a training script and report what is wrong with its gradients and its loop."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

import clew
from clew import aliasing, doctor
from clew.cli.run import _chain, _Ending, _module, _NotFound, _script
from clew.doctor.observe.session import Session
from clew.doctor.report.findings import Report
from clew.doctor.report.live import LiveServer
from clew.doctor.report.page import page
from clew.doctor.report.terminal import show


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="run a training script and find its gradient bugs",
        usage="clew doctor [options] script.py [args ...]\n"
        "       clew doctor [options] -m module [args ...]",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the findings as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with charts")
    parser.add_argument("--live", action="store_true", help="serve that page while the script runs")
    parser.add_argument("--port", type=int, default=0, help="for --live (default: a free one)")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 when there is an error or a warning"
    )
    parser.add_argument("--quiet", action="store_true", help="print no report")
    parser.add_argument(
        "--remarks", action="store_true", help="also print findings that are no bugs"
    )
    add_program(parser)
    parser.set_defaults(run=run, parser=parser)


def add_program(parser: argparse.ArgumentParser) -> None:
    """The program to run: the last option, as all that follows is its own."""
    rest: dict[str, Any] = {"nargs": argparse.REMAINDER}
    parser.add_argument("-m", dest="module", metavar="module", help="run a module", **rest)
    parser.add_argument("script", nargs="?", help="the program; all that follows is its own")
    parser.add_argument("args", help=argparse.SUPPRESS, **rest)


def load(args: argparse.Namespace) -> tuple[Any, Any, str]:
    """The program's `__main__` and code, with `sys.argv` as it expects it, and its name."""
    if args.module:
        target, arguments = args.module[0], args.module[1:]
    elif args.script is not None and args.module is None:
        target, arguments = args.script, args.args
    else:
        args.parser.error("which program? Give a script, or -m and a module")
    aliasing.install()
    main, code = _module(target) if args.module else _script(target)
    # A module that was found has a file, which its type does not say.
    sys.argv = [main.__file__ if args.module else target, *arguments]  # type: ignore[list-item]
    sys.modules["__main__"] = main
    return main, code, target


def run(args: argparse.Namespace) -> int:
    ending = _Ending()
    try:
        main, code, target = load(args)
    except _NotFound as error:
        print(f"clew doctor: {error}", file=sys.stderr)
        return 2
    except SyntaxError as error:
        return _never_ran(error, ending, args)
    session, process = Session(), os.getpid()
    server = _serve(session, target, args.port) if args.live else None
    leaving: SystemExit | None = None
    session.start()
    try:
        exec(code, main.__dict__)
    except SystemExit as error:
        session.ended_by(error)
        leaving = error
    except BaseException as error:  # the report tells of any end, also Ctrl-C
        session.ended_by(error)
    finally:
        session.stop()
        if server is not None:
            server.stop()
        report = session.report(target)
        if os.getpid() == process:
            _write(report, args)
    status = 0 if session.error is None else ending.report(without_own_frames(session.error))
    sys.stdout.flush()
    if not args.quiet and os.getpid() == process:
        show(report, Console(stderr=True), remarks=args.remarks)
    if args.check and report.problems:
        return 1
    if leaving is not None:
        raise leaving
    return status


def _never_ran(error: SyntaxError, ending: _Ending, args: argparse.Namespace) -> int:
    """The program has no code to run: the report says that, and nothing else."""
    session = Session()
    session.ended_by(error)
    _write(session.report(args.script or args.module[0]), args)
    error.__traceback__ = None
    return ending.report(error)


def without_own_frames(error: BaseException) -> BaseException:
    """The error, with tracebacks that do not show the doctor's frames between the program's."""
    own = (__file__, os.path.dirname(doctor.__file__) + os.sep)
    for each in _chain(error):
        kept = []
        place = each.__traceback__
        while place is not None:
            if not place.tb_frame.f_code.co_filename.startswith(own):
                kept.append(place)
            place = place.tb_next
        for shown, following in zip(kept, [*kept[1:], None]):
            shown.tb_next = following
        each.__traceback__ = kept[0] if kept else None
    return error


def _write(report: Report, args: argparse.Namespace) -> None:
    """The files that were asked for."""
    if args.json is not None:
        content = json.dumps(report.as_json(clew.version.clew), indent=1, default=str)
        args.json.write_text(content + "\n", encoding="utf-8")
    if args.html is not None:
        args.html.write_text(page(report), encoding="utf-8")


def _serve(session: Session, target: str, port: int) -> LiveServer:
    server = LiveServer(
        lambda script: page(session.live_report(target), script=script, refresh=True), port
    )
    server.start()
    print(f"clew doctor: {server.address}", file=sys.stderr, flush=True)
    return server
