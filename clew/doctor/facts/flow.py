"""How gradients run through the first graphs: their size at every inner node."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.doctor.facts.places import Place
from clew.observed import Tensor, elements

if TYPE_CHECKING:
    from clew.doctor.report.graph_view import GraphView

_PASSES = 3  # the first backward passes say how gradients flow
_REPEATS = 10  # as often a line must occur in a graph to be a loop over time
_LARGEST = 20000
_STEEP = ("tanh", "sigmoid")


class Decline:
    """A line that a graph contains many times: its gradient at the first and at the last time."""

    def __init__(self, op: str, place: Place | None, repeats: int, ratio: float) -> None:
        self.op = op
        self.place = place
        self.repeats = repeats
        self.ratio = ratio


class FlowWatch:
    """Sees the gradient of every node during a few backward passes."""

    def __init__(self) -> None:
        self.is_open = False
        self.seen = 0
        self.norms: dict[int, float] = {}
        self.nodes: list[tuple[int, str, Place | None]] = []
        self.leaves: list[Any] = []
        self.declines: list[Decline] = []
        self.recurrent: set[int] = set()  # leaves that one graph uses many times, by identity

    def begins(self, run: Any) -> None:
        self.is_open = self.seen < _PASSES and len(run.nodes) <= _LARGEST
        if self.is_open:
            self.leaves = [node for node in run.nodes if node.is_accumulator]
            uses = Counter(
                edge[0]
                for node in run.nodes
                for edge in node._edges
                if edge is not None and edge[0].is_accumulator
            )
            self.recurrent |= {id(n._variable()) for n, count in uses.items() if count >= _REPEATS}

    def node_ran(self, node: Any, grad: Any) -> None:
        if self._measure(node, grad):
            self.nodes.append((node._seq, node.op.name, node._where))

    def _measure(self, node: Any, grad: Any) -> bool:
        array = elements(grad) if isinstance(grad, Tensor) else grad
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not array.size:
            return False
        flat = array.reshape(-1).astype(np.float64, copy=False)
        self.norms[node._seq] = math.sqrt(max(float(np.dot(flat, flat)), 0.0))
        return True

    def ends(self, picture: GraphView | None) -> None:
        """After the pass: what was learnt of lines that repeat, and of the pictured graph."""
        if not self.is_open:
            return
        self.is_open = False
        self.seen += 1
        for leaf in self.leaves:
            tensor = leaf._variable()
            if tensor is not None and tensor._grad is not None:
                self._measure(leaf, tensor._grad)
        if picture is not None:
            for node in picture.nodes:
                node.grad_norm = self.norms.get(node.seq, node.grad_norm)
        self._note_declines()
        self.norms, self.nodes, self.leaves = {}, [], []

    def _note_declines(self) -> None:
        by_line: dict[Any, list[int]] = {}
        for seq, op, place in self.nodes:
            if op in _STEEP:
                by_line.setdefault((op, place), []).append(seq)
        for (op, place), sequence in by_line.items():
            if len(sequence) >= _REPEATS:
                first, last = self.norms[min(sequence)], self.norms[max(sequence)]
                if last > 0 and math.isfinite(first / last):
                    self.declines.append(Decline(op, place, len(sequence), first / last))
