"""`python -m clew_doctor`: `clew doctor`, in a process without clew's engine."""

from __future__ import annotations

import argparse
import importlib
import sys

import clew_doctor


def main() -> int:
    """Run the command and return its exit status."""
    assert clew_doctor
    parser = argparse.ArgumentParser(prog="clew")
    commands = parser.add_subparsers(required=True)
    importlib.import_module("clew.cli.doctor").add_parser(commands)
    args = parser.parse_args(["doctor", "--engine", "torch", *sys.argv[1:]])
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
