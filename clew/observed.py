"""What an observer may ask of tensors and nodes, whichever engine they belong to.

clew's own tensors and nodes derive from these classes. So do those that stand for the tensors and
nodes of another library while the doctor watches a program of that library's.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

    import numpy as np

ACCUMULATE_SEQUENCE = 1 << 62


class Tensor:
    """A tensor as an observer sees it."""

    __slots__ = ()

    if TYPE_CHECKING:
        _array: np.ndarray
        _grad: Any
        _is_lifted: bool
        _node: Any
        _reason: Any
        _requires_grad: bool
        _storage: Any
        _view: Any


class NotStrided(NotImplementedError):
    """Somebody asks a tensor without strided memory for its elements."""


# What an observer's look at a program may end with, which is nobody's mistake: the program is at
# the end of its stack, or computes with tensors that have no elements to look at.
UNSEEN = (RecursionError, NotStrided)


def elements(tensor: Tensor) -> np.ndarray:
    """The numbers of a tensor, such as a gradient: of a sparse one, those that are not zero."""
    parts = getattr(tensor, "_parts", None)
    found: np.ndarray = tensor._array if parts is None else parts[-1]._array
    return found


class Node:
    """A step of a graph as an observer sees it."""

    __slots__ = ()

    is_accumulator = False
    # Whether it is a step of an operation of the library, whose name is `op.name`.
    _is_op = False

    if TYPE_CHECKING:
        _dtype: Any
        _edges: tuple[Any, ...]
        _seq: int
        _shape: tuple[int, ...]
        _where: tuple[CodeType, int] | None
        _variable: Any
        module_path: str | None
        op: Any

    def _name(self) -> str:
        """The name of nodes of this kind; a custom function may keep something as `ctx.name`."""
        return type(self).__name__


class WeakTensorRef(weakref.ref[Any]):
    """A weak reference of the library's own, which `swap_tensors` tells from those of programs."""

    __slots__ = ()
