"""CopySlices: the history of memory after a write through a view of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from clew import errors
from clew.core.accumulating import fit, refuse_complex_gradient, with_strides
from clew.core.node import Edge, Node, edge_of, restore
from clew.core.recording import EVERY_EDGE, OpNode
from clew.core.saving import with_output_edge
from clew.core.state import State, local
from clew.core.storage import Storage, next_sequence_number
from clew.core.tensor import Tensor, View, take_steps


class CopySlices(Node):
    """The history of a base after a write through one of its views.

    The gradient of the old base is the incoming one, in which the part that was written is replaced
    by what the step that wrote makes of it. Where more than one step wrote, the first of them leads
    to the old base by itself; then that part is zero here.
    """

    __slots__ = ("by_address", "freed", "step", "steps", "strides")

    step: OpNode | None

    def __init__(
        self, state: State, base: Tensor, view: View, written: Edge, is_step: bool
    ) -> None:
        old = edge_of(base) if base._requires_grad else None
        node = written[0]
        # Not the view's own history, whose hooks are for what it was before and elsewhere.
        self._edges = (old, *node._edges[1:]) if is_step else (old, written)
        self.step = cast(OpNode, node) if is_step else None
        self.freed: errors.Freed | None = None
        self._meta = ((base._array.shape, base._array.dtype),)
        self._extras = None
        self._seq = next_sequence_number()
        self._where = node._where
        self.module_path = state.module_path
        # Only how to view, not the view itself, which would keep the base alive in a cycle.
        self.steps = view.steps()
        # The gradient of the base lies in memory as the base does.
        self.strides = None if base._is_lifted else base._array.strides
        # as_strided addresses memory, so what is viewed must lie there as well.
        self.by_address = any("strided" in op.name for op, _, _ in self.steps)

    def _name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply_tensors(self, grads: tuple[Tensor | None, ...]) -> Sequence[Tensor | None]:
        return self.apply_some(grads, EVERY_EDGE)

    def apply_some(self, grads: tuple[Tensor | None, ...], wanted: int) -> Sequence[Tensor | None]:
        g = grads[0]
        if g is None:
            return (None,) * len(self._edges)
        if self.freed is not None:
            # As in PyTorch, also where the step has saved nothing.
            raise errors.backward_twice(self, self.freed)
        if self.by_address:
            g = with_strides(g, self.strides)
        part = take_steps(g, self.steps)
        results: list[Tensor | None]
        if self.step is None:
            results = [None, part]
        else:
            results = list(self._apply_step(self.step, g, part, wanted))
            if self.step._is_op and self.step.op.keeps_complex:
                for edge, grad in zip(self._edges[1:], results[1:], strict=True):
                    if edge is not None and grad is not None:
                        refuse_complex_gradient(grad, edge[0]._meta[edge[1]][1], self.step)
        if self._edges[0] is not None:
            of_part = None if self.step is None else results[0]
            of_base = with_strides(g, self.strides)
            results[0] = of_base = of_base if of_base is not g else g.clone()
            place = take_steps(of_base, self.steps)
            if of_part is None:
                place.zero_()
            else:
                place.copy_(fit(of_part, place._array.shape, place._array.dtype, self))
        return results

    def _apply_step(
        self, step: OpNode, g: Tensor, part: Tensor, wanted: int
    ) -> Sequence[Tensor | None]:
        saved = step.saved
        if not local.state.grad_enabled or type(saved) is errors.Freed:
            return step.apply_some((part,), wanted)
        # What the step saved of its own output has its place in the graph behind this node.
        base = restore(g._array, Storage(), self, 0)
        edge = edge_of(take_steps(base, self.steps))
        step.saved = tuple([with_output_edge(value, edge) for value in saved])
        try:
            return step.apply_some((part,), wanted)
        finally:
            step.saved = saved

    def release(self, freed: errors.Freed) -> None:
        self.freed = freed
        if self.step is not None:
            self.step.release(freed)
