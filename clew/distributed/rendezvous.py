"""`rendezvous`: hands out a store, a rank and the number of ranks, which MPI knows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlparse

from clew import errors
from clew.distributed.constants import default_pg_timeout
from clew.distributed.file_stores import FileStore, TCPStore
from clew.distributed.runtime import mpi
from clew.distributed.runtime.world import WORLD, default_group
from clew.distributed.stores import PrefixStore, Store

__all__ = ["register_rendezvous_handler", "rendezvous"]

Handler = Callable[..., Iterator[tuple[Store, int, int]]]
_HANDLERS: dict[str, Handler] = {}


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Let a function answer `rendezvous` for addresses that begin with a word.

    Args:
        scheme: the word, before `://`
        handler: of the address, the rank and the number of ranks
    """
    if scheme in ("env", "tcp", "file") or scheme in _HANDLERS:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _HANDLERS[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs: Any
) -> Iterator[tuple[Store, int, int]]:
    """A store, this process's rank and the number of ranks, once.

    Args:
        url: `env://`, `tcp://host:port` or `file:///path`, with `?rank=0&world_size=1` or without
        rank: if not in the address or the environment
        world_size: if not in the address or the environment
        kwargs: `timeout`, and what a registered handler takes

    Example:
        >>> import clew.distributed as dist
        >>> store, rank, size = next(dist.rendezvous("tcp://127.0.0.1:0", 0, 1))
        >>> rank, size
        (0, 1)
    """
    parts = urlparse(url)
    if parts.scheme in _HANDLERS:
        yield from _HANDLERS[parts.scheme](url, rank=rank, world_size=world_size, **kwargs)
        return
    said = dict(parse_qsl(parts.query))
    rank, size = _numbers(said, rank, world_size)
    timeout: timedelta = kwargs.get("timeout") or default_pg_timeout
    store: Store
    if parts.scheme == "file":
        store = FileStore(parts.path, size)
    elif parts.scheme in ("tcp", "env"):
        host = parts.hostname or os.environ.get("MASTER_ADDR", "127.0.0.1")
        number = parts.port if parts.port is not None else int(os.environ.get("MASTER_PORT", "0"))
        store = TCPStore(host, number, size, rank == 0, timeout, False, multi_tenant=True)
    else:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://" + errors.at_user_line())
    yield store, rank, size


def _numbers(said: dict[str, str], rank: int, size: int) -> tuple[int, int]:
    started = mpi.started_as() or (0, 1, 0)
    mine = int(said.get("rank", rank if rank >= 0 else os.environ.get("RANK", started[0])))
    count = int(
        said.get("world_size", size if size >= 0 else os.environ.get("WORLD_SIZE", started[1]))
    )
    return mine, count


def default_store() -> Store:
    """The store of the job: what `init_process_group` was given, or one that is made now."""
    group = default_group()
    if WORLD.store is None:
        WORLD.store = next(rendezvous("env://", group.rank(), group.size()))[0]
    return PrefixStore("default_pg", WORLD.store)
