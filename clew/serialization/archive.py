"""The container of `.pt` files: a zip archive of uncompressed records at multiples of 64 bytes.

Reading trusts nothing: sizes are compared with the file's before memory is asked for, and every
record with its checksum.
"""

from __future__ import annotations

import io
import mmap
import os
import struct
import zipfile
import zlib
from typing import IO, Any

import numpy as np

from clew import errors
from clew.serialization.options import OPTIONS

ALIGNMENT = 64
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_LOCAL_SIGNATURE = b"PK\x03\x04"
_ZIP64_EXTRA = 20
# How much compressed records may unpack to, beside so many times the file. What is learned hardly
# becomes smaller by compression; a file of zeros could become a thousand times larger in memory.
_UNPACKED_FREELY, _UNPACKED_RATIO = 1 << 24, 20
_PIECE = 1 << 20


def is_archive(start: bytes) -> bool:
    return start.startswith(_LOCAL_SIGNATURE)


def failed(what: str, why: str) -> RuntimeError:
    return RuntimeError(
        f"PytorchStreamReader failed {what}: {why}. The file is damaged: it was not written to "
        "its end, was changed afterwards, or was not transferred whole." + errors.at_user_line()
    )


# -- writing ---------------------------------------------------------------------------------------


def write_fully(file: IO[bytes], data: Any) -> int:
    """Write all of the data: files without a buffer may take less at a time."""
    view = memoryview(data)
    written = 0
    while written < view.nbytes:
        count = file.write(view[written:])
        written += view.nbytes - written if count is None else count
    return written


class _Sink(io.RawIOBase):
    """A file that can only be written to: the archive's offsets then count from its own start."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise io.UnsupportedOperation("tell")

    def write(self, data: Any) -> int:
        return write_fully(self.file, data)


class ArchiveWriter:
    """Writes records one after the other; leaving the `with` block completes the archive."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(_Sink(file), "w", zipfile.ZIP_STORED)

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, kind: Any, *exc: Any) -> None:
        if kind is None:
            self._zip.close()
        else:
            # Nothing more is written after an error, also not when this object is collected.
            self._zip.fp = None

    def write(self, name: str, data: bytes | memoryview) -> None:
        view = memoryview(data)
        info = zipfile.ZipInfo(f"archive/{name}", (1980, 1, 1, 0, 0, 0))
        info.file_size = view.nbytes
        large = view.nbytes * 1.05 > zipfile.ZIP64_LIMIT
        assert self._zip.fp is not None
        before = (
            self._zip.fp.tell()
            + _LOCAL_HEADER.size
            + len(info.filename)
            + (_ZIP64_EXTRA if large else 0)
        )
        # The filler is a field of its own in the local header: two bytes name, two bytes size.
        filler = -(before + 4) % ALIGNMENT
        info.extra = b"FB" + struct.pack("<H", filler) + b"Z" * filler
        with self._zip.open(info, "w", force_zip64=large) as record:
            record.write(view)
        info.extra = b""
        if not OPTIONS.crc32:
            # Readers go by the directory, which is written last; 0 states no checksum.
            info.CRC = 0


# -- reading ---------------------------------------------------------------------------------------


