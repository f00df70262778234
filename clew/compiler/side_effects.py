"""What a captured call does besides computing: writes, gradients that are dropped, random draws."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from clew.backend import dtypes
from clew.backend import random as streams
from clew.core.state import local
from clew.core.storage import Storage
from clew.core.tensor import Tensor


class Written:
    """A storage whose version is followed, so that a write that was not captured is noticed."""

    __slots__ = ("captured", "storage", "untracked", "version")

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.version = storage.version
        # How many writes to it were captured.
        self.captured = 0
        self.untracked = storage.untracked


class Clear:
    """Drops the gradients of some leaves."""

    def __init__(self, leaves: list[Tensor]) -> None:
        self.leaves = leaves

    def __call__(self) -> None:
        for leaf in self.leaves:
            leaf._grad = None


def random_position() -> Any:
    """Where the default random stream is."""
    return streams.default_generator._moves


def strided_view(
    array: np.ndarray, *, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> np.ndarray:
    """The elements from an offset on, with a shape and strides in bytes."""
    start = np.lib.stride_tricks.as_strided(array.reshape(-1)[offset:], shape, strides)
    return start


def likeness(tensor: Tensor) -> tuple[Any, ...]:
    """What must stay the same of a tensor that a trace refers to, besides its values."""
    array = tensor._array
    node = tensor._node
    is_leaf = node is None or node.is_accumulator
    return (
        array.shape, array.dtype, array.strides, tensor._requires_grad, is_leaf, has_hooks(tensor)
    )  # fmt: skip


def root_of(array: np.ndarray) -> int:
    """The identity of what an array's memory belongs to."""
    root: Any = array
    base: Any = array.base
    while base is not None:
        root, base = base, getattr(base, "base", None)
    return id(root)


def has_hooks(tensor: Tensor) -> bool:
    """Whether something of the user's runs when a tensor gets its gradient."""
    node: Any = tensor._node
    if node is None:
        return False
    return node._extras is not None or (node.is_accumulator and bool(node.post_accumulate_hooks))


def _numpy_position() -> Any:
    """How far NumPy's global random stream is."""
    state: Any = np.random.get_state()
    return state[1].tobytes(), state[2]


def outside_state() -> Any:
    """The random streams of Python and NumPy, and the modes of the library."""
    state = local.state
    modes = (
        state.grad_enabled, state.inference, state.autocast, dtypes.get_default_dtype(),
        state.saved_hooks, state.function_modes, state.anomaly,
    )  # fmt: skip
    return random.getstate(), _numpy_position(), modes


def changed_outside(before: Any) -> str | None:
    """What a call has changed of all that, if anything."""
    now = outside_state()
    if now[0] != before[0]:
        return "random numbers are drawn with Python's random"
    if now[1] != before[1]:
        return "random numbers are drawn with NumPy"
    return (
        None if now[2] == before[2] else "the call leaves another mode (of gradients, say) behind"
    )
