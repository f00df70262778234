"""`torchrun`: starts the ranks as `clew launch` does, with torchrun's options."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from clew.distributed.launcher import starting

__all__ = ["get_args_parser", "main", "parse_args", "run"]

# Options of torchrun about things that MPI does itself.
_ACCEPTED = (
    "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rdzv-conf", "node-rank", "monitor-interval",
    "start-method", "role", "log-dir", "redirects", "tee", "local-addr",
)  # fmt: skip


def get_args_parser() -> argparse.ArgumentParser:
    """The options of torchrun."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Starts ranks under MPI.")
    for name, default in (
        ("nproc-per-node", "1"), ("nnodes", "1"), ("max-restarts", "0"), ("master-addr", None),
        ("master-port", None), *((each, None) for each in _ACCEPTED),
    ):  # fmt: skip
        spellings = {f"--{name}", f"--{name.replace('-', '_')}"}
        parser.add_argument(*sorted(spellings), default=default)
    parser.add_argument("--standalone", action="store_true")
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The options in a command line."""
    return get_args_parser().parse_args(args)


def run(args: argparse.Namespace) -> None:
    """Start the ranks; a failure ends this process with its status."""
    if args.nnodes not in ("1", "1:1"):
        sys.exit(
            "torchrun: with MPI one command starts the ranks of all machines: "
            "`clew launch -n RANKS --hosts A:8,B:8 script.py`"
        )
    each = args.nproc_per_node
    ranks = int(each) if each.isdigit() else os.cpu_count() or 1
    script = ["-m"] if args.module else []
    options = starting.Options(
        ranks, int(args.max_restarts),
        master_address=args.master_addr, master_port=args.master_port,
    )  # fmt: skip
    signal.signal(signal.SIGTERM, starting.interrupted)
    status = starting.launch(options, [*script, args.training_script, *args.training_script_args])
    if status:
        sys.exit(status)


def main(args: Sequence[str] | None = None) -> None:
    """The command `torchrun`."""
    run(parse_args(args))


if __name__ == "__main__":
    main()
