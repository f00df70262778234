"""`multiprocessing.spawn` of a function that makes a process group: its processes are MPI's ranks.

MPI knows only processes that its own launcher has started. So the function and its arguments go
through a file to ranks that do what a spawned process does: import the program's main module, and
call the function.
"""

from __future__ import annotations

import functools
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import spawn
from multiprocessing.reduction import ForkingPickler
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from clew import aliasing
from clew.distributed.launcher import ranks
from clew.distributed.launcher.job import Failure, Job, LaunchError
from clew.distributed.launcher.starting import is_rank
from clew.distributed.runtime import faults

__all__ = ["LaunchError", "become", "makes_group", "run"]

_NAME = "init_process_group"


# -- which functions -------------------------------------------------------------------------------


def makes_group(function: Any) -> bool:
    """Whether the program's code that a function may call names `init_process_group`.

    In a process that is a rank itself, no function does.
    """
    if is_rank():
        return False
    todo, seen = [function], set()
    while todo:
        plain = _unwrapped(todo.pop())
        if isinstance(plain, type):
            todo += [each for each in vars(plain).values() if isinstance(each, FunctionType)]
        if not isinstance(plain, FunctionType) or plain.__code__ in seen:
            continue
        seen.add(plain.__code__)
        names = set(_names(plain.__code__))
        if _NAME in names:
            return True
        todo += [each for each in _reached(plain, names) if _is_of_program(each)]
    return False


def _unwrapped(function: Any) -> Any:
    while isinstance(function, (functools.partial, MethodType)):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    return getattr(function, "__wrapped__", function)


def _names(code: CodeType) -> Iterator[str]:
    """The globals and attributes that a function names, and those inside of it."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)


def _reached(function: FunctionType, names: set[str]) -> Iterator[Any]:
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            # `utils.setup(rank)`: whatever has one of the names.
            yield from (vars(value)[each] for each in names if each in vars(value))
        else:
            yield value
    for cell in function.__closure__ or ():
        yield cell.cell_contents


def _is_of_program(value: Any) -> bool:
    """Whether something is a function or class of the program's own files."""
    plain = _unwrapped(value)
    if not isinstance(plain, (FunctionType, type)):
        return False
    file = getattr(sys.modules.get(plain.__module__), "__file__", None)
    is_own = file is not None and not file.startswith(faults.INSTALLED)
    return is_own and plain.__module__.partition(".")[0] not in ("clew", "torch")


# -- starting them ---------------------------------------------------------------------------------


def run(function: Callable[..., Any], args: tuple[Any, ...], count: int) -> Failure | None:
    """Call `function(rank, *args)` as so many ranks, to their end; None if all ended well.

    Raises:
        LaunchError: there is no MPI, or the arguments are for processes that inherit them
    """
    preparation = spawn.get_preparation_data("rank")
    # The program's ranks may connect to its managers.
    preparation["authkey"] = bytes(preparation["authkey"])
    is_alias = sys.modules.get("torch") is sys.modules["clew"]
    try:
        call = bytes(ForkingPickler.dumps((function, args)))
    except RuntimeError as error:
        raise LaunchError(
            f"{error}. These processes are MPI's ranks, which inherit nothing: give them what a "
            f"multiprocessing.Manager() makes, or start the program with `clew launch -n {count}`"
        ) from None
    with tempfile.TemporaryDirectory(prefix="clew-spawn-") as folder:
        path = os.path.join(folder, "call.pickle")
        with open(path, "wb") as file:
            pickle.dump((is_alias, preparation, call), file)
        command = [sys.executable, "-m", __name__, path]
        return Job(count, command, prefixed=False).run()


def become(path: str) -> None:
    """Be the rank that a file describes."""
    ranks.begin()
    with open(path, "rb") as file:
        is_alias, preparation, call = pickle.load(file)
    if is_alias:
        aliasing.install()
    spawn.prepare(preparation)
    function, args = pickle.loads(call)
    try:
        function(int(os.environ["RANK"]), *args)
    except SystemExit as end:
        faults.exited(end.code, end.__traceback__)
        raise


if __name__ == "__main__":
    become(sys.argv[1])
