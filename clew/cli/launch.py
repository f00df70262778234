"""`clew launch`: a PyTorch program as several ranks that train together, over MPI."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import tempfile
from dataclasses import replace
from typing import Any

from rich.console import Console

from clew.cli import run as run_command
from clew.distributed.launcher import starting


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "launch",
        help="run a PyTorch program as several ranks (torchrun)",
        usage="clew launch -n RANKS [options] script.py [args ...]\n"
        "       clew launch -n RANKS [options] -m module [args ...]",
    )
    parser.add_argument("-n", "--ranks", type=int, default=1, help="how many processes")
    parser.add_argument("--restarts", type=int, default=0, metavar="N", help="after failures")
    parser.add_argument(
        "--min-ranks", type=int, metavar="N", help="restart with one rank less each time, down to N"
    )
    parser.add_argument("--hosts", metavar="A:2,B:2", help="machines, with slots, as for mpirun")
    parser.add_argument("--no-prefix", action="store_true", help="output without [rank]")
    parser.add_argument("--doctor", action="store_true", help="watch all ranks, and compare them")
    rest: dict[str, Any] = {"nargs": argparse.REMAINDER}
    parser.add_argument("-m", dest="module", metavar="module", help="run a module", **rest)
    parser.add_argument("script", nargs="?", help="the program; all that follows is its own")
    parser.add_argument("args", help=argparse.SUPPRESS, **rest)
    parser.set_defaults(run=run, parser=parser)


def run(args: argparse.Namespace) -> int:
    if not args.module and args.script is None:
        args.parser.error("which program? Give a script, or -m and a module")
    if args.ranks < 1:
        args.parser.error("-n must be 1 or more")
    if starting.is_rank():
        # srun or mpirun has started us: this process is a rank.
        os.environ.setdefault("CLEW_LAUNCH", "0")
        return run_command.run(args)
    program = ["-m", *args.module] if args.module else [args.script, *args.args]
    signal.signal(signal.SIGTERM, starting.interrupted)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, starting.interrupted)
    options = starting.Options(
        args.ranks, args.restarts, args.min_ranks, args.hosts, not args.no_prefix
    )
    return _with_doctor(options, program) if args.doctor else starting.launch(options, program)


def _with_doctor(options: starting.Options, program: list[str]) -> int:
    """Run it with a doctor in each rank, then print what they say together."""
    ranks = importlib.import_module("clew.doctor.observe.ranks")
    terminal = importlib.import_module("clew.doctor.report.terminal")
    with tempfile.TemporaryDirectory(prefix="clew-doctor-") as folder:
        watched = replace(options, runner=("doctor", "--quiet", "--ranks", folder))
        status = starting.launch(watched, program)
        report = ranks.merged(folder, options.ranks, program[0])
    terminal.show(report, Console(stderr=True))
    return status
