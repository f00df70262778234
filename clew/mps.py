"""What programs ask about Apple's GPUs: none is used, so they choose the CPU."""

from __future__ import annotations

from typing import NoReturn

from clew import errors

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "seed", "synchronize"]


def is_available() -> bool:
    """Whether tensors can be made on such a GPU: no."""
    return False


def device_count() -> int:
    """The number of such GPUs: none."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the GPU's random stream: there is none."""


def seed() -> None:
    """Seed the GPU's random stream: there is none."""


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"Cannot execute {name}() without MPS backend. Tensors live on the CPU."
        + errors.at_user_line()
    )


def empty_cache() -> None:
    """Raises: there is no such GPU."""
    _refuse("emptyCache")


def synchronize() -> None:
    """Raises: there is no such GPU."""
    _refuse("deviceSynchronize")
