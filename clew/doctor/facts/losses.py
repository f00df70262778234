"""What goes into losses: shapes that broadcast, activations in front, targets with history."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.doctor.facts.axes import is_batch
from clew.doctor.facts.batch_mixing import GROUPED, POOLS, WHOLE, MixWatch
from clew.doctor.facts.graphs import (
    computed_by,
    inputs_of,
    is_layers_output,
    kept,
    linear_part,
    meet_weight,
    number_saved,
    op_name,
    ops_behind,
    through_moves,
    walk,
)
from clew.doctor.facts.places import Line, Place, here, line_of
from clew.doctor.facts.recorder import Recorder
from clew.doctor.facts.targets import TargetWatch
from clew.observed import Node, Tensor

PAIRED = frozenset({"mse_loss", "smooth_l1_loss", "huber_loss"})
WATCHED = PAIRED | POOLS | WHOLE | GROUPED | {
    "add", "sub", "rsub", "log_softmax", "nll_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "softmax", "mul", "cumsum", "cumprod",
    "logcumsumexp", "cummax", "cummin", "addmm", "mm", "sort", "div", "layer_norm",
    "native_layer_norm", "_ctc_loss",
}  # fmt: skip

# Of these it matters whether the loss only sums them up: they count if it does not, or if it does.
_BY_SUM = {"difference": False, "constant-penalty": True, "no-logarithm": True}


class LossSite:
    """A line that feeds a loss in a questionable way."""

    def __init__(self, kind: str, line: Line | None, other: Line | None, text: str) -> None:
        self.kind = kind
        self.line = line
        self.other = other
        self.text = text
        self.count = 0
        self.used = 0  # in how many backward passes its node took part
        self.facts: dict[str, Any] = {}


class LossWatch:
    """Sees the operations that losses are made of."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.sites: dict[tuple[str, Line | None], LossSite] = {}
        self.nodes: dict[int, LossSite] = {}
        self.functions: Counter[str] = Counter()
        self.mixing = MixWatch(self.note)
        self.targets = TargetWatch(recorder)
        self.in_module: Callable[[], bool] = lambda: False
        self.target_given: Callable[[Any], None] = lambda target: None
        self.rows: Counter[int] = Counter()  # how many targets losses had

    def note(
        self, kind: str, place: Place | None, text: str, other: Place | None = None,
        node: Node | None = None,
    ) -> LossSite:  # fmt: skip
        line = line_of(place)
        site = self.sites.get((kind, line))
        if site is None:
            site = self.sites[kind, line] = LossSite(kind, line, line_of(other), text)
        site.count += 1
        if node is not None:
            self.nodes[node._seq] = site
            if len(self.nodes) > 512:
                self.nodes = dict(list(self.nodes.items())[-64:])
        return site

    def op_ran(self, name: str, inputs: tuple[Any, ...], params: Any, out: Tensor) -> None:
        if name == "mul":
            self._product(inputs[0], inputs[1], out)
            self._outer(inputs[0], inputs[1], out)
            self._soft_labels(inputs[0], inputs[1], out)
        elif name == "add":
            self._sum(inputs[0], inputs[1], out)
        elif name in ("sub", "rsub") or name in PAIRED:
            self._pair(name, inputs, out)
            self.mixing.combined(name, inputs[0], inputs[1], out)
        elif name == "div":
            self.mixing.combined(name, inputs[0], inputs[1], out)
        elif name == "linalg_vector_norm":
            self.mixing.reduced(inputs[0], params, out, name)
            if self.in_module():
                self._softmax(inputs[0], params, out, "normalisation")
            elif out._node is not None:
                self.note("unit-length", out._node._where, "", node=out._node)
        elif name in POOLS or name in WHOLE:
            self.mixing.reduced(inputs[0], params, out, name)
        elif name in ("addmm", "mm"):
            self.mixing.layer(inputs)
            if name == "mm":
                self.mixing.affine(inputs[0], inputs[1], out)
                self.mixing.attended(inputs[0], inputs[1])
        elif name == "sort":
            if self.in_module():
                self._softmax(inputs[0], params, out, "sort")
        elif name in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"):
            self._softmax(inputs[0], params, out, name)
        elif name == "log_softmax":
            self._log_softmax(inputs[0], out)
            self._softmax(inputs[0], params, out, "log_softmax")
        elif name == "nll_loss":
            self._log_probabilities(inputs[0], out, name)
            self._count_rows(inputs[1])
            self.mixing.compared(inputs[0], inputs[1], out)
        elif name == "binary_cross_entropy":
            self._count_rows(inputs[1])
        elif name == "binary_cross_entropy_with_logits":
            self._with_logits(inputs[0], out)
            self._count_rows(inputs[1])
        elif name == "softmax":
            self._softmax(inputs[0], params, out)
        elif name in GROUPED:
            self.mixing.grouped(inputs, out)
        elif name == "_ctc_loss":
            self._log_probabilities(inputs[0], out, "ctc_loss")
        elif name in ("layer_norm", "native_layer_norm"):
            self._layer_norm(inputs[0], out)

    # -- shapes --------------------------------------------------------------------------------

    def _pair(self, name: str, inputs: tuple[Any, ...], out: Tensor) -> None:
        a, b = inputs[0], inputs[1]
        if not isinstance(a, Tensor) or not isinstance(b, Tensor) or out._node is None:
            return
        shape_a, shape_b = a._array.shape, b._array.shape
        size = a._array.size
        # Pairs of a column and a row; in PyTorch's losses, a prediction that is repeated.
        unlike = size == b._array.size and len(shape_a) != len(shape_b)
        repeated = name in PAIRED and b._array.size > size and not b._requires_grad
        # A table of all pairs, which an earlier (N,) plus (N, 1) has made, against N targets.
        table = name in PAIRED and len(shape_b) == 1 and shape_a == shape_b * 2
        table = table and shape_b[0] > 1 and not b._requires_grad
        if table or (shape_a != shape_b and size > 1 and (unlike or repeated) and (
            math.prod(np.broadcast_shapes(shape_a, shape_b)) > size
        )):  # fmt: skip
            site = self.note(
                "broadcast", out._node._where,
                f"{list(shape_a)} against {list(shape_b)}", node=out._node,
            )  # fmt: skip
            site.facts = {
                "shapes": [list(shape_a), list(shape_b)],
                "pairs": size if table else size * size,
            }
        if name in PAIRED:
            self._count_rows(b)
        if name in PAIRED or name == "sub":
            self._target(name, a, b, out)

    def _sum(self, a: Any, b: Any, out: Tensor) -> None:
        """A residual, (N, 1) plus data of shape (N,): a difference by another name."""
        if (
            isinstance(a, Tensor)
            and isinstance(b, Tensor)
            and out._node is not None
            and a._array.ndim != b._array.ndim
            and a._requires_grad != b._requires_grad
            and 1 < a._array.size == b._array.size
            and out._array.size == a._array.size**2
        ):
            shapes = [list(a._array.shape), list(b._array.shape)]
            text = f"{shapes[0]} against {shapes[1]}"
            site = self.note("broadcast", out._node._where, text, node=out._node)
            site.facts = {"shapes": shapes, "pairs": out._array.size}

    def _count_rows(self, target: Any) -> None:
        self.target_given(target)
        if isinstance(target, Tensor) and len(self.rows) < 100:
            shape = target._array.shape
            self.rows[shape[0] if shape else 1] += 1

    def _outer(self, a: Any, b: Any, out: Tensor) -> None:
        """(N, 1) times (N,), where one of them is data: a target that broadcasts."""
        if isinstance(a, Tensor) and isinstance(b, Tensor) and out._node is not None:
            size = a._array.size
            if (
                size > 1
                and b._array.size == size
                and out._array.size == size * size
                and a._array.ndim != b._array.ndim
                and a._requires_grad != b._requires_grad
            ):
                shapes = list(a._array.shape), list(b._array.shape)
                text = f"{shapes[0]} against {shapes[1]}"
                site = self.note("broadcast", out._node._where, text, node=out._node)
                site.facts = {"shapes": list(shapes), "pairs": size * size}

    def gradient_joined(self, name: str, node: Node, reason: Any) -> None:
        """A gradient that has no history is added to something that has: a penalty that is none."""
        if name in ("add", "add.scaled", "sub", "sub.scaled"):
            self.note("constant-penalty", node._where, reason.op, reason.where, node)

    def similarity(self, a: Any, b: Any, out: Any) -> None:
        """`cosine_similarity` of two tensors with history."""
        if isinstance(out, Tensor) and isinstance(a, Tensor) and isinstance(b, Tensor):
            self._target("cosine_similarity", a, b, out)

    def _product(self, a: Any, b: Any, out: Tensor) -> None:
        """A log-probability times something that has a history, too."""
        if not isinstance(a, Tensor) or not isinstance(b, Tensor) or out._node is None:
            return
        if not a._requires_grad or not b._requires_grad or a._node is b._node:
            return
        node = out._node
        if self.targets.is_open:
            self.targets.product(a, b, out)
        site = self.note("product", node._where, "mul", node=node)
        if site.count <= 2:
            site.facts["left"], site.facts["right"] = ops_behind(a._node), ops_behind(b._node)
            site.facts["left_leaves"] = _leaf_numbers(self.recorder, a)
            site.facts["right_leaves"] = _leaf_numbers(self.recorder, b)
            site.facts["steps"] = self.recorder.steps
            for side, tensor in (("left", a), ("right", b)):
                source = through_moves(tensor._node)
                site.facts[f"{side}_difference"] = (
                    op_name(source) in ("sub", "rsub")
                    and source is not None
                    and any(edge is None for edge in source._edges)
                )
                site.facts[f"{side}_line"] = line_of(source._where) if source is not None else None

    def _target(self, name: str, a: Tensor, b: Tensor, out: Tensor) -> None:
        if name == "sub" and not self.recorder.engine.is_users_call():
            return
        if a._requires_grad and b._requires_grad and out._node is not None:
            key = "difference" if name == "sub" else "both-sides"
            if name == "cosine_similarity":
                key = "similarity"
            elif name != "sub" and self.targets.is_open:
                self.targets.compared("paired", out._node._where, a, b)
            site = self.note(key, out._node._where, name, node=out._node)
            if site.count <= 3:
                site.facts["steps"] = self.recorder.steps
                site.facts["target"] = _leaf_numbers(self.recorder, b)
                site.facts["input"] = _leaf_numbers(self.recorder, a)
                site.facts["bootstrap"] = is_bootstrap(b._node) or is_bootstrap(a._node)
                same = name == "sub" and out._array.size > 1 and not out._array.any()
                site.facts["cancels"] = same and site.facts.get("cancels", True)
                site.facts["target_line"] = line_of(b._node._where) if b._node else None
                site.facts["input_line"] = line_of(a._node._where) if a._node else None

    # -- activations ---------------------------------------------------------------------------

    def _log_softmax(self, scores: Tensor, out: Tensor) -> None:
        before = computed_by(scores._node)
        name = op_name(before)
        if out._node is None or before is None:
            return
        if name in ("softmax", "sigmoid", "_safe_softmax"):
            self.note("activation", out._node._where, name, before._where, out._node)
        elif name in ("exp", "div", "mul") and _are_probabilities(scores._array):
            self.note("activation", out._node._where, "a softmax", before._where, out._node)

    def _with_logits(self, scores: Tensor, out: Tensor) -> None:
        before = computed_by(scores._node)
        name = op_name(before)
        if name in ("sigmoid", "softmax") and out._node is not None:
            assert before is not None
            self.note("activation.logits", out._node._where, name, before._where, out._node)

    def _log_probabilities(self, scores: Tensor, out: Tensor, loss: str) -> None:
        """A loss that wants log-probabilities: of each row, the exponentials must sum to 1."""
        before = through_moves(scores._node)
        name = op_name(before)
        self.functions[loss] += 1
        if out._node is None or name in ("log_sigmoid", "log"):
            return
        array = scores._array
        if array.ndim < 2 or array.size == 0 or self.functions[loss] > 200:
            return
        if before is not None and name == "log_softmax" and not _runs_over(before, 0):
            return
        classes = 1 if loss == "nll_loss" else -1
        totals = np.exp(array.astype(np.float64)).sum(axis=classes)
        if np.allclose(totals, 1.0, atol=0.05):
            return
        if before is not None and name == "log_softmax":
            # Its rows hold no distribution over the classes: it ran over the samples.
            if array.ndim == 2 and tuple(before._shape[1:]) == array.shape[1:]:
                site = self.note("over-batch", before._where, name, node=out._node)
                site.facts.setdefault("shapes", Counter())[tuple(before._shape)] += 1
                site.facts["sum_of_exp"] = round(float(np.median(totals)), 3)
        else:
            kind = "probabilities" if name == "softmax" else "scores"
            place = before._where if name == "softmax" and before is not None else None
            site = self.note("nll", out._node._where, kind, place, out._node)
            site.facts["sum_of_exp"] = round(float(np.median(totals)), 3)
            site.facts["loss"] = loss

    def _soft_labels(self, a: Any, b: Any, out: Tensor) -> None:
        """Probabilities times a target's probabilities: a cross-entropy without its logarithm."""
        if not isinstance(a, Tensor) or not isinstance(b, Tensor) or out._node is None:
            return
        scores, target = (a, b) if a._requires_grad else (b, a)
        before = None if target._requires_grad else through_moves(scores._node)
        if before is None or op_name(before) != "softmax" or a._array.shape != b._array.shape:
            return
        # (Times one class of each row, it is the expected accuracy, which some do maximise.)
        array = target._array
        if _are_probabilities(array) and (array.max(axis=-1) < 0.999).mean() > 0.5:
            self.note("no-logarithm", out._node._where, "softmax", before._where, out._node)

    def kl_div(self, input: Tensor, target: Tensor) -> None:
        """`kl_div` wants log-probabilities, which are never positive."""
        array = input._array
        if not input._requires_grad or array.ndim < 1 or not array.size:
            return
        if target._requires_grad:
            if self.targets.is_open:
                self.targets.compared("soft", here(), input, target)
            site = self.note("both-sides", here(), "kl_div")
            site.used = site.count
            if site.count <= 3:
                site.facts["steps"] = self.recorder.steps
                site.facts["target"] = _leaf_numbers(self.recorder, target)
                site.facts["input"] = _leaf_numbers(self.recorder, input)
                node = target._node
                site.facts["target_line"] = line_of(node._where) if node is not None else None
        name = op_name(through_moves(input._node))
        totals = np.exp(array.astype(np.float64)).sum(axis=-1)
        if name in ("softmax", "sigmoid") or (
            name != "log_softmax"
            and (array >= 0).all()
            and np.allclose(array.sum(axis=-1), 1, atol=1e-3)
        ):
            before = through_moves(input._node)
            site = self.note("kl", here(), "probabilities", before._where if before else None)
            site.facts["sum_of_exp"] = round(float(np.median(totals)), 3)
            site.used = site.count
        elif name not in ("log_softmax", "log") and not (array <= 1e-6).all():
            site = self.note("kl", here(), "scores")
            site.facts["sum_of_exp"] = round(float(np.median(totals)), 3)
            site.used = site.count

    def _softmax(self, scores: Tensor, params: Any, out: Tensor, name: str = "softmax") -> None:
        array = scores._array
        dim = params.get("dim", params.get("dims")) if params else None
        if isinstance(dim, tuple | list):
            dim = dim[0] if len(dim) == 1 else None
        if dim is None or array.ndim < 2 or (out._node is None and not self.in_module()):
            return
        source = through_moves(scores._node)
        if source is not None and source.is_accumulator:
            return  # weights: no samples of a batch
        axis = dim % array.ndim
        traced = self._is_batch(scores, axis)
        if (axis == 0 or traced) and array.shape[axis] > 1:
            place = here() if out._node is None else out._node._where
            site = self.note("over-batch", place, name, node=out._node)
            if traced:
                site.facts["traced"] = array.shape[axis]
            if out._node is None:
                site.used = site.count
            site.facts.setdefault("shapes", Counter())[array.shape] += 1
            if array.shape[0] == array.shape[1] and "features" not in site.facts:
                site.facts["features"] = is_layers_output(scores._node, array.shape)

    def _is_batch(self, tensor: Tensor, axis: int) -> bool:
        """Whether an axis holds the samples of the batch that the running model got."""
        given = self.mixing.input() if self.mixing.input is not None else None
        if given is None or not self.in_module():
            return False
        rows, shape = given._array.shape[0], tensor._array.shape
        if shape[axis] != rows or shape.count(rows) != 1:
            return False
        if tensor._node is None:  # (nothing says where its axes come from)
            return axis == 0 and len(shape) > 2
        return is_batch(tensor._node, axis, rows)

    def _layer_norm(self, values: Tensor, out: Tensor) -> None:
        """Normalisation over the last axes, one of which may be the batch."""
        array = values._array
        last = array.ndim - 1
        if last > 0 and out._node is not None and self._is_batch(values, last):
            site = self.note("over-batch", out._node._where, "layer_norm", node=out._node)
            site.facts.setdefault("shapes", Counter())[array.shape] += 1
            site.facts["traced"] = array.shape[last]

    # -- at backward -----------------------------------------------------------------------------

    def backward_begins(self, run: Any, roots: Any) -> None:
        """Which of the noted operations take part in this backward."""
        if not self.nodes:
            return
        starts = [node for node, _ in roots]
        near = {id(node) for node in near_root(starts)}
        summed = linear_part(starts)[1]
        for node in run.nodes:
            site = self.nodes.get(node._seq)
            if site is None or (site.kind == "broadcast" and id(node) not in near):
                continue
            # A difference that is only summed up is no error: nothing makes it small. A gradient
            # that is only summed up is no part of the loss.
            is_summed = id(node) in summed
            if _BY_SUM.get(site.kind, is_summed) == is_summed:
                site.used += 1


