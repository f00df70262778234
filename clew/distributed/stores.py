"""Stores: small values that threads or processes share by name, and wait for.

MPI needs no store to bring ranks together; programs use them to agree on something of their own.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from clew import errors
from clew.forking import add_lock

__all__ = [
    "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "HashStore",
    "PrefixStore", "QueueEmptyError", "Store",
]  # fmt: skip

PATIENCE = timedelta(seconds=300)
# Between two looks at the values, in seconds: at first, and at most.
_PAUSE, LONGEST_PAUSE = 1e-4, 1e-2


class DistError(RuntimeError):
    """An error of communication between processes."""


class DistBackendError(DistError):
    """An error of what moves tensors."""


class DistNetworkError(DistError):
    """An error of a network."""


class DistStoreError(DistError):
    """An error of a store, as that a value did not come in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has nothing in it."""


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(
        f"a store keeps str and bytes, not {type(value).__name__}" + errors.at_user_line()
    )


class Store:
    """Values by name that several processes set and wait for; classes below say where they lie.

    A class of one's own defines `set`, `get` and what else it is asked for.
    """

    def __init__(self) -> None:
        self._timeout = PATIENCE

    # -- what a kind of store defines ----------------------------------------------------------

    def _changed(self, change: Callable[[dict[str, bytes]], Any]) -> Any:
        """Let a function see and change all values, while no other process does."""
        raise NotImplementedError(
            f"{type(self).__name__} defines no such method" + errors.at_user_line()
        )

    # -- values --------------------------------------------------------------------------------

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Let `get` and `wait` wait this long.

        Args:
            timeout: how long
        """
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Give a name a value.

        Args:
            key: the name
            value: a text or bytes
        """
        kept = _bytes(value)
        self._changed(lambda values: values.__setitem__(key, kept))

    def get(self, key: str) -> bytes:
        """The value of a name, once it has one.

        Args:
            key: the name
        """
        return self._awaited(lambda values: values.get(key), [key], self._timeout)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Return when all names have values.

        Args:
            keys: the names
            timeout: how long to wait; by default as long as `get`
        """
        self._awaited(
            lambda values: all(key in values for key in keys) or None,
            keys,
            self._timeout if timeout is None else timeout,
        )

    def _awaited(
        self, find: Callable[[dict[str, bytes]], Any], keys: Sequence[str], limit: timedelta
    ) -> Any:
        until, pause = time.monotonic() + limit.total_seconds(), _PAUSE
        while (found := self._changed(find)) is None:
            if time.monotonic() > until:
                milliseconds = int(limit.total_seconds() * 1000)
                raise DistStoreError(
                    f"wait timeout after {milliseconds}ms, keys: {', '.join(keys)}"
                    + errors.at_user_line()
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return found

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which is 0 before; returns the sum.

        Args:
            key: its name
            amount: what is added
        """

        def change(values: dict[str, bytes]) -> int:
            total = int(values.get(key, b"0")) + amount
            values[key] = str(total).encode()
            return total

        return self._changed(change)

    def append(self, key: str, value: str | bytes) -> None:
        """Put bytes behind a value.

        Args:
            key: its name
            value: a text or bytes
        """
        more = _bytes(value)
        self._changed(lambda values: values.__setitem__(key, values.get(key, b"") + more))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all names have values now.

        Args:
            keys: the names
        """
        return self._changed(lambda values: all(key in values for key in keys))

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> Any:
        """Give a name a value if it has an expected one, or if none was expected and it has none.

        Args:
            key: the name
            expected_value: what it must have; empty for none
            desired_value: what it gets
        """
        expected, desired = _bytes(expected_value), _bytes(desired_value)

        def change(values: dict[str, bytes]) -> bytes:
            if values.get(key, b"") == expected:
                values[key] = desired
            return values.get(key, expected)

        return self._changed(change)

    def delete_key(self, key: str) -> bool:
        """Forget a name; whether it had a value.

        Args:
            key: the name
        """
        return self._changed(lambda values: values.pop(key, None) is not None)

    def num_keys(self) -> int:
        """How many names have values."""
        return self._changed(len)

    def list_keys(self) -> list[str]:
        """The names that have values."""
        return self._changed(lambda values: list(values))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several names, once all have one.

        Args:
            keys: the names
        """
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Give several names values.

        Args:
            keys: the names
            values: a text or bytes for each
        """
        kept = dict(zip(keys, map(_bytes, values), strict=True))
        self._changed(lambda found: found.update(kept))

    def has_extended_api(self) -> bool:
        """Whether it has `append`, `multi_get` and `multi_set`: yes."""
        return True

    def clone(self) -> Store:
        """Another one with the same values."""
        return self

    # -- queues --------------------------------------------------------------------------------

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue.

        Args:
            key: the name of the queue
            value: a text or bytes
        """
        item = _bytes(value)

        def change(values: dict[str, bytes]) -> None:
            values[_queue(key)] = values.get(_queue(key), b"") + struct.pack("<Q", len(item)) + item

        self._changed(change)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the value at the front of a queue.

        Args:
            key: the name of the queue
            block: wait for one if there is none; otherwise that is an error
        """

        def change(values: dict[str, bytes]) -> bytes | None:
            kept = values.get(_queue(key), b"")
            if not kept:
                return None
            (length,) = struct.unpack_from("<Q", kept)
            values[_queue(key)] = kept[8 + length :]
            return kept[8 : 8 + length]

        if block:
            return self._awaited(change, [key], self._timeout)
        found = self._changed(change)
        if found is None:
            raise QueueEmptyError(f"queue is empty: {key}" + errors.at_user_line())
        return found

    def queue_len(self, key: str) -> int:
        """The number of values in a queue.

        Args:
            key: the name of the queue
        """
        return self._changed(lambda values: len(list(_items(values.get(_queue(key), b"")))))


def _queue(key: str) -> str:
    return f"{key}/queue"


def _items(kept: bytes) -> Iterator[bytes]:
    while kept:
        (length,) = struct.unpack_from("<Q", kept)
        yield kept[8 : 8 + length]
        kept = kept[8 + length :]


class HashStore(Store):
    """Values that the threads of one process share.

    Example:
        >>> import clew.distributed as dist
        >>> store = dist.HashStore()
        >>> store.set("step", "3")
        >>> store.get("step"), store.add("seen", 2)
        (b'3', 2)
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._lock = add_lock(self, "_lock", threading.Lock)

    def _changed(self, change: Callable[[dict[str, bytes]], Any]) -> Any:
        with self._lock:
            return change(self._values)


class PrefixStore(Store):
    """A store in which all names of another one begin alike.

    Args:
        prefix: what they begin with, before a slash
        store: the other store

    Example:
        >>> import clew.distributed as dist
        >>> store = dist.HashStore()
        >>> dist.PrefixStore("run", store).set("step", "3")
        >>> store.get("run/step")
        b'3'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix, self._store = prefix, store
        self._timeout = store.timeout

    @property
    def underlying_store(self) -> Store:
        """The other store."""
        return self._store

    def _changed(self, change: Callable[[dict[str, bytes]], Any]) -> Any:
        start = f"{self._prefix}/"

        def inner(values: dict[str, bytes]) -> Any:
            own = {k.removeprefix(start): v for k, v in values.items() if k.startswith(start)}
            before = dict(own)
            found = change(own)
            for key in before.keys() - own.keys():
                del values[start + key]
            values.update({start + k: v for k, v in own.items() if before.get(k) != v})
            return found

        return self._store._changed(inner)
