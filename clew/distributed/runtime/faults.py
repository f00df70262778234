"""How a rank ends: what it tells the launcher, and that nobody waits for one that is gone.

Under `clew launch` the first cause travels as one marked line of standard error, which the launcher
takes out of the output and prints when all ranks have ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NoReturn, TextIO

from clew import source

# Begins the line that carries a fault. No program prints this character.
MARK = "\x1eclew-fault "
_LAUNCHED = "CLEW_LAUNCH"
_MOST_TEXT = 6000
# Standard error as this process got it, whatever the program does to it.
_channel: TextIO | None = None


def is_launched() -> bool:
    """Whether `clew launch` started this process and reads what it prints."""
    return os.environ.get(_LAUNCHED) == "1"


def rank_of_environment() -> int:
    """The rank as the launcher set it, for reports before there is a group."""
    return int(os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))


def end_with(kind: str, title: str, place: str, text: str = "", status: int = 1) -> NoReturn:
    """Report a fault and end this process; whoever started the ranks then ends the others."""
    # The program may have closed its streams, or put others in their place.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    if is_launched():
        fault = {
            "rank": rank_of_environment(), "kind": kind, "title": title, "place": place,
            "text": text[-_MOST_TEXT:], "time": time.time(), "status": status,
        }  # fmt: skip
        said = f"{MARK}{json.dumps(fault)}"
    else:
        at = f" ({place})" if place and not text else ""
        said = text or f"rank {rank_of_environment()}: {title}{at}"
    print(said, file=_channel or sys.stderr, flush=True)
    os._exit(status)


# -- exceptions ------------------------------------------------------------------------------------


# How paths begin that are not the program's own: those of Python, of packages, and of clew.
INSTALLED = (
    *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
    f"{Path(__file__).parents[2]}{os.sep}", "<frozen ",
)  # fmt: skip


def innermost(frames: Iterable[tuple[FrameType, int]]) -> str:
    """Of a stack, innermost first, the line of the program's own files; of a package if none is."""
    found: source.Place | None = None
    for frame, instruction in frames:
        if frame.f_globals.get("__package__") in source.INTERNAL_PACKAGES:
            continue
        place = frame.f_code, instruction
        if not frame.f_code.co_filename.startswith(INSTALLED):
            return source.describe(place)
        found = found or place
    return source.describe(found) if found else ""


def _place_of(trace: TracebackType | None) -> str:
    """The last line of the user's in a traceback."""
    frames: list[tuple[FrameType, int]] = []
    while trace is not None:
        frames.insert(0, (trace.tb_frame, trace.tb_lasti))
        trace = trace.tb_next
    return innermost(frames)


def raised(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The `sys.excepthook` of ranks: the cause and its line, then the end of the job."""
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.flush()
        os._exit(128 + signal.SIGINT)
    said = str(error).strip().splitlines()
    title = f"{kind.__name__}: {said[0]}".rstrip(":") if said else kind.__name__
    text = "".join(traceback.format_exception(kind, error, trace))
    end_with("raised", title, _place_of(trace), text)


def exited(code: Any, trace: TracebackType | None) -> None:
    """What `sys.exit` was given: anything but success ends the job."""
    if code is None or code == 0:
        return
    status = code if isinstance(code, int) else 1
    text = "" if isinstance(code, int) else str(code)
    end_with("exited", f"sys.exit({code!r})", _place_of(trace), text, status & 0xFF or 1)


def install() -> Callable[..., Any]:
    """Let errors of this process end the job; what was there before is returned."""
    global _channel
    if _channel is None:
        _channel = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
    before, sys.excepthook = sys.excepthook, raised
    return before