def _runs_over(node: Node, axis: int) -> bool:
    """Whether a softmax runs over an axis."""
    dim = kept(node, "dim")
    return dim is not None and dim % max(len(node._shape), 1) == axis


def _are_probabilities(array: np.ndarray) -> bool:
    """Whether every row holds three or more numbers that are not negative and sum to 1."""
    if array.ndim < 2 or array.shape[-1] < 3 or not 0 < array.size <= 1_000_000:
        return False
    return bool((array >= 0).all()) and np.allclose(array.sum(axis=-1), 1.0, atol=1e-4)


def near_root(roots: list[Node]) -> list[Node]:
    """The nodes between a loss and the last layers with weights."""
    found, seen = list(roots), set(map(id, roots))
    todo = list(roots)
    while todo and len(found) < 400:
        behind = inputs_of(todo.pop())
        if meet_weight(behind):
            continue
        for each in behind:
            if id(each) not in seen and not each.is_accumulator:
                seen.add(id(each))
                found.append(each)
                todo.append(each)
    return found


def is_bootstrap(node: Node | None) -> bool:
    """Whether a target is a reward plus a discounted estimate: r + gamma * v."""
    todo, seen = [node], 0
    known: set[int] = set()
    while todo and seen < 64:
        seen += 1
        each = through_moves(todo.pop())
        if each is None or id(each) in known:
            continue
        known.add(id(each))  # parts that are put together again and again share what is behind
        if op_name(each) in ("stack", "cat", "where"):
            todo += inputs_of(each)
        elif _adds_discounted(each):
            return True
    return False


