"""`clew run`: a PyTorch program, unchanged, with `import torch` meaning clew.

The program sees what it would see under `python script.py`: its arguments, its folder on
`sys.path`, its own `__main__`, its exit status, and tracebacks without the frames of this file.
"""

from __future__ import annotations

import argparse
import atexit
import importlib.util
import io
import os
import signal
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

import clew
from clew import aliasing
from clew.core import overrides

# Files whose frames only look up names.
_HIDDEN = frozenset({__file__, aliasing.__file__, clew.__file__})
_INTERRUPTED = 130  # as shells report a program that ended by SIGINT


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
    ending = _Ending()
    try:
        main, code = _module(target) if args.module else _script(target)
        # A module that was found has a file, which its type does not say.
        sys.argv = [main.__file__ if args.module else target, *arguments]  # type: ignore[list-item]
        sys.modules["__main__"] = main
        overrides.switch_on_for(code)
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except _NotFound as error:
        print(f"clew run: {error}", file=sys.stderr)
        return 2
    except BaseException as error:  # any end is reported, also Ctrl-C
        return ending.report(error)
    return 0


# -- the program -----------------------------------------------------------------------------------


class _NotFound(Exception):
    """There is no such program."""


def _script(path: str) -> tuple[ModuleType, CodeType]:
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        raise _NotFound(f"can't open file {path!r}: {error.strerror}") from None
    _set_first_folder(os.path.dirname(os.path.realpath(path)))
    full_path = os.path.abspath(path)
    main = _fresh_main(full_path, None, SourceFileLoader("__main__", full_path))
    return main, compile(source, full_path, "exec", dont_inherit=True)


def _module(name: str) -> tuple[ModuleType, CodeType]:
    _set_first_folder(os.getcwd())
    spec = _spec(name)
    if spec.submodule_search_locations is not None:
        spec = _spec(f"{name}.__main__")
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None or spec.origin is None:
        raise _NotFound(f"{name} is not a module that can be run")
    return _fresh_main(spec.origin, spec, loader), code


def _spec(name: str) -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if not name.startswith(f"{error.name}."):
            raise  # something that a package on the way imports
        spec = None
    if spec is None:
        raise _NotFound(f"No module named {name}")
    return spec


def _fresh_main(path: str, spec: ModuleSpec | None, loader: Any) -> ModuleType:
    """A `__main__` from which `multiprocessing` can tell new processes what to import."""
    main = ModuleType("__main__")
    main.__file__ = path
    main.__spec__ = spec
    main.__loader__ = loader
    main.__package__ = spec.parent if spec is not None else None
    main.__dict__.update(__cached__=None, __builtins__=__builtins__, __annotations__={})
    return main


def _set_first_folder(folder: str) -> None:
    # Python was started for the `clew` command, whose folder is not the program's.
    if not sys.flags.safe_path:
        sys.path[0] = folder


# -- how it ends -----------------------------------------------------------------------------------


class _Ending:
    """Reports what the program raised, as Python would."""

    def __init__(self) -> None:
        self.interrupted = False
        # Registered before the program's own functions, so that it runs after them.
        atexit.register(self._end_by_signal)

    def report(self, error: BaseException) -> int:
        for each in _chain(error):
            each.__traceback__ = _visible(each.__traceback__)
            _explain_import(each)
        sys.excepthook(type(error), error, error.__traceback__)
        self.interrupted = isinstance(error, KeyboardInterrupt)
        return _INTERRUPTED if self.interrupted else 1

    def _end_by_signal(self) -> None:
        """After Ctrl-C end by the signal: a shell's loop around the program then ends, too."""
        if self.interrupted and os.name == "posix":
            sys.stdout.flush()
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and all those that led to it."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        each = pending.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            pending += [each.__cause__, each.__context__]


def _visible(place: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this file and of the alias."""
    kept = []
    while place is not None:
        if place.tb_frame.f_code.co_filename not in _HIDDEN:
            kept.append(place)
        place = place.tb_next
    for each, following in zip(kept, [*kept[1:], None]):
        each.tb_next = following
    return kept[0] if kept else None


def _explain_import(error: BaseException) -> None:
    """Say of `from torch import name` what `torch.name` would have said."""
    module = sys.modules.get(getattr(error, "name", None) or "")
    words = str(error).split("'")
    if (
        isinstance(error, ImportError)
        and module is not None
        and module.__name__.partition(".")[0] in ("clew", "torch")
        and words[0] == "cannot import name "
    ):
        error.add_note(str(aliasing.MissingName(module, words[1])))
