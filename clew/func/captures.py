"""Writes to what a function captured: a transform refuses them.

Such a write would leave a tensor outside with the history, or the values, of one call inside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from clew import errors
from clew.core.state import local
from clew.core.tensor import Tensor


class guarded:
    """While a transformed function runs, what it captured must not be written to."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.storages = {id(tensor._storage) for tensor in captured(func)}

    def __enter__(self) -> None:
        self.before = local.state.mutation_guard
        if self.storages:
            local.state.mutation_guard = self

    def __exit__(self, *exc: object) -> None:
        local.state.mutation_guard = self.before

    def before_write(self, target: Tensor) -> None:
        if id(target._storage) in self.storages:
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
                "call in-place operation that would mutate a captured Tensor. This is not "
                "supported; please rewrite the function being transformed to explicitly accept the "
                f"mutated Tensor(s) as inputs.\n  The tensor has shape "
                f"{errors.shape_list(target._array.shape)}." + errors.at_user_line()
            )
        if self.before is not None:
            self.before.before_write(target)


def captured(func: Any) -> Iterator[Tensor]:
    """The tensors that a function sees without being given them."""
    while isinstance(func, functools.partial):
        func = func.func
    func = getattr(func, "__func__", func)
    code = getattr(func, "__code__", None)
    if code is None:
        return
    for cell in func.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
        if isinstance(value, Tensor):
            yield value
    for name in code.co_names:
        value = func.__globals__.get(name)
        if isinstance(value, Tensor):
            yield value
