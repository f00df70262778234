"""NoHistory: why a tensor that was computed from one with a history has none itself."""

from __future__ import annotations

import weakref
from collections import deque
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.observer import active

if TYPE_CHECKING:
    from clew.core.node import Node
    from clew.core.op import Op
    from clew.core.tensor import Tensor


class NoHistory:
    """Why a tensor that was computed from one with history has none itself."""

    __slots__ = ("ancestor", "kind", "op", "where")

    # Whether what it was computed from can change a little without changing it, as with a mask.
    is_step = False

    def __init__(
        self,
        kind: str,
        op: str,
        where: tuple[CodeType, int] | None,
        ancestor: Node | None = None,
    ) -> None:
        self.kind = kind
        self.op = op
        self.where = where
        # The last differentiable ancestor, named by text so that no graph is kept alive.
        self.ancestor: tuple[str, tuple[CodeType, int] | None] | None = None
        if ancestor is not None:
            self.cuts(ancestor)

    @property
    def of_step(self) -> NoHistory:
        """The reason of what a step function makes of a tensor that has this reason."""
        return self

    def written(self, target: Tensor, sources: tuple[Any, ...]) -> None:
        """A tensor is about to be written to, where results have this reason."""

    def cuts(self, node: Node) -> None:
        """Note the step with a history that this has cut off; the last cuts are remembered."""
        self.ancestor = node._name(), node._where
        CUTS.append((self, weakref.ref(node)))
        observer = active.observer
        if observer is not None:
            observer.history_cut(self, node)


# The last cuts, newest last: for explaining why a gradient did not reach a leaf.
CUTS: deque[tuple[NoHistory, weakref.ref[Node]]] = deque(maxlen=64)


# -- integers and bools that a value with history was written to ---------------------------------
#
# As in PyTorch they then have a history, with which nothing can be done: what gives integers or
# bools refuses them, and so does backward.


def no_integer_history(dtype: np.dtype) -> RuntimeError:
    """That integers or bools would be computed of what has a history."""
    return RuntimeError(
        f"Autograd not support dtype: {dtypes.BY_NUMPY[dtype].scalar_name}\n"
        "  Integers have no gradient: detach() the input first." + errors.at_user_line()
    )


def refuse_integers(op: Op, inputs: tuple[Any, ...], dtype: np.dtype) -> None:
    """Raise for a result of integers or bools of what has a history, but for conversions."""
    if dtype.kind in "fcVW" or op.name in ("_to_copy", "floor_divide") or not op.differentiable:
        return
    if op.marks_integers:
        raise no_integer_history(dtype)
    for value in inputs:
        if getattr(value, "_requires_grad", False) and value._layout.dtype.kind not in "fcVW":
            raise no_integer_history(dtype)


def records_write(op: Op, target: Tensor, mask: int) -> bool:
    """Whether the in-place form makes a node: a history that integers have goes on."""
    if not op.differentiable or target._layout.dtype.kind in "fcVW":
        return op.differentiable
    return op.marks_integers or bool(mask & 1 and op.name != "copy")


def stronger(one: NoHistory | None, other: NoHistory) -> NoHistory:
    """The reason to report: one that cut a history, rather than indices, and these rather than
    data from NumPy or a step function (a mask)."""
    if one is None:
        return other
    strength = _strength(other)
    return other if strength == 2 or strength > _strength(one) else one


def _strength(reason: NoHistory) -> int:
    if reason.is_step or reason.kind == "numpy":
        return 0
    return 1 if reason.kind == "not differentiable" else 2