class ArchiveReader:
    """The records of an archive in a file that can seek."""

    def __init__(self, file: IO[bytes], map_into_memory: bool = False) -> None:
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        # zipfile lets out the errors of what it is built on, for files that are no archives.
        except (zipfile.BadZipFile, struct.error, ValueError, OSError, NotImplementedError) as e:
            raise failed("reading zip archive", "failed finding central directory") from e
        file.seek(0, os.SEEK_END)
        self._length = file.tell()
        entries = self._zip.infolist()
        if not entries:
            raise failed("reading zip archive", "it has no records")
        self._check_directory(entries)
        prefix = entries[0].filename.partition("/")[0] + "/"
        self._entries = {entry.filename.removeprefix(prefix): entry for entry in entries}
        if len(self._entries) != len(entries):
            raise failed("reading zip archive", "two of its records have the same name")
        for name, entry in self._entries.items():
            if not name.startswith("data/"):
                self._start(name, entry)
        self._map = mapped(file) if map_into_memory else None

    def _check_directory(self, entries: list[zipfile.ZipInfo]) -> None:
        """Records lie one after the other in the file, and unpack to a size in proportion to it."""
        if sum(entry.compress_size for entry in entries) > self._length:
            raise failed("reading zip archive", "its records are larger than the file")
        end = 0
        for entry in sorted(entries, key=lambda entry: entry.header_offset):
            if entry.header_offset < end:
                raise failed("reading zip archive", "its records lie on top of each other")
            size = _LOCAL_HEADER.size + len(entry.orig_filename) + entry.compress_size
            end = entry.header_offset + size
        if end > self._length:
            raise failed("reading zip archive", "its records go on behind the end of the file")
        unpacked = sum(e.file_size for e in entries if e.compress_type == zipfile.ZIP_DEFLATED)
        if unpacked > _UNPACKED_FREELY + _UNPACKED_RATIO * self._length:
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: its compressed records would "
                f"unpack to {unpacked} bytes, {unpacked // self._length} times the size of the "
                "file. If you trust it, unpack it and pack it again without compression, as "
                "torch.save does." + errors.at_user_line()
            )

    @property
    def length(self) -> int:
        """The size of the file."""
        return self._length

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str) -> bytes:
        return self.array(name).tobytes()

    def array(self, name: str) -> np.ndarray:
        """A record's bytes in memory that can be written to."""
        entry = self._entries.get(name)
        if entry is None:
            raise failed(f"locating file {name}", "file not found")
        if entry.compress_type == zipfile.ZIP_DEFLATED:
            return self._inflated(name, entry)
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise failed(f"reading file {name}", "its directory entry makes no sense")
        start = self._start(name, entry)
        if self._map is not None and name.startswith("data/"):
            # The point of a map is that values are not read before they are needed.
            return _array_over(self._map, start, entry.file_size)
        array = self._read_at(name, start, entry.file_size)
        # PyTorch can write records without a checksum.
        if entry.CRC and zlib.crc32(array.data) != entry.CRC:
            raise failed(f"reading file {name}", "its checksum does not match its contents")
        return array

    def _start(self, name: str, entry: zipfile.ZipInfo) -> int:
        """Where a record's contents begin, behind a header that repeats its name."""
        self._file.seek(entry.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) != _LOCAL_HEADER.size or not is_archive(header):
            raise failed(f"reading file {name}", "invalid header or archive is corrupted")
        name_size, extra_size = _LOCAL_HEADER.unpack(header)[-2:]
        if self._file.read(name_size) != entry.orig_filename.encode():
            raise failed(f"reading file {name}", "its header has another name")
        start = entry.header_offset + _LOCAL_HEADER.size + name_size + extra_size
        if start + entry.compress_size > self._length:
            raise failed(f"reading file {name}", "it goes on behind the end of the file")
        return start

    def _read_at(self, name: str, start: int, size: int) -> np.ndarray:
        self._file.seek(start)
        array = np.empty(size, np.uint8)
        if read_fully(self._file, array) != size:
            raise failed(f"reading file {name}", "file read failed")
        return array

    def _inflated(self, name: str, entry: zipfile.ZipInfo) -> np.ndarray:
        array = np.empty(entry.file_size, np.uint8)
        try:
            with self._zip.open(entry) as source:
                # One byte more than there should be: at the end the checksum is compared.
                size = read_fully(source, array) + len(source.read(1))
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
            raise failed(f"reading file {name}", str(error)) from None
        if size != entry.file_size:
            raise failed(f"reading file {name}", "its directory entry makes no sense")
        return array


def mapped(file: IO[bytes]) -> mmap.mmap:
    """A file in memory; what is written there goes to the file if the option says so."""
    if OPTIONS.mmap_flags != getattr(mmap, "MAP_SHARED", None):
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    with open(file.name, "r+b") as writable:
        return mmap.mmap(writable.fileno(), 0, access=mmap.ACCESS_WRITE)


def read_fully(file: IO[bytes], array: np.ndarray) -> int:
    """Fill an array of bytes from a file; returns how many there were."""
    view = array.data
    filled = 0
    read_into = getattr(file, "readinto", None)
    while filled < len(view):
        if read_into is not None:
            count = read_into(view[filled : filled + _PIECE]) or 0
        else:
            piece = file.read(min(len(view) - filled, _PIECE))
            count = len(piece)
            view[filled : filled + count] = piece
        if count == 0:
            break
        filled += count
    return filled


def _array_over(memory: mmap.mmap, start: int, size: int) -> np.ndarray:
    if size == 0:
        return np.empty(0, np.uint8)
    return np.frombuffer(memory, np.uint8, size, start)
