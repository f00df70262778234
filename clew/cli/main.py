"""The `clew` command: one subcommand per module of this package."""

import argparse
import sys
from collections.abc import Sequence

import clew
from clew.cli import bench, demo, doctor, graph, info, optable, run

# Each module offers add_parser(subparsers), which sets `run` on the parsed arguments.
_COMMANDS = (demo, run, doctor, graph, bench, info, optable)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clew", description="An autograd engine with PyTorch's API that explains itself."
    )
    parser.add_argument("--version", action="version", version=f"clew {clew.__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status (argparse itself exits 2 on bad usage)."""
    args = build_parser().parse_args(argv)
    try:
        status: int = args.run(args)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
