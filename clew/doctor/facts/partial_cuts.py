"""Cuts that leave a second way open: a network's output is cut off from what uses it, while another
term of the loss (a divergence, a penalty) still gives the network gradients.

Seen in the first graphs only: which cut values joined them, and in which terms of the loss.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from clew.core.no_history import NoHistory
from clew.doctor.facts.graphs import (
    MOVES,
    inputs_of,
    op_name,
    terms_of_loss,
    through_moves,
    walk,
    weights_of,
)
from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.recorder import Recorder
from clew.observed import Node, Tensor

_PASSES = 12  # backward passes that are looked at
_LARGEST = 4000  # nodes of a graph
_MANY = 4096
# Operations that a regulariser of a network's outputs is made of: no labels, no other samples.
_PLAIN = MOVES | {
    "add", "sub", "rsub", "rsub.number", "add.scaled", "sub.scaled", "mul", "div", "neg", "exp",
    "log", "log1p", "expm1", "pow", "square", "abs", "sqrt", "rsqrt", "reciprocal", "sum", "mean",
    "sum_dim", "mean_dim", "softplus", "tanh", "sigmoid", "relu", "clamp", "clamp.numbers",
    "clamp_min", "clamp_max", "maximum", "clamp_min.number", "clamp_max.number",
    "linalg_vector_norm", "log_sigmoid", "lgamma", "digamma", "var", "std", "mse_loss",
    "smooth_l1_loss",
}  # fmt: skip
_LAYERS = frozenset({"addmm", "mm", "bmm", "mv", "addmv", "convolution", "convolution_bias"})
PAIRS = frozenset({"sub", "rsub", "mul", "div", "mse_loss", "smooth_l1_loss"})

_DRAWS = re.compile(r"\bsample\(|\bnormal\(|\brandn(_like)?\(|\bbernoulli\(")


class Bypass:
    """A line that cuts a network off from one term of the loss and leaves it to the others."""

    def __init__(self) -> None:
        self.count = 0
        self.others = 0  # passes that train the same parameters and go through no such cut
        self.lost: set[int] = set()
        self.users: set[int] = set()


class PartialCuts:
    """Follows cut values into the terms of a loss."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.passes = 0
        self.is_open = True
        self.bypasses: dict[Line, Bypass] = {}
        # Of this iteration: what lay behind each cut, which nodes took cut values, and which took
        # data of the user's (by their place in the order of nodes).
        self._behind: dict[int, tuple[NoHistory, frozenset[int]]] = {}
        self._joins: dict[int, list[NoHistory]] = {}
        self._data: set[int] = set()
        self._left: dict[Line | None, Line | None] = {}  # where values left, and were cut

    # -- during forward --------------------------------------------------------------------------

    def cut(self, reason: NoHistory, node: Node | None) -> None:
        if node is not None and len(self._behind) < _MANY:
            behind = frozenset(each._seq for each in walk([node], 400) if not each.is_accumulator)
            before = self._behind.get(id(reason))
            self._behind[id(reason)] = reason, behind if before is None else behind | before[1]

    def left(self, tensor: Tensor, line: Line | None) -> None:
        """Values go to NumPy or Python; one number alone is for a log or a schedule."""
        reason = tensor._reason
        if tensor._array.size > 1 and (tensor._requires_grad or reason is not None):
            self._left[line] = line if reason is None else line_of(reason.where)

    def joined(self, node: Node, reason: NoHistory) -> None:
        if len(self._joins) < _MANY:
            self._joins.setdefault(node._seq, []).append(reason)

    def paired(self, inputs: tuple[Any, ...], node: Node) -> None:
        """An arithmetic operation: is one of its operands data?"""
        for value in inputs:
            if isinstance(value, Tensor) and not value._requires_grad and value._reason is None:
                array = value._array
                if array.size > 1 and array.flat[0] != array.flat[-1]:
                    self._data.add(node._seq)

    # -- at backward -----------------------------------------------------------------------------

    def backward_begins(self, run: Any, roots: Any) -> None:
        if not self.is_open:
            return
        if roots and len(run.nodes) <= _LARGEST:
            before = {line: found.count for line, found in self.bypasses.items()}
            if self._joins:
                self._look([node for node, _ in roots])
            reached = self._leaves(list(run.nodes)) if before else set()
            for line, count in before.items():
                found = self.bypasses[line]
                found.others += found.count == count and bool(found.lost & reached)
        self.passes += 1
        self.is_open = self.passes < _PASSES
        self._behind, self._joins, self._data, self._left = {}, {}, set(), {}

    def _look(self, roots: list[Node]) -> None:
        graphs = [(root, list(walk([root], _LARGEST))) for root in terms_of_loss(roots)]
        terms = [(root, nodes, self._leaves(nodes)) for root, nodes in graphs]
        if len(terms) < 2:
            return
        for root, nodes, leaves in terms:
            used = _layers_above(nodes, {n._seq for n in nodes if n._seq in self._joins})
            for node in nodes:
                if node._seq not in used:
                    continue
                for reason in self._joins[node._seq]:
                    line, behind = self._cut_off(reason)
                    lost = behind - leaves
                    if line is None or not lost or self._is_straight_through(node, reason):
                        continue
                    if self._only_regularised(lost, behind, root, terms, _is_drawn(line)):
                        found = self.bypasses.setdefault(line, Bypass())
                        found.count += 1
                        found.lost |= lost
                        found.users |= leaves

    def _cut_off(self, reason: NoHistory) -> tuple[Line | None, set[int]]:
        """The line that cut, and the parameters behind it."""
        line = line_of(reason.where)
        if reason.kind == "numpy":
            left = line_of(getattr(reason, "left_at", None))
            line = self._left.get(left)  # None: it left in another iteration, or as one number
        cut = self.recorder.cuts.get(line)
        return (None, set()) if cut is None else (line, self._trained(cut.leaves))

    def _trained(self, numbers: set[int]) -> set[int]:
        params = self.recorder.params
        return {n for n in numbers if n in params and params[n].optimizers}

    def _leaves(self, nodes: list[Node]) -> set[int]:
        found = set()
        for node in nodes:
            leaf = node._variable() if node.is_accumulator else None
            if leaf is not None:
                found.add(self.recorder.facts(leaf).number)
        return found

    def _is_straight_through(self, node: Node, reason: NoHistory) -> bool:
        """`soft + (hard - soft).detach()`: what was cut contains what it is added to."""
        behind = self._behind.get(id(reason), (reason, frozenset()))[1]
        for each in inputs_of(node):
            source = through_moves(each)
            if source is not None and (each._seq in behind or source._seq in behind):
                return True
        return False

    def _only_regularised(
        self, lost: set[int], behind: set[int], used_in: Node, terms: list[Any], drawn: bool
    ) -> bool:
        """Whether every other term that reaches the lost parameters is a plain regulariser."""
        others = [root for root, _, leaves in terms if leaves & lost]
        # A layer's plain output is a score; a divergence has terms that bend it, too.
        return any(not weights_of(root) for root in others) and all(
            self._is_regulariser(root, behind, drawn) and root._where != used_in._where
            for root in others
        )

    def _is_regulariser(self, root: Node, behind: set[int], drawn: bool) -> bool:
        """Whether a term is made of plain operations on what was cut off, and nothing else.

        What a sample is drawn from may be compared with what another network, a prior, gives.
        """
        todo, seen = [root], {id(root)}
        layers: Counter[Node] = Counter()
        while todo:
            node = todo.pop()
            if node.is_accumulator:
                continue
            weights = weights_of(node)
            if weights:
                layers.update(weights)
                other = not drawn and not self._leaves(weights) <= behind
                if other or max(layers.values()) > 1:
                    return False  # other networks, or two outputs of one: a task of its own
                continue
            if op_name(node) not in _PLAIN or node._seq in self._data or len(seen) > 200:
                return False
            if drawn and node._seq in self._joins:
                return False  # the sample's own probability, which a score weighs
            for each in inputs_of(node):
                if id(each) not in seen:
                    seen.add(id(each))
                    todo.append(each)
        return True


def _is_drawn(line: Line) -> bool:
    return _DRAWS.search(line.text) is not None


def _layers_above(nodes: list[Node], joins: set[int]) -> set[int]:
    """Of the nodes that take cut values, those whose results go into a layer with weights."""
    if not joins:
        return set()
    above: Counter[int] = Counter()
    reaches: dict[int, set[int]] = {}
    for node in sorted(nodes, key=lambda each: each._seq):
        if node.is_accumulator:
            continue
        mine = {node._seq} if node._seq in joins else set()
        for each in inputs_of(node):
            mine |= reaches.get(id(each), set())
        reaches[id(node)] = mine
        if mine and (weights_of(node) or (node._seq in joins and op_name(node) in _LAYERS)):
            above.update(mine)
    return set(above)
