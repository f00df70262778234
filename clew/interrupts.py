"""Functions that the exception of a signal's handler cannot stop at their first line.

Python runs signal handlers (Ctrl-C raises `KeyboardInterrupt` in one) where a function starts,
where a loop jumps back, and after a call of a C function; never between loads, stores and returns.
State is therefore kept right by construction:

    before = state.x        # whatever has to be called is called before the next line
    state.x = new
    try: ...
    finally: state.x = before

A list that is appended to and popped would be a call; stacks are tuples, stored anew. Only
`__exit__` of a context manager begins with a call that is not ours: without help, an interrupt at
its start would leave the mode on. `uninterrupted` is that help. A function so marked undoes first,
by plain stores, and calls last; `__enter__` calls first, and stores last.
"""

from __future__ import annotations

import opcode
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_RESUME = opcode.opmap.get("RESUME")
_BEFORE_WITH = opcode.opmap.get("BEFORE_WITH")
_CACHE = opcode.opmap.get("CACHE", 0)
# What RESUME is told after `yield from`, where CPython does not look for signals.
_AFTER_YIELD_FROM = 2


def uninterrupted(function: F) -> F:
    """The function, beginning without a look for signals where the interpreter has such a way."""
    code = function.__code__
    instructions = bytearray(code.co_code)
    for at in range(0, len(instructions), 2):
        if instructions[at] == _RESUME:
            if instructions[at + 1] == 0:
                instructions[at + 1] = _AFTER_YIELD_FROM
                function.__code__ = code.replace(co_code=bytes(instructions))
            break
    return function


def enters_block(frame: FrameType) -> bool:
    """Whether the value of the call that a frame is in is entered by `with` at once."""
    instructions, at = frame.f_code.co_code, frame.f_lasti + 2
    while at < len(instructions) and instructions[at] == _CACHE:
        at += 2
    return at < len(instructions) and instructions[at] == _BEFORE_WITH


@uninterrupted
def run_to_end(function: Callable[[], None]) -> None:
    """Call a function that may be called twice; if a signal interrupts it, once more."""
    try:
        function()
    except BaseException:
        function()
        raise


def is_from_handler(error: BaseException) -> bool:
    """Whether a signal's handler has raised an error, and not what ran when the signal came.

    Python gives a handler the frame that it interrupts, which is also the frame that it returns to.
    """
    at: TracebackType | None = error.__traceback__
    while at is not None and at.tb_next is not None:
        interrupted, at = at.tb_frame, at.tb_next
        for value in at.tb_frame.f_locals.values():
            given = value if type(value) is tuple else (value,)
            if any(each is interrupted for each in given):
                return True
    return False
