"""A program that `clew` runs in its own process: its `__main__`, and how it ends."""

from __future__ import annotations

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

from clew import aliasing

_FOLDER = os.path.dirname(os.path.abspath(__file__))
# Files whose frames only look up names, or run the program.
_HIDDEN = frozenset(
    {
        aliasing.__file__, os.path.join(os.path.dirname(_FOLDER), "__init__.py"),
        *(os.path.join(_FOLDER, name) for name in ("program.py", "run.py")),
    }
)  # fmt: skip
_INTERRUPTED = 130  # as shells report a program that ended by SIGINT


# -- the program -----------------------------------------------------------------------------------


class NotFound(Exception):
    """There is no such program."""


def script(path: str) -> tuple[ModuleType, CodeType]:
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        raise NotFound(f"can't open file {path!r}: {error.strerror}") from None
    _set_first_folder(os.path.dirname(os.path.realpath(path)))
    full_path = os.path.abspath(path)
    main = _fresh_main(full_path, None, SourceFileLoader("__main__", full_path))
    return main, compile(source, full_path, "exec", dont_inherit=True)


def module(name: str) -> tuple[ModuleType, CodeType]:
    _set_first_folder(os.getcwd())
    if name.startswith("torch.") and sys.modules.get("torch") is sys.modules.get("clew"):
        # What the alias finds has no code of its own: torchrun, say, is clew's.
        name = f"clew.{name.removeprefix('torch.')}"
    spec = _spec(name)
    if spec.submodule_search_locations is not None:
        spec = _spec(f"{name}.__main__")
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None or spec.origin is None:
        raise NotFound(f"{name} is not a module that can be run")
    return _fresh_main(spec.origin, spec, loader), code


def _spec(name: str) -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if not name.startswith(f"{error.name}."):
            raise  # something that a package on the way imports
        spec = None
    if spec is None:
        raise NotFound(f"No module named {name}")
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


class Ending:
    """Reports what the program raised, as Python would."""

    def __init__(self) -> None:
        self.interrupted = False
        # Registered before the program's own functions, so that it runs after them.
        atexit.register(self._end_by_signal)

    def report(self, error: BaseException) -> int:
        for each in chain(error):
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


def chain(error: BaseException) -> Iterator[BaseException]:
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
