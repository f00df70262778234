"""A faster path of attention, which clew does not have."""

from __future__ import annotations

__all__: list[str] = []


def get_fastpath_enabled() -> bool:
    """Whether attention may take a faster path for inference; there is one path."""
    return _Fastpath.enabled


def set_fastpath_enabled(value: bool) -> None:
    """Keep whether it may."""
    _Fastpath.enabled = value


class _Fastpath:
    enabled = True
