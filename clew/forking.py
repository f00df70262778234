"""Locks that a forked process begins with open.

A fork copies the memory with all locks in it, and of the threads only the one that forks: a lock
that another thread holds at that moment is closed in the child for ever. So every lock of clew is
made here, and the child gets new ones before anything else runs in it. What another thread was in
the middle of changing is then as it was at that moment: only what is valid at every moment may be
guarded in this way. (LLVM's is not. `kernels/runtime/compile_thread.py` has forks wait for it.)
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Lock = TypeVar("Lock")
_holders: dict[tuple[str, Callable[[], Any]], weakref.WeakSet[Any]] = {}


def add_lock(holder: Any, name: str, kind: Callable[[], Lock]) -> Lock:
    """A new lock for the attribute `name` of an object or a module, to be read there at every use.

    `kind` is `threading.Lock` or `threading.RLock`.
    """
    _holders.setdefault((name, kind), weakref.WeakSet()).add(holder)
    return kind()


def _renew() -> None:
    for (name, kind), holders in _holders.items():
        for holder in holders:
            setattr(holder, name, kind())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


Value = TypeVar("Value")


class cached_property(Generic[Value]):
    """A value that is computed when it is first asked for.

    `functools` has the same, but in Python 3.11 with a lock that is held meanwhile. Here, two
    threads at the same time both compute it, and both get what the first has computed.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.name, self.compute(instance))
