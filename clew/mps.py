"""What programs ask about Apple's GPUs: none is used, so they choose the CPU."""

from __future__ import annotations

from typing import NoReturn

from clew import errors

__all__ = [
    "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache",
    "get_rng_state", "is_available", "manual_seed", "recommended_max_memory", "seed",
    "set_rng_state", "synchronize",
]  # fmt: skip


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


def current_allocated_memory() -> int:
    """The bytes in use on such a GPU: none."""
    return 0


driver_allocated_memory = recommended_max_memory = current_allocated_memory


def get_rng_state() -> NoReturn:
    """Raises: there is no such GPU."""
    _refuse("getDefaultMPSGenerator")


def set_rng_state(new_state: object) -> NoReturn:
    """Raises: there is no such GPU."""
    _refuse("getDefaultMPSGenerator")
