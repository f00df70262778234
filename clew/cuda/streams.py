"""Streams and events of a GPU: their names exist, and making one raises, because there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from clew import errors
from clew.backend.device import device as _device
from clew.backend.device import no_such_device as _no_such_device

__all__ = [
    "Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream",
]  # fmt: skip


def _refuse(name: str, is_class: bool = False) -> NoReturn:
    """Raise PyTorch's error for a function, or for a class that its compiled part lacks."""
    words = f"torch.cuda.{name} requires CUDA support"
    if is_class:
        words = f"Tried to instantiate dummy base class {name}"
    raise RuntimeError(
        f"{words}. On the CPU every operation has ended when its call returns: time it with "
        "time.perf_counter()." + errors.at_user_line()
    )


class Stream:
    """A queue of work on a GPU. For annotations; making one raises.

    Args:
        device: the GPU
        priority: how urgent its work is

    Example:
        >>> clew.cuda.Stream()
        Traceback (most recent call last):
        ...
        RuntimeError: torch.cuda.Stream requires CUDA support...
    """

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        _refuse("Stream")


class Event:
    """A mark in a GPU's queue of work. For annotations; making one raises.

    Args:
        enable_timing: whether it measures time
        blocking: whether `wait` sleeps
        interprocess: whether processes can share it

    Example:
        >>> clew.cuda.Event(enable_timing=True)
        Traceback (most recent call last):
        ...
        RuntimeError: Tried to instantiate dummy base class Event...
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        _refuse("Event", is_class=True)


class StreamContext:
    """`with stream(None):`, which changes nothing; there is no other stream to give.

    Args:
        stream: None

    Example:
        >>> with clew.cuda.StreamContext(None):
        ...     clew.ones(1).device
        device(type='cpu')
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


def stream(stream: Stream | None) -> StreamContext:
    """A context in which operations go to a stream; None, the only one there is, changes nothing.

    Args:
        stream: None

    Example:
        >>> with clew.cuda.stream(None):
        ...     clew.ones(1).device
        device(type='cpu')
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Raises: there is no GPU.

    Args:
        device: the GPU

    Example:
        >>> clew.cuda.current_stream()
        Traceback (most recent call last):
        ...
        clew.backend.device.NoSuchDevice: Torch not compiled with CUDA enabled: ...
    """
    raise _no_such_device(_device("cuda"))


def default_stream(device: Any = None) -> Stream:
    """Raises: there is no GPU.

    Args:
        device: the GPU

    Example:
        >>> clew.cuda.default_stream()
        Traceback (most recent call last):
        ...
        clew.backend.device.NoSuchDevice: Torch not compiled with CUDA enabled: ...
    """
    raise _no_such_device(_device("cuda"))


def set_stream(stream: Stream | None) -> None:
    """Choose the stream: None, the only one there is, changes nothing.

    Args:
        stream: None

    Example:
        >>> clew.cuda.set_stream(None)
    """
