"""Stores in files: values that the processes of one machine share.

A locked file takes the place of the server that a `TCPStore` has elsewhere: no port is opened.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import struct
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from clew import errors
from clew.distributed.runtime.flight_recorder import FOLDER
from clew.distributed.stores import LONGEST_PAUSE, PATIENCE, DistNetworkError, Store
from clew.forking import add_lock

if sys.platform != "win32":
    import fcntl

__all__ = ["FileStore", "TCPStore"]

_SET, _DELETE = 0, 1
_HEAD = struct.Struct("<BQQ")


class FileStore(Store):
    """Values that processes share through a file, on one machine or a file system that locks.

    Args:
        file_name: the file, which need not be there
        world_size: accepted

    Example:
        >>> import tempfile, clew.distributed as dist
        >>> store = dist.FileStore(tempfile.mkdtemp() + "/values", 1)
        >>> store.set("step", "3")
        >>> store.get("step")
        b'3'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = os.fspath(file_name)
        self._values: dict[str, bytes] = {}
        self._read = 0
        self._lock = add_lock(self, "_lock", threading.Lock)
        self._open()

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        self._process = os.getpid()
        weakref.finalize(self, os.close, self._file)

    def __reduce__(self) -> Any:
        return _reopened, (type(self), self.path, self._timeout)

    def _changed(self, change: Callable[[dict[str, bytes]], Any]) -> Any:
        if sys.platform == "win32":
            raise NotImplementedError(
                "stores in files need the locks of Unix: use HashStore within one process"
                + errors.at_user_line()
            )
        # A process that dies lets go of its lock; what it has not finished writing is cut off.
        with self._lock:
            if self._process != os.getpid():
                # A forked process would share the lock of the one that it comes from.
                self._open()
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                self._catch_up()
                before = dict(self._values)
                found = change(self._values)
                self._write(before)
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        return found

    def _catch_up(self) -> None:
        """Read what other processes have written since."""
        end = os.fstat(self._file).st_size
        if end <= self._read:
            return
        data = os.pread(self._file, end - self._read, self._read)
        at = 0
        while at + _HEAD.size <= len(data):
            kind, key_length, length = _HEAD.unpack_from(data, at)
            start = at + _HEAD.size
            if start + key_length + length > len(data):
                break
            key = data[start : start + key_length].decode()
            if kind == _DELETE:
                self._values.pop(key, None)
            else:
                self._values[key] = data[start + key_length : start + key_length + length]
            at = start + key_length + length
        self._read += at

    def _write(self, before: dict[str, bytes]) -> None:
        """Put behind the file what has changed."""
        records = b""
        for key, value in self._values.items():
            if before.get(key) != value:
                name = key.encode()
                records += _HEAD.pack(_SET, len(name), len(value)) + name + value
        for key in before.keys() - self._values.keys():
            name = key.encode()
            records += _HEAD.pack(_DELETE, len(name), 0) + name
        if records:
            os.ftruncate(self._file, self._read)
            os.pwrite(self._file, records, self._read)
            self._read += len(records)


class TCPStore(FileStore):
    """Values that the processes of one machine share under an address.

    No port is opened: the address names a file in the memory of the job or of this machine.

    Args:
        host_name: a name or address of this machine
        port: a number; 0 for a free one
        world_size: how many processes are waited for, with `wait_for_workers`
        is_master: whether this process makes it; one of them does
        timeout: how long `get` and `wait` wait
        wait_for_workers: return when all have come
        multi_tenant: accepted
        master_listen_fd: accepted if None
        use_libuv: accepted

    Example:
        >>> import clew.distributed as dist
        >>> store = dist.TCPStore("127.0.0.1", 0, 1, True)
        >>> store.set("step", "3")
        >>> store.get("step")
        b'3'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = PATIENCE,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        _must_be_here(host_name)
        self.host, self._is_master = host_name, is_master
        self.port = port or (_free_number() if is_master else 0)
        path = _path_of(self.port)
        if is_master:
            self._make_way(path, multi_tenant)
        self._wait_for(path, timeout)
        super().__init__(path)
        self._timeout = timeout
        if is_master:
            self.set(_OWNER, str(os.getpid()))
            weakref.finalize(self, _remove, path, os.getpid())
        self._wait_for_workers(world_size if wait_for_workers else None)

    def _make_way(self, path: str, is_shared: bool) -> None:
        if not _is_alive(path):
            # What a process that has ended left under this address.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        elif not is_shared:
            raise DistNetworkError(
                "The server socket has failed to listen on any local network address. port: "
                f"{self.port}, name: EADDRINUSE, message: address already in use: this machine has "
                "a store of that port" + errors.at_user_line()
            )

    def _wait_for(self, path: str, timeout: timedelta) -> None:
        until = time.monotonic() + timeout.total_seconds()
        while not self._is_master and not _is_alive(path):
            if time.monotonic() > until:
                raise DistNetworkError(
                    f"The client socket has timed out after {int(timeout.total_seconds() * 1000)}ms"
                    f" while trying to connect to ({self.host}, {self.port}): no process of this "
                    "machine has made the store with is_master=True" + errors.at_user_line()
                )
            time.sleep(LONGEST_PAUSE)

    def _wait_for_workers(self, count: int | None) -> None:
        if count is None or count <= 0:
            return
        self.add(_CAME, 1)
        self._awaited(
            lambda values: int(values.get(_CAME, b"0")) >= count or None,
            [f"{count} processes"],
            self._timeout,
        )

    def num_keys(self) -> int:
        return len(self.list_keys())

    def list_keys(self) -> list[str]:
        return [key for key in super().list_keys() if key not in (_OWNER, _CAME)]


def _remove(path: str, process: int) -> None:
    """Remove the file of a store with the process that made it; others keep theirs open."""
    if process == os.getpid():
        with contextlib.suppress(OSError):
            os.unlink(path)


_OWNER, _CAME = "\x00owner", "\x00came"


def _must_be_here(host: str) -> None:
    """A file of this machine's memory is not seen by another one."""
    ranks, here = os.environ.get("WORLD_SIZE"), os.environ.get("LOCAL_WORLD_SIZE")
    if here is not None and ranks != here:
        raise RuntimeError(
            f"TCPStore: the ranks are on several machines, and stores of clew lie in files: use "
            f"FileStore with a path on a file system that all see (host {host!r})"
            + errors.at_user_line()
        )


def _free_number() -> int:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _path_of(port: int) -> str:
    """Where the values of an address lie: in the folder of the job, which goes when it ends."""
    folder = os.environ.get(FOLDER, "")
    if folder and os.path.isdir(folder):
        return os.path.join(folder, f"store-{port}")
    return os.path.join(tempfile.gettempdir(), f"clew-store-{getpass.getuser()}-{port}")


def _reopened(kind: type[FileStore], path: str, timeout: timedelta) -> FileStore:
    """A store in another process."""
    made = kind.__new__(kind)
    FileStore.__init__(made, path)
    made._timeout = timeout
    return made


def _is_alive(path: str) -> bool:
    """Whether the process that made a store is there."""
    if not os.path.exists(path):
        return False
    owner = FileStore(path)._changed(lambda values: values.get(_OWNER))
    if owner is None:
        return False
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
