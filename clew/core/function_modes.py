"""Modes that take over functions, and blocks in which nothing does: see `core/overrides.py`."""

from __future__ import annotations

import sys
import threading
from typing import Any

from clew import errors
from clew.core.overrides import ENABLED, MODES_ONLY, NOTHING, QUIET, Override, switch_on
from clew.core.state import local
from clew.forking import add_lock
from clew.interrupts import uninterrupted


def _never(types: Any) -> bool:
    return False


# The threads that have a mode.
_threads: set[int] = set()
_lock = add_lock(sys.modules[__name__], "_lock", threading.Lock)


def push_mode(mode: Any) -> None:
    """Make a mode the newest of its thread."""
    switch_on()
    state = local.state
    with _lock:
        _threads.add(id(state))
        Override.is_quiet = staticmethod(_never)
    state.function_modes = (*state.function_modes, mode)


@uninterrupted
def pop_mode() -> Any:
    """Take the newest mode off, and return it."""
    state = local.state
    modes = state.function_modes
    if not modes:
        raise RuntimeError("trying to pop from empty mode stack" + errors.at_user_line())
    state.function_modes = modes[:-1]
    if len(modes) == 1:
        with _lock:
            _threads.discard(id(state))
            if not _threads:
                Override.is_quiet = QUIET.issuperset
    return modes[-1]


class Setting:
    """What of `__torch_function__` is in effect inside a block."""

    __slots__ = ("before",)

    value = ENABLED

    def __enter__(self) -> None:
        state = local.state
        self.before = state.overrides
        state.overrides = max(self.value, self.before)

    @uninterrupted
    def __exit__(self, *exc: Any) -> None:
        local.state.overrides = self.before


class Enabled(Setting):
    """Everything is in effect again."""

    __slots__ = ()

    def __enter__(self) -> None:
        state = local.state
        self.before = state.overrides
        state.overrides = ENABLED


class DisableTorchFunctionSubclass(Setting):
    """Inside, classes take over nothing; modes do."""

    __slots__ = ()
    value = MODES_ONLY


class DisableTorchFunction(Setting):
    """Inside, nothing takes over functions."""

    __slots__ = ()
    value = NOTHING
