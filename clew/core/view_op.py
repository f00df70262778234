"""ViewOp: an operation whose output shares memory with its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.core.accumulating import fitted, with_strides
from clew.core.mirror import filled, leave_unread, may_wait
from clew.core.no_history import refuse_integers
from clew.core.node import Edge, Node, recorded_edge
from clew.core.op import F32, Op
from clew.core.recording import grad_mask, record
from clew.core.state import State, local
from clew.core.storage import INFERENCE
from clew.core.tensor import Tensor, View, _ndarray, _new, borrow_flag, sync, wrap
from clew.observer import active
from clew.source import _getframe

# View operations whose elements are not those of the memory.
_SHOWN_OTHERWISE = frozenset({"view_as_real", "view_as_complex", "conj", "neg_view"})


class AsStridedBackward0(Node):
    """The history of a view that was made anew from its base, after one of them was written to."""

    __slots__ = ("chain", "strides")

    def __init__(self, chain: list[Node], strides: tuple[int, ...] | None) -> None:
        last, first = chain[0], chain[-1]
        self.chain = chain
        # Of the base, if the chain begins there: its gradient lies in memory as it does.
        self.strides = strides
        self._edges = first._edges
        self._meta = last._meta
        self._extras = None
        self._seq = last._seq
        self._where = last._where
        self.module_path = last.module_path

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        g = grads[0]
        for node in self.chain:
            if g is not None:
                (g,) = fitted(node, node.apply_tensors((g,)))
        return (None if g is None else with_strides(g, self.strides),)


class ViewOp(Op):
    """An operation whose output shares memory with its first input."""

    is_view = True

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        state = local.state
        if state.intercept is not None:
            return state.intercept(self, inputs, params)
        source: Tensor = inputs[0]
        array = self.forward(source._array, **params)
        if type(array) is list:
            return self._finish_views(state, source, params, array)
        return self.share(source, params, array)

    def share(self, source: Tensor, params: dict[str, Any], array: np.ndarray) -> Tensor:
        """The result of a call, for a caller that has computed the array already."""
        state = local.state
        if state.intercept is not None:
            intercepted: Tensor = state.intercept(self, (source,), params)
            return intercepted
        out: Tensor = _new(Tensor)
        out._array = array if type(array) is _ndarray else np.asarray(array)
        out._requires_grad = False
        out._node = out._view = out._grad = out._reason = None
        out._output_nr = 0
        if source._storage.is_inference:
            # Nothing is counted for this memory, so a view of it has nothing to look up.
            out._storage = INFERENCE
            out._reason = source._reason
            observer = active.observer
            if observer is not None:
                observer.view_made(self.name, source, out)
            return out
        if not self.differentiable:
            # The same memory, and no view in the sense of autograd.
            out._storage = source._storage
            out._reason = self.reason(state, grad_mask((source,), self.sync), (source,))
            return out
        become_view(out, state, source, self, params)
        if source._view is not None:
            sync(source)
        if not source._requires_grad:
            out._reason = source._reason
        elif state.grad_enabled:
            if source._layout.dtype is not F32:
                refuse_integers(self, (source,), source._layout.dtype)
            out._requires_grad = True
            plan = self.plans.get(1) or self.plan(1)
            edges: list[Edge | None] = [recorded_edge(source)]
            out._node = record(
                state, plan, self.node_class, (source,), params, (out,), edges, _getframe(2)
            )
        else:
            out._reason = self.reason(state, 1, (source,))
            borrow_flag(out)
        observer = active.observer
        if observer is not None:
            observer.view_made(self.name, source, out)
        return out

    def in_one_node(self, view: View, remade: Tensor) -> Node | None:
        """All steps from the base as one node, as in PyTorch, where they leave the elements alone.

        What shows elements otherwise (parts of complex numbers, conjugates) is remade step by step.
        """
        chain: list[Node] = []
        strides = None
        node = remade._node
        for op, _, _ in [] if remade._is_lifted else reversed(view.steps()):
            if node is None or op.name in _SHOWN_OTHERWISE:
                break
            chain.append(node)
            if op.name in ("real", "imag"):
                # A part of the view as pairs.
                break
            edge = node._edges[0]
            node = None if edge is None else edge[0]
        else:
            strides = view.base._array.strides
        return AsStridedBackward0(chain, strides) if chain else remade._node

    def _finish_views(
        self, state: State, source: Tensor, params: dict[str, Any], arrays: list[np.ndarray]
    ) -> tuple[Tensor, ...]:
        outs = tuple([wrap(array) for array in arrays])
        for index, out in enumerate(outs):
            become_view(out, state, source, self, params, index)
        self.finish_many(state, (source,), params, outs)
        if not state.grad_enabled:
            for out in outs:
                borrow_flag(out)
        return outs


class MirrorOp(ViewOp):
    """A view operation that may have to show other numbers than the memory has.

    Its function gives arrays in mirrors that are not filled. Large ones stay so until the elements
    are asked for. With `same_layout` the result has the shape and dtype of the input.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., np.ndarray],
        same_layout: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(name, lambda self: filled(function(self)), **options)
        self.function, self.same_layout = function, same_layout

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        state = local.state
        if state.intercept is not None:
            return state.intercept(self, inputs, params)
        source: Tensor = inputs[0]
        array = self.function(source._layout)
        if active.observer is not None or not may_wait(array):
            return self.share(source, params, filled(array))
        out = self.share(source, params, array)
        leave_unread(out)
        return out


def become_view(
    out: Tensor,
    state: State,
    source: Tensor,
    op: Op,
    params: dict[str, Any],
    index: int | None = None,
) -> None:
    """Make a tensor over another's memory share its storage and know how it came to be."""
    out._storage = INFERENCE if source._storage.is_inference else source._storage
    if out._storage is not INFERENCE:
        kind = "multi" if index is not None else None
        if not state.grad_enabled:
            kind = "inference" if state.inference else "no_grad"
        view: View = _new(View)
        parent = source._view
        view.parent = parent
        if parent is None:
            view.base = source
        else:
            view.base = parent.base
            kind = kind or parent.kind
        view.op = op
        view.params = params
        view.index = index
        view.borrows = False
        view.kind = kind
        view.seen = view.made = out._storage.changes
        view.version = out._storage.version
        out._view = view
