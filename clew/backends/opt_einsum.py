"""The package that orders the products of einsum, which clew does not use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["flags", "get_opt_einsum", "is_available", "set_flags"]

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether it is used: no."""
    return False


def get_opt_einsum() -> None:
    """The package, if it were used."""


def set_flags(
    _enabled: bool | None = None, _strategy: str | None = None
) -> tuple[bool, str | None]:
    """Set what is kept, and return what was there before.

    Args:
        _enabled: whether products are ordered; nothing does
        _strategy: how they would be

    Example:
        >>> clew.backends.opt_einsum.set_flags(False)
        (False, None)
    """
    global enabled, strategy
    before = enabled, strategy
    if _enabled is not None:
        enabled = _enabled
    if _strategy is not None:
        strategy = _strategy
    return before


@contextlib.contextmanager
def flags(enabled: bool | None = None, strategy: str | None = None) -> Iterator[None]:
    """`set_flags` for a `with` block.

    Args:
        enabled: whether products are ordered; nothing does
        strategy: how they would be

    Example:
        >>> with clew.backends.opt_einsum.flags(enabled=True):
        ...     print(clew.backends.opt_einsum.enabled)
        True
    """
    before = set_flags(enabled, strategy)
    try:
        yield
    finally:
        set_flags(*before)
