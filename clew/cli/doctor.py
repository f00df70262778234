"""`clew doctor`: run a training script and report what is wrong with its gradients and its loop."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import clew
from clew import aliasing
from clew.cli.run import _Ending, _module, _NotFound, _script
from clew.doctor.session import Session


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="run a training script and find its gradient bugs",
        usage="clew doctor [options] script.py [args ...]\n"
        "       clew doctor [options] -m module [args ...]",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the findings as JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a report to look at")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 when there is an error or a warning"
    )
    parser.add_argument("--quiet", action="store_true", help="print no report")
    rest: dict[str, Any] = {"nargs": argparse.REMAINDER}
    parser.add_argument("-m", dest="module", metavar="module", help="run a module", **rest)
    parser.add_argument("script", nargs="?", help="the program; all that follows is its own")
    parser.add_argument("args", help=argparse.SUPPRESS, **rest)
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    if args.module:
        target, arguments = args.module[0], args.module[1:]
    elif args.script is not None and args.module is None:
        target, arguments = args.script, args.args
    else:
        args.parser.error("which program? Give a script, or -m and a module")
    aliasing.install()
    session = Session()
    ending = _Ending()
    try:
        main, code = _module(target) if args.module else _script(target)
    except _NotFound as error:
        print(f"clew doctor: {error}", file=sys.stderr)
        return 2
    sys.argv = [main.__file__ if args.module else target, *arguments]  # type: ignore[list-item]
    sys.modules["__main__"] = main
    status = 0
    leaving: SystemExit | None = None
    session.start()
    try:
        exec(code, main.__dict__)
    except SystemExit as error:
        session.ended_by(error)
        leaving = error
    except BaseException as error:
        session.ended_by(error)
        status = 1
    finally:
        session.stop()
    report = session.report(target)
    write(report, args)
    problem = session.error
    if problem is not None and leaving is None:
        status = ending.report(problem)
    if not args.quiet:
        sys.stdout.flush()
        show(report)
    if args.check and report.problems:
        return 1
    if leaving is not None:
        raise leaving
    return status


def write(report: Any, args: argparse.Namespace) -> None:
    """The files that were asked for."""
    if args.json is not None:
        content = json.dumps(report.as_json(clew.version.clew), indent=1, default=str)
        args.json.write_text(content + "\n", encoding="utf-8")


def show(report: Any) -> None:
    """The report for the terminal, on stderr: stdout is the program's."""
    for finding in report.findings:
        print(f"{finding.severity}: {finding.rule}: {finding.line}: {finding.message}", file=sys.stderr)
