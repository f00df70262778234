"""Seeding: the random stream that everything uses unless a generator is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clew.autograd.grad_mode import _Mode
from clew.backend.device import device, no_such_device
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted
from clew.ops.create.random import Generator, default_generator

__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip


def manual_seed(seed: int) -> Generator:
    """Start the random stream from a seed: the numbers are those of PyTorch on the CPU.

    Args:
        seed: an integer

    Example:
        >>> _ = clew.manual_seed(0)
        >>> clew.rand(3)
        tensor([0.4963, 0.7682, 0.0885])
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the random stream from a seed that the operating system chooses, and return it.

    Example:
        >>> with clew.random.fork_rng():
        ...     clew.random.seed() == clew.initial_seed()
        True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the random stream was last started from.

    Example:
        >>> _ = clew.manual_seed(3)
        >>> clew.initial_seed()
        3
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the random stream, as a tensor of bytes.

    Example:
        >>> state = clew.get_rng_state()
        >>> first = clew.rand(2)
        >>> clew.set_rng_state(state)
        >>> clew.equal(first, clew.rand(2))
        True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the random stream from a saved state.

    Args:
        new_state: what `get_rng_state` gave

    Example:
        >>> state = clew.get_rng_state()
        >>> first = clew.rand(2)
        >>> clew.set_rng_state(state)
        >>> clew.equal(first, clew.rand(2))
        True
    """
    default_generator.set_state(new_state)


class fork_rng(_Mode):
    """Leave the random stream as it was, whatever is drawn inside.

    Args:
        devices: the accelerators whose streams are to be kept as well: an empty list, here
        enabled: False does nothing
        device_type: the kind of `devices`

    Example:
        >>> _ = clew.manual_seed(0)
        >>> with clew.random.fork_rng():
        ...     _ = clew.rand(100)
        >>> clew.rand(1)
        tensor([0.4963])
    """

    def __init__(
        self, devices: Iterable[Any] | None = None, enabled: bool = True, *,
        device_type: str = "cuda",
    ) -> None:  # fmt: skip
        self._enabled = enabled
        self._devices = () if devices is None else tuple(devices)
        self._device_type = device_type
        self._forked = default_generator.forked()

    def clone(self) -> fork_rng:
        return type(self)(self._devices, self._enabled, device_type=self._device_type)

    def __enter__(self) -> None:
        if self._enabled:
            if self._devices:
                raise no_such_device(device(self._device_type))
            self._forked.__enter__()

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        if self._enabled:
            self._forked.__exit__()
