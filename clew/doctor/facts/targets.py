"""Losses with history on both sides: which side is a target, judged by where its values come from.

Seen in the first graphs only. Names of variables say nothing here: a siamese pair is trained on
both sides, whatever it is called.
"""

from __future__ import annotations

import weakref
from typing import Any

from clew.doctor.facts.graphs import (
    MOVES,
    inputs_of,
    number_saved,
    op_name,
    terms_of_loss,
    through_moves,
    walk,
    weights_of,
)
from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.recorder import Recorder
from clew.observed import Node, Tensor, WeakTensorRef

_PASSES = 100  # backward passes that are looked at, and of these, with something to compare
_COMPARED = 10
_LARGEST = 4000  # nodes of a graph
_MANY = 512
_REGRESSIONS = frozenset({"pow", "square", "mse_loss", "smooth_l1_loss", "huber_loss", "abs"})
_SOFTMAX = ("softmax", "_safe_softmax")
# From an output to its probabilities, and from there to what a loss compares.
_SHAPED = MOVES | {
    *_SOFTMAX, "log_softmax", "sigmoid", "mul", "div", "neg", "log", "pow", "sum_dim",
    "linalg_vector_norm", "clamp_min", "clamp_min.number",
}  # fmt: skip


class Comparison:
    """A loss of this iteration, by the nodes of its two sides."""

    def __init__(self, kind: str, line: Line | None, input: Node, target: Node) -> None:
        # paired; soft: the target is a distribution; weighted: the target is a factor
        self.kind = kind
        self.line = line
        self.input = input._seq
        self.target = target._seq
        self.product = -1  # the node that multiplies the sides of a weighted one


class TargetFacts:
    """A line that compares two outputs of networks: why one of them is a target."""

    def __init__(self, line: Line | None) -> None:
        self.line = line
        self.reasons: dict[str, int] = {}
        self.target_line: Line | None = None
        self.leaves: set[int] = set()


