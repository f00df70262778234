"""NoHistory: why a tensor that was computed from one with a history has none itself."""

from __future__ import annotations

import weakref
from collections import deque
from types import CodeType
from typing import TYPE_CHECKING, Any

from clew.observer import active

if TYPE_CHECKING:
    from clew.core.node import Node
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
