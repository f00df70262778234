"""`clew doctor`: run a training script and report what is wrong with its gradients and its loop."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew import aliasing, doctor
from clew.cli.following import BACKGROUND_EVERY, Following, add_options
from clew.cli.program import Ending, NotFound, chain, module, script
from clew.doctor.engines import engine_named
from clew.doctor.facts.engine import Engine
from clew.doctor.observe.session import Session
from clew.doctor.report.findings import Report
from clew.doctor.report.page import page
from clew.version import clew as version

if TYPE_CHECKING:
    from clew.doctor.report.live import LiveServer

FAULTS = "clew.distributed.runtime.faults"
# What a run may need at its end, or never: each would add to the start of every program.
_LIVE = "clew.doctor.report.live"
_TERMINAL = "clew.doctor.report.terminal"


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
    parser.add_argument(
        "--engine", choices=("clew", "torch"), default="clew",
        help="what `import torch` means: clew (the default), or PyTorch itself",
    )  # fmt: skip
    parser.add_argument(
        "--every", type=_count, metavar="N", help="after the first steps, look at one of N"
    )
    add_options(parser, _count)
    parser.add_argument("--quiet", action="store_true", help="print no report")
    parser.add_argument(
        "--remarks", action="store_true", help="also print findings that are no bugs"
    )
    parser.add_argument("--ranks", type=Path, help=argparse.SUPPRESS)  # of `clew launch --doctor`
    add_program(parser)
    parser.set_defaults(run=run, parser=parser)


def add_program(parser: argparse.ArgumentParser) -> None:
    """The program to run: the last option, as all that follows is its own."""
    rest: dict[str, Any] = {"nargs": argparse.REMAINDER}
    parser.add_argument("-m", dest="module", metavar="module", help="run a module", **rest)
    parser.add_argument("script", nargs="?", help="the program; all that follows is its own")
    parser.add_argument("args", help=argparse.SUPPRESS, **rest)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of steps")
    return number


def load(args: argparse.Namespace) -> tuple[Any, Any, str]:
    """The program's `__main__` and code, with `sys.argv` as it expects it, and its name."""
    if args.module:
        target, arguments = args.module[0], args.module[1:]
    elif args.script is not None and args.module is None:
        target, arguments = args.script, args.args
    else:
        args.parser.error("which program? Give a script, or -m and a module")
    if getattr(args, "engine", "clew") == "clew":
        aliasing.install()
    main, code = module(target) if args.module else script(target)
    # A module that was found has a file, which its type does not say.
    sys.argv = [main.__file__ if args.module else target, *arguments]  # type: ignore[list-item]
    sys.modules["__main__"] = main
    return main, code, target


def _engine(args: argparse.Namespace) -> Engine:
    """The engine that was asked for; PyTorch's in a process without clew's."""
    if args.background and args.every is None:
        args.every = BACKGROUND_EVERY
    if args.engine == "clew":
        return engine_named("clew")
    if "clew.core.tensor" in sys.modules:
        # (As `multiprocessing` asks for them: no public function tells the options.)
        options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *options, "-m", "clew_doctor", *_own_arguments()]
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, command)
    return engine_named("torch", every=args.every)


def _own_arguments() -> list[str]:
    """What stands behind `doctor` on the command line."""
    return sys.argv[sys.argv.index("doctor", 1) + 1 :]


def run(args: argparse.Namespace) -> int:
    try:
        engine = _engine(args)
    except ImportError as error:
        print(f"clew doctor: {error}", file=sys.stderr)
        return 2
    ending = Ending()
    try:
        main, code, target = load(args)
    except NotFound as error:
        print(f"clew doctor: {error}", file=sys.stderr)
        return 2
    except SyntaxError as error:
        return _never_ran(error, ending, args, engine)
    every = (args.every or 0) if args.engine == "clew" else 0  # PyTorch's engine knows it itself
    session, process = Session(engine, every=every, steps=args.steps), os.getpid()
    following = Following(session, args, target, lambda report: _tell(report, args))
    server = _serve(session, target, args.port) if args.live else None
    observer = _as_rank(args.ranks, session) if args.ranks is not None else None
    leaving: SystemExit | None = None
    following.start()
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
        following.stop(report)
        if os.getpid() == process:
            _write(report, args)
            if observer is not None:
                observer.stop(report, session.error is None)
    status = 0 if session.error is None else ending.report(without_own_frames(session.error))
    sys.stdout.flush()
    if not args.quiet and os.getpid() == process:
        _show(report, args)
    if args.check and report.problems:
        return 1
    if leaving is not None:
        if observer is not None:
            importlib.import_module(FAULTS).exited(leaving.code, leaving.__traceback__)
        raise leaving
    return status


def _as_rank(folder: Path, session: Session) -> Any:
    """Let this process be a rank that leaves what it has seen in a folder."""
    launcher = importlib.import_module("clew.distributed.launcher.ranks")
    launcher.begin()
    kind = importlib.import_module("clew.doctor.observe.ranks").RankObserver
    observer = kind(folder, importlib.import_module(FAULTS).rank_of_environment(), session)
    observer.start()
    return observer


def _tell(report: Report, args: argparse.Namespace) -> None:
    """A report while the program runs: into the files, and on the terminal."""
    _write(report, args)
    if not args.quiet:
        _show(report, args)


def _show(report: Report, args: argparse.Namespace) -> None:
    """Print a report on the terminal."""
    importlib.import_module(_TERMINAL).show_on_stderr(report, remarks=args.remarks)


def _never_ran(error: SyntaxError, ending: Ending, args: argparse.Namespace, engine: Engine) -> int:
    """The program has no code to run: the report says that, and nothing else."""
    session = Session(engine)
    session.ended_by(error)
    _write(session.report(args.script or args.module[0]), args)
    error.__traceback__ = None
    return ending.report(error)


def without_own_frames(error: BaseException) -> BaseException:
    """The error, with tracebacks that do not show the doctor's frames between the program's."""
    own = (__file__, os.path.dirname(doctor.__file__) + os.sep)
    for each in chain(error):
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
        content = json.dumps(report.as_json(version), indent=1, default=str)
        args.json.write_text(content + "\n", encoding="utf-8")
    if args.html is not None:
        args.html.write_text(page(report), encoding="utf-8")


def _serve(session: Session, target: str, port: int) -> LiveServer:
    server: LiveServer = importlib.import_module(_LIVE).LiveServer(
        lambda script: page(session.live_report(target), script=script, refresh=True), port
    )
    server.start()
    print(f"clew doctor: {server.address}", file=sys.stderr, flush=True)
    return server
