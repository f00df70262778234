"""Keeps Python's garbage collector still while clew is imported.

Importing makes some fifty thousand objects, none of them garbage. The collector would walk them
all several times now, which takes longer than making them, and again in every program.
"""

from __future__ import annotations

import atexit
import gc
import sys
from types import ModuleType

_was_enabled = gc.isenabled()
gc.disable()
_before = [name.partition(".")[0] for name in sys.modules]


def resume() -> None:
    """Let the collector go on, if it was on, but never look at what has been imported."""
    gc.freeze()
    atexit.register(hold_modules)
    if _was_enabled:
        gc.enable()


def hold_modules() -> None:
    """See to it that the program's own modules are emptied when Python ends.

    A module's functions and its namespace hold each other, and if nobody else does, only the
    collector would find them: not here, where it does not look. But a module that is still in use
    is emptied in any case, and what is in it gets its `__del__`; and `sys` goes last.
    """
    own = set(_before) - sys.stdlib_module_names | {"__main__"}
    held: list[ModuleType] = [
        module for name, module in sys.modules.items() if name.partition(".")[0] in own
    ]
    sys.clew_held_modules = held  # type: ignore[attr-defined]  # a name of our own
