"""Functions that are compiled when compiled code first calls them.

They are called through a table. Until a function is there, its entry leads to Python, which
compiles it, puts it into the table, and goes on there. Any thread may be the first to call, a
worker of the team too: whoever waits for workers must hold neither `jit.lock` nor Python's lock.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from clew.kernels.native.emitter import Emitter

if TYPE_CHECKING:
    from clew.kernels.native.jit import Machine


class Function(NamedTuple):
    """A function of its own module: `define void @name(parameters)`, all of them words."""

    name: str
    parameters: str
    module: Callable[[], str]


class OnDemand:
    """The table of some functions; entries that nobody calls are None."""

    def __init__(self, machine: "Machine", key: str, functions: Sequence[Function | None]) -> None:
        self.machine = machine
        # What the modules depend on besides the names of their functions.
        self.key = key
        self.compiled: dict[int, int] = {}
        self.entries = (ctypes.c_void_p * len(functions))()
        # Called through the table, so they must live as long as the process.
        self.compiling = {
            index: _callable(each)(partial(self.compile_and_go_on, index, each))
            for index, each in enumerate(functions)
            if each
        }
        for index, way in self.compiling.items():
            self.entries[index] = ctypes.cast(way, ctypes.c_void_p).value

    @property
    def address(self) -> int:
        return ctypes.addressof(self.entries)

    def compile_and_go_on(self, index: int, function: Function, *given: int) -> None:
        # One thread compiles; others that come meanwhile wait for it.
        with or_abort(), self.machine.lock:
            if index not in self.compiled:
                code = self.machine.compiled(f"{function.name} {self.key}", function.module)
                self.compiled[index] = self.machine.load(code, function.name)[0]
                self.entries[index] = self.compiled[index]
        _callable(function)(self.compiled[index])(*given)


def _callable(function: Function) -> Any:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (function.parameters.count(",") + 1))


@contextmanager
def or_abort() -> Iterator[None]:
    """For what compiled code waits for: it cannot be told of an error, and must not go on."""
    try:
        yield
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os.abort()


def call(e: Emitter, table: str, index: int | str, arguments: str) -> None:
    """In compiled code: call a function of a table that is provided by this name."""
    e.outside(f"@{table}")
    entry = e.value(f"getelementptr ptr, ptr @{table}, i64 {index}")
    e.line(f"call void {e.value(f'load ptr, ptr {entry}')}({arguments})")
