"""Whether programs are compiled to TorchScript: packages ask, and turn it off."""

from __future__ import annotations

__all__: list[str] = []


class EnabledProxy:
    """The switch; what it is set to changes nothing."""

    enabled = False


_enabled = EnabledProxy()


def disable() -> None:
    """Turn compilation off, as it is."""


def enable() -> None:
    """Accepted: there is no compiler of scripts."""