def _adds_discounted(node: Node | None) -> bool:
    if op_name(node) not in ("add", "add.scaled") or node is None:
        return False
    if not any(edge is None for edge in node._edges):
        return False
    for _ in range(4):
        behind = [through_moves(each) for each in inputs_of(node)]
        node = next((each for each in behind if op_name(each) == "mul"), None)
        if node is None:
            return False
        if _is_discount(node):
            return True
    return False


def _is_discount(node: Node) -> bool:
    """Whether a node multiplies by a number, or by numbers, between 0.3 and 1, or by zeros."""
    number = number_saved(node)
    if number is not None:
        return 0.3 < number <= 1.0
    saved = getattr(node, "saved", ())
    for value in saved if type(saved) is tuple else ():
        array = value[0] if type(value) is tuple else None
        if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.size:
            factors = array[array != 0]
            return bool(factors.size) and bool((factors > 0.3).all() and (factors <= 1.0).all())
    return False


def _leaf_numbers(recorder: Recorder, tensor: Tensor) -> frozenset[int]:
    if tensor._node is None:
        return frozenset({recorder.facts(tensor).number})
    found = set()
    for node in walk([tensor._node], 4000):
        if node.is_accumulator:
            leaf = node._variable()
            if leaf is not None:
                found.add(recorder.facts(leaf).number)
    return frozenset(found)
