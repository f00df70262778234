"""A channel between a loader and one of its worker processes.

Objects are pickled with protocol 5. Where the system allows, the memory of large arrays is not
sent through the socket: the sender writes it to a file in memory that has no name and passes the
file's descriptor. So a worker never waits for the loader to read a large batch, and whoever dies,
there is nothing to clean up: the system frees the file with the last descriptor.
"""

from __future__ import annotations

import io
import itertools
import mmap
import os
import pickle
import socket
import struct
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Any

# Smaller arrays are part of the pickle: a buffer of its own costs more than copying them.
_OWN_BUFFER_FROM = 4096
# From this many bytes on the buffers of a message go through a file in memory.
_FILE_FROM = 65536
_CAN_PASS_FILES = hasattr(os, "memfd_create") and hasattr(socket, "send_fds")
# (epoch, task), then how the buffers come, and how many there are.
_HEAD = struct.Struct("<qqBI")
_INLINE, _IN_FILE = 0, 1
# How arrays are aligned in a file, as NumPy's own memory is for vector instructions.
_ALIGNMENT = 64
_MAPPINGS_AT_MOST = 64
# Populating asks for all pages at once instead of one fault for each.
_MAP_FLAGS = getattr(mmap, "MAP_SHARED", 1) | getattr(mmap, "MAP_POPULATE", 0)


class Channel:
    """One end: sends and receives (epoch, task, value)."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._passes_files = _CAN_PASS_FILES

    def fileno(self) -> int:
        return self.connection.fileno()

    def close(self) -> None:
        self.connection.close()

    def send(self, epoch: int, task: int, value: Any) -> None:
        """Send a value; what cannot be pickled raises before anything has been sent."""
        pickled, buffers = _pickled(value)
        in_file = self._passes_files and sum(map(len, buffers)) >= _FILE_FROM
        head = _HEAD.pack(epoch, task, _IN_FILE if in_file else _INLINE, len(buffers))
        sizes = struct.pack(f"<{len(buffers)}Q", *map(len, buffers))
        if not in_file:
            self.connection.send_bytes(b"".join((head, sizes, *buffers, pickled)))
            return
        file = _file_with(buffers)
        try:
            self.connection.send_bytes(head + sizes + pickled)
            with _socket_of(self.connection) as wire:
                socket.send_fds(wire, [b"f"], [file])
        finally:
            os.close(file)

    def receive(self) -> tuple[int, int, Message]:
        """The next message; its value is unpickled by whoever wants it."""
        message = memoryview(self.connection.recv_bytes())
        epoch, task, place, count = _HEAD.unpack_from(message)
        sizes = struct.unpack_from(f"<{count}Q", message, _HEAD.size)
        rest = message[_HEAD.size + 8 * count :]
        if place == _IN_FILE:
            return epoch, task, Message(rest, self._buffers_from_file(sizes))
        buffers = []
        for size in sizes:
            # A copy, because arrays must be writable and aligned.
            buffers.append(memoryview(bytearray(rest[:size])))
            rest = rest[size:]
        return epoch, task, Message(rest, buffers)

    def _buffers_from_file(self, sizes: tuple[int, ...]) -> list[memoryview]:
        with _socket_of(self.connection) as wire:
            _, files, _, _ = socket.recv_fds(wire, 1, 1)
        if not files:
            raise OSError("too many open files to receive the memory of a batch")
        try:
            return _contents(files[0], sizes)
        finally:
            os.close(files[0])


class Message:
    """A value that has arrived but is not yet unpickled."""

    __slots__ = ("buffers", "pickled")

    def __init__(self, pickled: memoryview, buffers: list[memoryview]) -> None:
        self.pickled = pickled
        self.buffers = buffers

    def value(self) -> Any:
        return pickle.loads(self.pickled, buffers=self.buffers)


def _pickled(value: Any) -> tuple[bytes, list[memoryview]]:
    """The pickle of a value, and the memory of its large arrays apart from it."""
    buffers: list[memoryview] = []

    def stays_inside(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes < _OWN_BUFFER_FROM:
            return True
        buffers.append(raw)
        return False

    stream = io.BytesIO()
    pickle.Pickler(stream, 5, buffer_callback=stays_inside).dump(value)
    return stream.getvalue(), buffers


def _socket_of(connection: Connection) -> socket.socket:
    return socket.socket(fileno=os.dup(connection.fileno()))


def _places(sizes: Iterable[int]) -> list[int]:
    """Where each buffer begins in a file, and where the file ends."""
    padded = (-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes)
    return list(itertools.accumulate(padded, initial=0))


def _file_with(buffers: list[memoryview]) -> int:
    file = os.memfd_create("clew-batch")
    try:
        for buffer, place in zip(buffers, _places(map(len, buffers))):
            while len(buffer):
                count = os.pwrite(file, buffer, place)
                buffer, place = buffer[count:], place + count
    except BaseException:  # an interrupt too leaves no open file
        os.close(file)
        raise
    return file


class _Mapping(mmap.mmap):
    """A file in memory, seen as memory of this process for as long as an array uses it."""

    alive = 0

    def __new__(cls, file: int, size: int) -> _Mapping:
        mapping = super().__new__(cls, file, size, flags=_MAP_FLAGS)
        _Mapping.alive += 1
        return mapping

    def __del__(self) -> None:
        _Mapping.alive -= 1


def _contents(file: int, sizes: tuple[int, ...]) -> list[memoryview]:
    """The buffers in a file: mapped, which costs no copy, or read."""
    places = _places(sizes)
    # A mapping holds a descriptor, and a process may have only about a thousand: programs that
    # keep many batches get the later ones in ordinary memory.
    if _Mapping.alive < _MAPPINGS_AT_MOST:
        end = places[len(sizes) - 1] + sizes[-1]
        whole = memoryview(_Mapping(file, end))
        return [whole[place : place + size] for place, size in zip(places, sizes)]
    return [_read(file, place, size) for place, size in zip(places, sizes)]


def _read(file: int, place: int, size: int) -> memoryview:
    memory = memoryview(bytearray(size))
    left = memory
    while len(left):
        count = os.preadv(file, [left], place)
        if count == 0:
            raise EOFError("the memory of a batch ends early")
        left, place = left[count:], place + count
    return memory
