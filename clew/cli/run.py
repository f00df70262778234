"""`clew run`: a PyTorch program, unchanged, with `import torch` meaning clew.

The program sees what it would see under `python script.py`: its arguments, its folder on
`sys.path`, its own `__main__`, its exit status, and tracebacks without the frames of this file.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import Any

from clew import aliasing
from clew.cli.program import Ending, NotFound, module, script
from clew.core import overrides


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "run",
        help="run a PyTorch program with clew",
        usage="clew run script.py [args ...]\n       clew run -m module [args ...]",
    )
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
    rank_faults = _become_rank() if "CLEW_LAUNCH" in os.environ else None
    ending = Ending()
    try:
        main, code = module(target) if args.module else script(target)
        # A module that was found has a file, which its type does not say.
        sys.argv = [main.__file__ if args.module else target, *arguments]  # type: ignore[list-item]
        sys.modules["__main__"] = main
        overrides.switch_on_for(code)
        exec(code, main.__dict__)
    except SystemExit as end:
        if rank_faults is not None:
            rank_faults.exited(end.code, end.__traceback__)
        raise
    except NotFound as error:
        print(f"clew run: {error}", file=sys.stderr)
        return 2
    except BaseException as error:  # any end is reported, also Ctrl-C
        return ending.report(error)
    return 0


def _become_rank() -> Any:
    """Let this process be one of several ranks; what reports how it ends is returned."""
    importlib.import_module("clew.distributed.launcher.ranks").begin()
    return importlib.import_module("clew.distributed.runtime.faults")
