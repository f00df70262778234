"""Keeps Python's garbage collector still while clew is imported.

Importing makes some fifty thousand objects, none of them garbage. The collector would walk them
all several times now, which takes longer than making them, and again in every program.
"""

from __future__ import annotations

import atexit
import gc

_was_enabled = gc.isenabled()
gc.disable()


def resume() -> None:
    """Let the collector go on, if it was on, and not look at what has been imported until the end.

    Then it must, because it takes down the program's own modules, too: what is in them is waiting
    for its `__del__`.
    """
    gc.freeze()
    atexit.register(gc.unfreeze)
    if _was_enabled:
        gc.enable()