class TargetWatch:
    """Sees calls of models, what their inputs were made from, and losses of two outputs."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.is_open = True
        self.passes = self.compared_passes = 0
        self.sites: dict[Line | None, TargetFacts] = {}
        self._serial = 0
        self._known: dict[int, tuple[weakref.ref[Tensor], int, frozenset[int]]] = {}
        self._outputs: dict[int, tuple[int, frozenset[int]]] = {}
        self._now: list[Comparison] = []

    # -- during forward --------------------------------------------------------------------------

    def _identity(self, tensor: Tensor) -> tuple[int, frozenset[int]]:
        """A number for a tensor of data, and the numbers of those that it was computed from."""
        entry = self._known.get(id(tensor))
        if entry is not None and entry[0]() is tensor:
            return entry[1], entry[2]
        return self._learn(tensor, frozenset())

    def _learn(self, tensor: Tensor, origins: frozenset[int]) -> tuple[int, frozenset[int]]:
        if len(self._known) > _MANY:
            self._known = {k: v for k, v in self._known.items() if v[0]() is not None}
        self._serial += 1
        self._known[id(tensor)] = WeakTensorRef(tensor), self._serial, origins
        return self._serial, origins

    def data_made(self, inputs: tuple[Any, ...], out: Tensor) -> None:
        """An operation on data, outside of any model."""
        origins: set[int] = set()
        for value in inputs:
            if isinstance(value, Tensor) and value._array.size > 1:
                number, behind = self._identity(value)
                origins |= behind | {number}
        self._learn(out, frozenset(origins))

    def model_called(self, tensor: Any, result: Any) -> None:
        first = result
        while isinstance(first, tuple | list) and first:
            first = first[0]
        if not isinstance(tensor, Tensor) or not isinstance(first, Tensor):
            return
        if first._node is not None and len(self._outputs) < _MANY:
            self._outputs[first._node._seq] = self._identity(tensor)

    def compared(self, kind: str, place: Any, input: Tensor, target: Tensor) -> None:
        if input._node is not None and target._node is not None and len(self._now) < 64:
            self._now.append(Comparison(kind, line_of(place), input._node, target._node))

    def product(self, a: Tensor, b: Tensor, out: Tensor) -> None:
        """`p * log_softmax(x)`: the cross-entropy with a soft target."""
        if a._array.shape != b._array.shape or out._node is None:
            return
        for one, two in ((a, b), (b, a)):
            names = op_name(_bare(one._node)), op_name(_bare(two._node))
            if names[0] == "log_softmax" and names[1] in (*_SOFTMAX, "div"):
                self.compared("soft", out._node._where, one, two)
            elif names[1] == "sub" and _residual(two._node) is not None:
                self.compared("weighted", out._node._where, one, two)
                self._now[-1].product = out._node._seq

    # -- at backward -----------------------------------------------------------------------------

    def backward_begins(self, run: Any, roots: Any) -> None:
        if not self.is_open:
            return
        self.passes += 1
        if self._now and roots and len(run.nodes) <= _LARGEST:
            self.compared_passes += 1
            graph = _Graph(self, run, [node for node, _ in roots])
            for each in self._now:
                self._judge(each, graph)
        self.is_open = self.passes < _PASSES and self.compared_passes < _COMPARED
        self._outputs, self._now = {}, []

    def _judge(self, each: Comparison, graph: _Graph) -> None:
        input, target = graph.nodes.get(each.input), graph.nodes.get(each.target)
        if input is None or target is None or input is target:
            return
        reason = graph.reason(each, input, target)
        if not reason and each.kind == "paired":
            reason = graph.reason(each, target, input)
            input, target = (target, input) if reason else (input, target)
        if reason:
            facts = self.sites.setdefault(each.line, TargetFacts(each.line))
            facts.reasons[reason] = facts.reasons.get(reason, 0) + 1
            facts.target_line = line_of(target._where)
            facts.leaves |= graph.leaves(target)


class _Graph:
    """Questions about the graph of one backward pass."""

    def __init__(self, watch: TargetWatch, run: Any, roots: list[Node]) -> None:
        self.watch = watch
        self.roots = roots
        self.nodes = {node._seq: node for node in run.nodes if not node.is_accumulator}
        # Where each node's result is used: a function of the library counts as one place.
        self.users: dict[int, set[Any]] = {}
        self.uses: dict[int, set[str]] = {}  # and by which operations
        for node in run.nodes:
            for edge in node._edges:
                if edge is not None:
                    self.users.setdefault(id(edge[0]), set()).add(node._where)
                    source = through_moves(edge[0])
                    self.uses.setdefault(id(source), set()).add(op_name(node))
        self.terms = terms_of_loss(roots)

    def reason(self, each: Comparison, input: Node, target: Node) -> str:
        """Why one side of a comparison is its target; empty when it is not."""
        of_input, of_target = self.leaves(input), self.leaves(target)
        if each.kind == "weighted":
            return self._of_weight(each, of_input, of_target, target)
        calls = self.call(input), self.call(target)
        if not of_input or not of_target or not self._are_trained(of_input):
            return ""
        if not of_input & of_target:
            alone = not of_target & self._reached_without({id(target)})
            same = calls[0] is not None and calls[1] is not None and calls[0][1] == calls[1][1]
            if alone and (each.kind == "soft" or same):
                return "its network gets gradients from this comparison only"
            return ""
        if of_input == of_target:
            return self._of_one_network(each, input, target, calls)
        if of_target < of_input and self._is_predicted(input, of_target):
            return "the same network computes it, without the predictor"
        return ""

    def _of_weight(
        self, each: Comparison, of_input: set[int], of_target: set[int], target: Node
    ) -> str:
        """A score times (data - estimate), where the estimate is trained by a regression."""
        if not of_input - of_target or not of_target - of_input:
            return ""
        if not any(term._seq == each.product for term in self.terms):
            return ""
        residual = _residual(target)
        estimate = None if residual is None else through_moves(inputs_of(residual)[0])
        for node in (residual, estimate):
            if node is not None and self.uses.get(id(node), set()) & _REGRESSIONS:
                return "an advantage: its estimate is trained by another term"
        return ""

    def _is_predicted(self, input: Node, of_target: set[int]) -> bool:
        """Whether a further network makes the input, and nothing else holds the target's."""
        last = self._last_weights(input)
        if not last or self._numbers(last) & of_target:
            return False
        barred = {id(self.nodes[seq]) for each in self.watch._now
                  for seq in (each.input, each.target) if seq in self.nodes}  # fmt: skip
        return not of_target & self._reached_without(barred)

    def _last_weights(self, node: Node) -> list[Node]:
        """The weights of the layer that is nearest to a node."""
        for each in walk([node], 24):
            weights = weights_of(each)
            if weights:
                return weights
        return []

    def _of_one_network(self, each: Comparison, input: Node, target: Node, calls: Any) -> str:
        if None in calls or calls[0][0] is calls[1][0] or not self._is_used_once(target):
            return ""
        (_, (_, origins)), (_, (clean, before)) = calls
        if not before and clean in origins:
            return "the same network computes it, from the input without its perturbation"
        if each.kind == "soft" and not self._is_mirrored(calls):
            return "the same network computes it"
        if _sharpened(target) and not _sharpened(input):
            return "the same network computes it, and it is sharpened"
        return ""

    def _is_mirrored(self, calls: Any) -> bool:
        """Whether another comparison of this pass has the two sides the other way round."""
        for other in self.watch._now:
            input, target = self.nodes.get(other.input), self.nodes.get(other.target)
            if input is None or target is None:
                continue
            one, two = self.call(input), self.call(target)
            if one is None or two is None:
                continue
            if one[0] is calls[1][0] and two[0] is calls[0][0]:
                return True
        return False

    def _is_used_once(self, node: Node) -> bool:
        """Whether an output, and what is made of it, goes to one place only."""
        current: Node | None = node
        for _ in range(12):
            if current is None or len(self.users.get(id(current), ())) > 1:
                return False
            if current._seq in self.watch._outputs:
                return True
            behind = inputs_of(current)
            current = behind[0] if len(behind) == 1 else None
        return False

    def call(self, node: Node) -> tuple[Node, tuple[int, frozenset[int]]] | None:
        """The output of a model that a side is made of, and what the model was given."""
        todo, seen = [node], 0
        while todo and seen < 24:
            current = todo.pop(0)
            seen += 1
            given = self.watch._outputs.get(current._seq)
            if given is not None:
                return current, given
            if op_name(current) in _SHAPED:
                todo += inputs_of(current)
        return None

    def leaves(self, node: Node) -> set[int]:
        return self._numbers(walk([node], _LARGEST))

    def _numbers(self, nodes: Any) -> set[int]:
        found = set()
        for node in nodes:
            leaf = node._variable() if node.is_accumulator else None
            if leaf is not None:
                found.add(self.watch.recorder.facts(leaf).number)
        return found

    def _reached_without(self, barred: set[int]) -> set[int]:
        """The leaves that the pass reaches by other ways than through some nodes."""
        seen, todo, found = set(barred), list(self.roots), []
        while todo:
            node = todo.pop()
            if id(node) not in seen:
                seen.add(id(node))
                found.append(node)
                todo += inputs_of(node)
        return self._numbers(found)

    def _are_trained(self, numbers: set[int]) -> bool:
        params = self.watch.recorder.params
        return any(params[n].optimizers for n in numbers if n in params)


def _residual(node: Node | None) -> Node | None:
    """The node of `data - estimate` behind an advantage."""
    node = through_moves(node)
    if op_name(node) not in ("sub", "rsub") or node is None:
        return None
    return node if any(edge is None for edge in node._edges) else None


def _bare(node: Node | None) -> Node | None:
    """The node behind changes of sign and shape that keep the shape of the values."""
    while node is not None and op_name(node) in ("neg", "alias", "clone", "view", "_to_copy"):
        behind = inputs_of(node)
        node = behind[0] if behind else None
    return node


def _sharpened(node: Node) -> bool:
    """Whether a temperature below one, or a power, makes a distribution more certain."""
    source = through_moves(node)
    if op_name(source) not in _SOFTMAX or source is None:
        return False
    scores = through_moves(inputs_of(source)[0])
    if scores is None or len(inputs_of(scores)) != 1:
        return False
    number = number_saved(scores)
    if number is None:
        return False
    name = op_name(scores)
    return (name == "div" and 0 < number < 1) or (name == "mul" and number > 1)
