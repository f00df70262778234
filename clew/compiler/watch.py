"""What a captured call runs besides operations.

A replay runs no Python. So code that the guards have not looked through, and C functions that are
more than their arguments (clocks, files, random numbers, prints), end a capture. While a call is
captured, the interpreter tells of every function that it enters.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

import clew.random as random_functions
from clew import settings
from clew.backend import device, dtypes
from clew.compiler import read_numbers
from clew.compiler.capture import Capture
from clew.compiler.code_names import Executed, names_of
from clew.compiler.graph import CALL
from clew.compiler.library_events import CAPTURING
from clew.compiler.native.optimizer_steps import is_step
from clew.compiler.reachable import (
    OPTIMIZER_NAMES,
    OPTION_NAMES,
    Reached,
    TooMuch,
    is_standard,
)
from clew.compiler.read_numbers import HARMLESS, is_given
from clew.compiler.side_effects import Clear
from clew.core.overrides import SWITCHED
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.nn.modules.module import Module
from clew.ops.create.random import Generator
from clew.source import INTERNAL_PACKAGES, LOOKS_FIRST

# Modules of the standard library whose functions do nothing but return.
_PURE = frozenset({
    "_collections_abc", "abc", "ast", "bisect", "collections", "contextlib", "copy", "copyreg",
    "dataclasses", "enum", "fractions", "functools", "heapq", "inspect", "itertools", "keyword",
    "math", "numbers", "operator", "re", "reprlib", "statistics", "string", "textwrap", "types",
    "typing",
})  # fmt: skip
_PURE_C = _PURE | {
    "_abc", "_bisect", "_collections", "_functools", "_heapq", "_operator", "_sre", "_struct",
    "_typing", "_weakref", "cmath", "struct",
}  # fmt: skip
# Functions of `builtins` that look at more than their arguments, or do something.
_IMPURE = frozenset({
    "__import__", "breakpoint", "compile", "eval", "exec", "globals", "id", "input", "open",
    "print",
})  # fmt: skip
_PLAIN_TYPES = (
    bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, slice,
    range, type, property, np.ndarray, np.generic, np.dtype, np.ufunc, types.GeneratorType,
    types.MappingProxyType, memoryview,
)  # fmt: skip
# The packages that the library is built on.
_FOUNDATIONS = frozenset({"llvmlite", "ml_dtypes", "numpy", "threadpoolctl"})
# C functions that look at attributes by names that they are given.
_GETTING = frozenset({"delattr", "dir", "format", "getattr", "hasattr", "setattr", "vars"})
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _codes(*functions: Any) -> dict[int, str]:
    plain = [getattr(each, "__func__", each) for each in functions]
    return {id(_own_code(each)): each.__name__ for each in plain if hasattr(each, "__code__")}


def _own_code(function: Any) -> types.CodeType:
    """The code that a function is defined by, also where it looks for overrides first."""
    switched = SWITCHED.get(function)
    code: types.CodeType = (switched.implementation if switched else function).__code__
    return code


# What programs may ask of the library, or tell it, that is state of all of it.
_LIBRARY_STATE = _codes(
    *[each for name, each in vars(random_functions).items()
      if isinstance(each, types.FunctionType) and not name.startswith("_")],
    random_functions.fork_rng.__init__, random_functions.fork_rng.__enter__,
    *[each for each in vars(settings).values() if isinstance(each, types.FunctionType)],
    *[each for name, each in vars(Generator).items() if not name.startswith("__")],
    device.set_default_device, dtypes.set_default_dtype,
)  # fmt: skip
# Functions that give a number to an operation as it is.
_PASSING_ON = frozenset(_codes(
    *[getattr(Tensor, f"__{name}__") for name in (
        "add", "radd", "mul", "rmul", "sub", "rsub", "truediv", "rtruediv", "iadd", "isub", "imul",
        "itruediv",
    )],
    getattr(Tensor, "mul_"), Module.__call__,  # noqa: B009  it is put there later
))  # fmt: skip
_SHOWN = _codes(Tensor.__repr__, Tensor.__str__)
_GRAD = id(_own_code(Tensor.grad.fget))  # type: ignore[attr-defined]  # a property, defined later


class Watch:
    """Sees which functions a call enters, from `start` to `stop`."""

    def __init__(self, capture: Capture, reached: Reached) -> None:
        self.capture = capture
        self.reached = reached
        self._harmless = set(reached.codes)
        self.executed = Executed()
        # Functions of the standard library that know nothing of the program.
        self._pure: set[int] = set()
        self._frames: set[int] = set()
        # Functions of the library that are of no interest, whoever calls them.
        self._inner: set[int] = set()
        self._before: Any = sys.getprofile()
        self._is_callable = callable(self._before)

    def start(self) -> None:
        sys.setprofile(self._event)

    @uninterrupted
    def stop(self) -> None:
        before = self._before
        if before is None or callable(before):
            sys.setprofile(before)
        else:
            # cProfile's, which is no function of Python's.
            sys.setprofile(None)
            before.enable()

    def _event(self, frame: types.FrameType, event: str, argument: Any) -> None:
        # Most events are functions of the library that call each other.
        if self._is_callable:
            self._before(frame, event, argument)
        if event == "call":
            capture = self.capture
            is_new = id(frame.f_code) not in self._inner
            if is_new and not capture.depth and capture.problem is None:
                self._entered(frame)
        elif event == "c_call":
            is_inner = frame.f_globals.get("__package__") in INTERNAL_PACKAGES
            if (not is_inner or argument is warnings.warn) and not self.capture.depth:
                self._c_function(frame, argument)

    def _entered(self, frame: types.FrameType) -> None:
        code = frame.f_code
        number = id(code)
        if not is_library(frame):
            self.executed.enter(code)
        if code.co_filename == LOOKS_FIRST and "own" in frame.f_locals:
            # What looks for overrides first stands for the function: the user's code calls it.
            number = id(frame.f_locals["own"].implementation.__code__)
        if number == _GRAD:
            known = frame.f_locals
            self.capture.grad_read(known["self"] if "self" in known else known["args"][0])
        if code.co_flags & _GENERATORS and not is_library(frame):
            self._resumed(frame)
        if number in self._pure:
            return
        if number in self._harmless:
            names = OPTIMIZER_NAMES.intersection((*code.co_names, *names_of(code).texts))
            if names:
                self._optimizers_read(names)
            return
        if is_library(frame):
            self._library(frame, number)
            return
        module = frame.f_globals.get("__name__", "?")
        top = module.partition(".")[0]
        if top in _PURE or top == "numpy" or top.startswith("namedtuple_"):
            self._pure.add(number)
            return
        if is_asked_by_library(frame) or _is_import(frame) or _is_weak_entry(frame):
            return
        self.capture.refuse(f"{module}.{code.co_name} is called, which guards do not look through")

    def _library(self, frame: types.FrameType, number: int) -> None:
        if number not in _PASSING_ON and self._is_given_number(frame):
            self.capture.numbers.use_all()
        if number in _SHOWN:
            self.capture.refuse("a tensor is shown as text")
        elif number in _LIBRARY_STATE:
            caller = frame.f_back
            if caller is not None and not is_library(caller):
                self.capture.refuse(f"{_LIBRARY_STATE[number]} is called")
        elif number != _GRAD and not self.capture.numbers.numbers:
            self._inner.add(id(frame.f_code))

    def _is_given_number(self, frame: types.FrameType) -> bool:
        """Whether the user's code gives a function of the library a float of the arguments."""
        caller = frame.f_back
        if not self.capture.numbers.numbers or caller is None or is_library(caller):
            return False
        if frame.f_globals is read_numbers.__dict__:
            # It notices that itself.
            return False
        return any(map(is_given, frame.f_locals.values()))

    def _resumed(self, frame: types.FrameType) -> None:
        """A generator runs on: one that the call itself has begun?"""
        is_new = frame.f_lasti <= _start(frame.f_code) and frame not in self.reached.generators
        if is_new:
            self._frames.add(id(frame))
        elif id(frame) not in self._frames:
            self.capture.refuse("a generator that was there before the call is resumed")

    def _optimizers_read(self, names: Iterable[str]) -> None:
        calls = [each for each in self.capture.graph.instructions if each.kind == CALL]
        if OPTION_NAMES.issuperset(names):
            # Steps of optimizers leave options alone.
            calls = [each for each in calls if not is_step(each)]
        if not all(isinstance(each.detail, Clear) for each in calls):
            self.capture.refuse("what an optimizer keeps may be read after a step")
            return
        try:
            self.reached.read_optimizers(names)
        except TooMuch as too_much:
            self.capture.refuse(str(too_much))

    def _c_function(self, frame: types.FrameType, function: Any) -> None:
        if getattr(function, "__name__", "") in _GETTING:
            self.executed.looks_at_all = True
        if function is warnings.warn:
            self.capture.refuse("a warning is given")
        if is_asked_by_library(frame):
            return
        if getattr(function, "__name__", "") not in HARMLESS:
            self.capture.readings.use_all()
            self.capture.numbers.use_all()
        top = frame.f_globals.get("__name__", "?").partition(".")[0]
        if self.capture.problem is not None or top in _PURE or _is_pure(function):
            return
        if not _is_import(frame):
            name = getattr(function, "__qualname__", repr(function))
            self.capture.refuse(f"{name} is called, which a replay would not do")


