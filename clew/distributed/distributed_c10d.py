"""The names of `torch.distributed` at the place where PyTorch defines them."""

from __future__ import annotations

from typing import Any

from clew import distributed
from clew.distributed import (
    Backend,
    GroupMember,
    P2POp,
    ProcessGroup,
    ReduceOp,
    Store,
    Work,
    group,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
)

__all__ = [
    "Backend", "GroupMember", "P2POp", "ProcessGroup", "ReduceOp", "Store", "Work",
    "_get_default_group", "default_pg_timeout", "group", "init_process_group", "is_available",
    "is_initialized", "new_group",
]  # fmt: skip

default_pg_timeout = distributed.default_pg_timeout
_rank_not_in_group = distributed._rank_not_in_group


def _get_default_group() -> Any:
    """Raises: there is no group."""
    return distributed._no_group()


def __getattr__(name: str) -> Any:
    return getattr(distributed, name)
