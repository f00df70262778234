"""The `clew` command: one subcommand per module of this package."""

import argparse
import importlib
import sys
from collections.abc import Iterable, Sequence

import clew

# The commands and their modules, each with add_parser(subparsers), which sets `run` on the parsed
# arguments. Only that of the command that is given is loaded: others would add to each start.
_COMMANDS = {
    "demo": "demo", "run": "run", "doctor": "doctor", "graph": "graph", "bench": "bench",
    "info": "info", "ops": "optable", "gallery": "gallery", "scratch": "scratch", "quiz": "quiz",
    "launch": "launch", "plan": "plan",
}  # fmt: skip


def build_parser(commands: Iterable[str] = tuple(_COMMANDS)) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clew", description="An autograd engine with PyTorch's API that explains itself."
    )
    parser.add_argument("--version", action="version", version=f"clew {clew.__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in commands:
        importlib.import_module(f"clew.cli.{_COMMANDS[command]}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status (argparse itself exits 2 on bad usage)."""
    given = sys.argv[1:] if argv is None else argv
    known = given[:1] if given and given[0] in _COMMANDS else _COMMANDS
    args = build_parser(known).parse_args(argv)
    try:
        status: int = args.run(args)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
