"""Streams and events of a GPU: their names exist, and making one raises, because there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from clew import errors
from clew.backend.device import device as _device
from clew.backend.device import no_such_device as _no_such_device

__all__ = [
    "Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream",
]  # fmt: skip


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"torch.cuda.{name} requires CUDA support. On the CPU every operation has ended when its "
        "call returns: time it with time.perf_counter()." + errors.at_user_line()
    )


class Stream:
    """For annotations; making one raises."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        _refuse("Stream")


class Event:
    """For annotations; making one raises."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        _refuse("Event")


class StreamContext:
    """`with stream(None):`, which changes nothing; there is no other stream to give."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


def stream(stream: Stream | None) -> StreamContext:
    """A context in which operations go to a stream."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def default_stream(device: Any = None) -> Stream:
    """Raises: there is no GPU."""
    raise _no_such_device(_device("cuda"))


def set_stream(stream: Stream | None) -> None:
    """Choose the stream: None, the only one there is, changes nothing."""