@functools.cache
def _start(code: types.CodeType) -> int:
    """Where a generator stands before it has run."""
    return next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")


def _is_pure(function: Any) -> bool:
    """Whether a C function does nothing but return what its arguments say."""
    owner = getattr(function, "__self__", None)
    if owner is None:
        owner = getattr(function, "__objclass__", None)
    if isinstance(owner, types.ModuleType):
        name = owner.__name__.partition(".")[0]
        if name == "builtins":
            return function.__name__ not in _IMPURE
        return name in _PURE_C or (name == "numpy" and "random" not in owner.__name__)
    if isinstance(owner, type):
        return owner.__module__ in ("builtins", "collections", "numpy") or (
            owner.__module__ in _PURE_C
        )
    if isinstance(owner, _PLAIN_TYPES) or isinstance(function, types.MethodDescriptorType):
        return True
    module = type(owner).__module__
    return module in _PURE_C or module in ("collections", "re")


def _is_foundation(module: str | None) -> bool:
    return is_standard(module) or (module or "").partition(".")[0] in _FOUNDATIONS


def _is_import(frame: types.FrameType) -> bool:
    """Whether a frame runs because a module is imported: that is so once, compiled or not."""
    asking: types.FrameType | None = frame
    while asking is not None:
        name = asking.f_globals.get("__name__", "")
        if name.startswith("importlib."):
            return True
        if name == CAPTURING:
            return False
        asking = asking.f_back
    return False


def _is_weak_entry(frame: types.FrameType) -> bool:
    """Whether a weak dictionary or set drops an object that has died.

    One that the program can reach is state: a call that puts something there is not captured.
    """
    module, name = frame.f_globals.get("__name__"), frame.f_code.co_name
    return (module, name) in (("weakref", "remove"), ("_weakrefset", "_remove"))


def is_asked_by_library(frame: types.FrameType) -> bool:
    """Whether a frame is the library's, or of a package that it is built on, on its behalf."""
    asking: types.FrameType | None = frame
    while asking is not None and _is_foundation(asking.f_globals.get("__name__")):
        asking = asking.f_back
    return asking is not None and is_library(asking)


def is_library(frame: types.FrameType) -> bool:
    """Whether a frame runs the library's own code."""
    return frame.f_globals.get("__package__") in INTERNAL_PACKAGES
