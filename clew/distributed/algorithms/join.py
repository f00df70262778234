"""Training on uneven inputs over processes. Making a `Join` raises."""

from __future__ import annotations

from clew.distributed.refusing import Refused

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook(Refused):
    """What a process does after its inputs have ended. Making one raises."""


class Joinable:
    """Base of what can take part in a `Join`."""


class Join(Refused):
    """Training on uneven inputs. Making one raises."""
