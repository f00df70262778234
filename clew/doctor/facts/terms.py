"""The terms of a loss: how each is reduced, and whether it is what its form says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from clew.doctor.facts.graphs import (
    MOVES,
    inputs_of,
    kept,
    number_saved,
    op_name,
    ops_behind,
    walk,
    weights_of,
)
from clew.doctor.facts.places import Line, line_of
from clew.doctor.facts.recorder import Recorder
from clew.observed import Node

_PASSES = 50  # backward passes that are looked at
_WEIGHTS = 32  # as many weights make a sum over them a large one
_LAYERS = frozenset(
    {"addmm", "mm", "bmm", "mv", "addmv", "convolution", "convolution_bias", "embedding"}
)


class TermWatch:
    """Looks at the summands of each loss."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.passes = 0
        # Sums beside means; sums over weights beside means over samples; sums over a batch that
        # are added to each of its samples.
        self.mixed: Counter[tuple[Line | None, Line | None]] = Counter()
        self.of_weights: Counter[tuple[Line | None, Line | None]] = Counter()
        self.inside: Counter[tuple[Line | None, Line | None]] = Counter()
        self.summed: Counter[Line | None] = Counter()
        self.batch = 0
        self.picked = PickedScores(recorder)

    def backward_begins(self, run: Any, roots: Any, batches: set[int]) -> None:
        if self.passes > _PASSES or not roots:
            return
        self.passes += 1
        self.picked.backward_begins(run, roots)
        means: list[tuple[Node, Line | None, int]] = []
        sums: list[tuple[Node, Line | None, int, float]] = []
        for node, factor, divisors in terms_of(roots[0][0]):
            kind = reduction_of(node)
            if kind == "sum" and "gather" in ops_behind(node):
                continue
            size = _reduced_rows(node)
            if kind == "mean" or size in divisors:
                means.append((node, line_of(node._where), size))
            else:
                sums.append((node, line_of(node._where), size, factor))
        for mean, mean_line, mean_rows in means:
            for _, sum_line, sum_rows, factor in sums:
                per_sample = sum_rows == mean_rows or sum_rows in batches
                if per_sample and sum_rows > 1 and factor > 0.2:
                    self.mixed[sum_line, mean_line] += 1
            self._look_inside(mean, mean_line, mean_rows)
        if not means:
            for _, line, rows, factor in sums:
                if rows >= 8 and factor * rows > 1.5:
                    self.summed[line] += 1
                    self.batch = max(self.batch, rows)
        elif sums:
            self._sums_of_weights(means, [each for each in sums if each[3] > 0.2])

    def _look_inside(self, mean: Node, line: Line | None, rows: int) -> None:
        """A mean of what each sample has, to which a sum over all samples was added before."""
        if rows < 2 or op_name(mean) != "mean":
            return
        for behind in inputs_of(mean):
            for node, factor, divisors in terms_of(behind):
                over_all = reduction_of(node) == "sum" and not node._shape
                if over_all and _reduced_rows(node) == rows and factor > 0.2 and not divisors:
                    self.inside[line_of(node._where), line] += 1

    def _sums_of_weights(self, means: Any, sums: Any) -> None:
        """A sum over a network's weights, as large as they are many, beside a mean over samples."""
        size = 0
        place: Line | None = None
        found: set[int] = set()
        for node, line, _, _ in sums:
            weights = self._summed_weights(node)
            if weights:
                size += weights[0]
                place = line
                found |= weights[1]
        for mean, mean_line, rows in means if size >= _WEIGHTS else ():
            nodes = list(walk([mean], 4000))
            used = {id(each) for each in nodes if each.is_accumulator}
            if rows > 1 and found <= used and any(op_name(each) in _LAYERS for each in nodes):
                self.of_weights[place, mean_line] += 1
                return

    def _summed_weights(self, node: Node) -> tuple[int, set[int]] | None:
        """How many weights a sum goes over, one by one; None if it goes over something else."""
        given = inputs_of(node)
        nodes = list(walk(given, 200))
        if len(given) != 1 or any(op_name(each) in _LAYERS for each in nodes):
            return None
        leaves = [each for each in nodes if each.is_accumulator]
        if any(_is_weighted(each) for each in nodes):
            return None  # by data, as large as the program has made them
        shape = tuple(given[0]._shape)
        if not leaves or not shape or any(tuple(each._shape) != shape for each in leaves):
            return None
        return int(np.prod(shape)), {id(each) for each in leaves}


