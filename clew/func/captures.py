"""Writes to what a function captured: a transform refuses them.

Such a write would leave a tensor outside with the history, or the values, of one call inside. What
a function may write to are its arguments, and what it has made itself.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from typing import Any

from clew import errors
from clew.core.state import local
from clew.core.storage import INFERENCE, DataStorage, Storage
from clew.core.tensor import Tensor
from clew.interrupts import uninterrupted

_next_number = itertools.count(1).__next__


class _StorageInside(Storage):
    """The storage of a tensor that was made while a transformed function ran."""

    def __init__(self, made_in: int) -> None:
        self.made_in = made_in


class transforming:
    """The part of a program in which a function runs that a transform was given."""

    def __enter__(self) -> None:
        local.state.transforms += 1

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        local.state.transforms -= 1


class guarded(transforming):
    """While a transformed function runs, what it captured must not be written to.

    `arguments` are the tensors that it was given; `originals` those for which it was given others
    over the same memory: who has one of them has captured it.
    """

    def __init__(self, arguments: Iterable[Any], originals: Iterable[Tensor] = ()) -> None:
        self.arguments = {id(_memory(each)) for each in arguments if isinstance(each, Tensor)}
        self.originals = {id(each) for each in originals}
        # Later runs have higher numbers, and so has all that is made in them.
        self.number = _next_number()

    def __enter__(self) -> None:
        state = local.state
        inside = functools.partial(_StorageInside, self.number)
        self.before, self.maker = state.mutation_guard, state.new_storage
        # Plain stores, the last thing done: an interrupt comes before all of them or after.
        state.mutation_guard, state.new_storage = self, inside
        state.transforms += 1

    @uninterrupted
    def __exit__(self, *exc: object) -> None:
        local.state.mutation_guard, local.state.new_storage = self.before, self.maker
        local.state.transforms -= 1

    def before_write(self, target: Tensor) -> None:
        storage = _memory(target)
        is_own = storage.made_in >= self.number or (
            id(storage) in self.arguments and id(target) not in self.originals
        )
        if not is_own and storage is not INFERENCE:
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
                "call in-place operation that would mutate a captured Tensor. This is not "
                "supported; please rewrite the function being transformed to explicitly accept the "
                f"mutated Tensor(s) as inputs.\n  The tensor has shape "
                f"{errors.shape_list(target._array.shape)}." + errors.at_user_line()
            )
        if self.before is not None:
            self.before.before_write(target)

    def of_kernels(self) -> Any:
        """Who is told of what a kernel writes besides its result: no transform minds it."""
        return None if self.before is None else self.before.of_kernels()


def _memory(tensor: Tensor) -> Storage:
    """The storage of a tensor, also of one that was taken by `.data`."""
    storage = tensor._storage
    return storage.origin() if isinstance(storage, DataStorage) else storage
