"""`clew bench`: clew's times beside PyTorch's, on the same machine at the same moment."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.progress import MofNCompleteColumn, Progress

from clew.bench.compiled_report import compile_time_table, compiled_lines, compiled_table
from clew.bench.report import (
    as_json,
    is_shown,
    memory_table,
    ratio,
    results_table,
    summary_lines,
)
from clew.bench.runner import BenchError, Result, run_benchmark
from clew.bench.workloads import (
    ASKED_FOR,
    CLIFFS,
    COMPILE_TIME,
    COMPILED_GROUP,
    WORKLOADS,
    Workload,
)

# The groups with tables of their own.
_TABLES: dict[str, Callable[[Sequence[Result]], RenderableType]] = {
    COMPILED_GROUP: compiled_table,
    COMPILE_TIME: compile_time_table,
    "memory": memory_table,
}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("bench", help="compare clew's speed with PyTorch's")
    parser.add_argument("--filter", default="", help="only workloads whose name contains this")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--rounds", type=int, help="rounds (default 11, 5 of cliffs)")
    parser.add_argument(
        "--round-ms", type=float, help="length of one round (default 10 ms, 2 ms of cliffs)"
    )
    # One by default: tensors this small gain nothing from more, and an engine that spins while its
    # threads wait would lose to the other for reasons that are not the workload's.
    parser.add_argument("--threads", type=int, default=1, help="threads of each engine (default 1)")
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="count processor time of all threads: for one thread on a machine with other work",
    )
    parser.add_argument("--json", type=Path, help="also write all the numbers to this file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 when every workload ran and agreed, 1 when one did not, 2 when nothing could run."""
    workloads = [
        w
        for w in WORKLOADS.values()
        if args.filter in w.id and (w.group not in ASKED_FOR or w.group in args.filter)
    ]
    args.rounds = args.rounds if args.rounds is not None else 5 if CLIFFS in args.filter else 11
    args.round_ms = args.round_ms or (2.0 if CLIFFS in args.filter else 10.0)
    if not workloads or args.rounds < 1 or args.threads < 1:
        reason = "--rounds and --threads must be at least 1"
        if not workloads:
            reason = f"no workload's name contains {args.filter!r}; see clew bench --list"
        print(f"clew bench: {reason}", file=sys.stderr)
        return 2
    if args.list:
        print("\n".join(workload.id for workload in workloads))
        return 0
    try:
        results, versions = _measure(workloads, args)
    except BenchError as error:
        print(f"clew bench: {error}", file=sys.stderr)
        return 2

    console = Console()
    for table in dict.fromkeys((results_table, *_TABLES.values())):
        shown = [r for r in results if _TABLES.get(r.workload.group, results_table) is table]
        if shown:
            console.print(table(shown))
    for line in (*compiled_lines(results), *summary_lines(results)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if args.json is not None:
        settings = {
            "versions": versions,
            "rounds": args.rounds,
            "round_ms": args.round_ms,
            "threads": args.threads,
            "cpu": args.cpu,
        }
        args.json.write_text(json.dumps(as_json(results, settings), indent=1) + "\n")
        console.print(f"Numbers: {args.json.resolve()}", soft_wrap=True, highlight=False)
    return 0 if all(result.ok for result in results) else 1


def _measure(
    workloads: list[Workload], args: argparse.Namespace
) -> tuple[list[Result], dict[str, str]]:
    """The results, and the versions of the engines; Ctrl-C ends it with those that are there."""
    results: list[Result] = []

    def note(found: Sequence[Result]) -> None:
        results.extend(found)
        progress.update(task, completed=len(results))
        for result in found:
            if result.workload.group == CLIFFS and is_shown(result):
                # The sweep takes an hour: what it finds is told at once.
                value = f"{ratio(result):6.2f}" if result.ok else " fails"
                progress.console.print(f"{value}  {result.workload.id}", highlight=False)

    # On stderr, so that the table alone can be sent to a file.
    with Progress(
        *Progress.get_default_columns(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("measuring", total=len(workloads))
        try:
            return run_benchmark(
                workloads,
                rounds=args.rounds,
                round_seconds=args.round_ms / 1e3,
                threads=args.threads,
                cpu=args.cpu,
                on_results=note,
            )
        except KeyboardInterrupt:
            return results, {}