class PickedScores:
    """A loss that takes each sample's score of the right class as it is: the larger, the better.

    Nothing bounds it. A logarithm of a softmax was meant, or a term that holds the others down.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.lines: Counter[Line | None] = Counter()
        self.parts: dict[Line | None, set[int]] = {}  # the leaves that such scores come from
        self.passes: Counter[int] = Counter()  # of leaves: passes, and those with such scores only
        self.picked: Counter[int] = Counter()

    def backward_begins(self, run: Any, roots: Any) -> None:
        users: Counter[int] = Counter(
            id(edge[0]) for node in run.nodes for edge in node._edges if edge is not None
        )
        reached = {id(node) for node in run.nodes if node.is_accumulator}
        for node in run.nodes:
            if node.is_accumulator:
                self.passes[self._number(node)] += 1
        for scores, place in picked_scores(roots[0][0], users):
            leaves = {
                self._number(each)
                for layer in _layer_of(scores)
                for each in weights_of(layer)
                if id(each) in reached
            }
            line = line_of(place)
            self.lines[line] += 1
            self.parts.setdefault(line, set()).update(leaves)
            self.picked.update(leaves)

    def _number(self, node: Node) -> int:
        leaf = node._variable()
        return -1 if leaf is None else self.recorder.facts(leaf).number

    def found(self) -> Iterator[tuple[Line | None, int]]:
        """Lines that train a layer by picked scores and by nothing else."""
        params = self.recorder.params
        for line, count in self.lines.items():
            leaves = self.parts[line]
            alone = all(self.picked[n] >= self.passes[n] - 1 for n in leaves)
            trained = any(params[n].optimizers for n in leaves if n in params)
            if count >= 3 and alone and trained:
                yield line, count


def picked_scores(root: Node, users: Counter[int]) -> Iterator[tuple[Node, Any]]:
    """The outputs of layers of which a loss wants one number of each row to be large."""
    todo: list[tuple[Node, int, Any]] = [(root, 1, None)]
    found: list[tuple[Node, int, Any]] = []
    while todo and len(found) < 16:
        node, sign, place = todo.pop()
        shape = tuple(node._shape)
        is_scores = len(shape) == 2 and shape[0] > 1 and shape[1] >= 3
        if is_scores and _layer_of(node):
            found.append((node, sign, place))
            continue
        todo += _summands(node, sign, place)
    for node, sign, place in found:
        if sign < 0 and place is not None and users[id(node)] == 1 and len(found) == 1:
            yield node, place


def _layer_of(node: Node) -> list[Node]:
    """The layer with weights whose result, with its bias, a node is."""
    if op_name(node) == "add":
        return [each for each in inputs_of(node) if op_name(each) == "mm" and weights_of(each)]
    return [node] if op_name(node) in ("addmm", "mm") and weights_of(node) else []


def _summands(node: Node, sign: int, place: Any) -> list[tuple[Node, int, Any]]:
    """What a linear operation sums up: nodes, their signs, and where one of each row was taken."""
    name, behind = op_name(node), inputs_of(node)
    if name in ("sub", "rsub", "rsub.number", "neg"):
        flipped = (1,) if name == "sub" else (0,)
        return [
            (edge[0], -sign if number in flipped else sign, place)
            for number, edge in enumerate(node._edges)
            if edge is not None
        ]
    if name in ("mul", "div") and len(behind) == 1:
        number = number_saved(node)
        if number is not None:
            return [(behind[0], sign if number > 0 else -sign, place)] if number else []
        return [(behind[0], sign, node._where)] if name == "mul" and _picks(node) else []
    if name == "gather" or (name.startswith("index") and name != "index_select"):
        before = tuple(behind[0]._shape) if len(behind) == 1 else ()
        one_of_each = len(before) == 2 and node._shape and node._shape[0] == before[0]
        small = int(np.prod(node._shape)) == before[0] if one_of_each else False
        return [(behind[0], sign, node._where if small else place)] if behind else []
    if name in MOVES or name in ("add", "sum", "mean", "sum_dim", "mean_dim"):
        return [(each, sign, place) for each in behind]
    return []


def _is_weighted(node: Node) -> bool:
    """Whether a node multiplies by many numbers of data."""
    if op_name(node) not in ("mul", "div") or all(edge is not None for edge in node._edges):
        return False
    saved = getattr(node, "saved", ())
    arrays = [value[0] for value in saved if type(value) is tuple] if type(saved) is tuple else []
    return any(isinstance(array, np.ndarray) and array.size > 1 for array in arrays)


def _picks(node: Node) -> bool:
    """Whether a product's other factor is data whose rows are not negative and sum to 1."""
    saved = getattr(node, "saved", ())
    for value in saved if type(saved) is tuple else ():
        array = value[0] if type(value) is tuple else None
        if isinstance(array, np.ndarray) and array.ndim == 2 and array.shape[1] >= 3:
            return bool((array >= 0).all()) and np.allclose(array.sum(axis=-1), 1.0, atol=1e-3)
    return False


def terms_of(root: Any) -> list[tuple[Any, float, tuple[float, ...]]]:
    """The summands of a loss, with the number each is multiplied by, and what divides it."""
    found: list[tuple[Any, float, tuple[float, ...]]] = []
    todo: list[tuple[Any, float, tuple[float, ...]]] = [(root, 1.0, ())]
    while todo and len(found) < 16:
        node, factor, divisors = todo.pop()
        name = op_name(node)
        behind = inputs_of(node)
        if reduction_of(node) is not None and not _is_small(node):
            found.append((node, factor, divisors))
        elif name in ("add", "sub", "rsub", "add.scaled", "neg") or name in MOVES:
            todo += [(each, factor, divisors) for each in behind]
        elif name in ("mul", "div") and len(behind) == 1:
            number = number_saved(node)
            if number is None or number == 0:
                continue
            scale = abs(number) if name == "mul" else 1 / abs(number)
            more = (abs(number),) if name == "div" else (1 / abs(number),)
            todo.append((behind[0], factor * scale, divisors + more))
        elif reduction_of(node) is not None:
            todo += [(each, factor, divisors) for each in behind]
    return found


def _is_small(node: Any) -> bool:
    """A mean or a sum over a handful of terms, such as a stack of losses."""
    return _reduced_rows(node) <= 1


def _reduced_rows(node: Any) -> int:
    """The size of the first dimension that a reduction goes over."""
    for each in inputs_of(node):
        shape = each._shape
        if shape:
            return int(shape[0])
    return 1


def reduction_of(node: Node) -> str | None:
    """Whether a node takes the mean or the sum; None when it does neither."""
    name = op_name(node)
    if name in ("mean", "mean_dim"):
        return "mean"
    if name in ("sum", "sum_dim"):
        return "sum"
    given = kept(node, "reduction")
    return given if given in ("mean", "sum") else None
