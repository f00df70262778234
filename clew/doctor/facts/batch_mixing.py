"""Statistics over a batch inside a module: what a layer makes of them is shared by its samples."""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from clew.doctor.facts.graphs import (
    MOVES,
    inputs_of,
    is_layers_output,
    kept,
    op_name,
    through_moves,
    walk,
    weights_of,
)
from clew.doctor.facts.places import Place, here
from clew.observed import Node, Tensor, WeakTensorRef

# Reductions that make one number of many rows; of whole tensors, and along dimensions.
WHOLE = frozenset({"mean", "sum", "max", "min", "std", "var", "linalg_vector_norm"})
POOLS = frozenset({"mean_dim", "sum_dim", "amax", "std", "var"})
# They sum up rows by a group that each row has.
GROUPED = frozenset({"index_add", "scatter_add", "scatter_reduce"})
_EXTREMES = frozenset({"max", "min", "amax"})
# On the way from a reduction to where it is used, and from a tensor to what is reduced of it.
_SOFTENED = MOVES | {
    "add", "sqrt", "rsqrt", "maximum", "clamp", "clamp_min", "clamp.numbers", "clamp_min.number",
}  # fmt: skip
_UNARY = MOVES | {"abs", "pow", "square", "exp", "neg"}
_SCALED = MOVES | {"mul", "div"}
_LAYERS = frozenset(
    {"addmm", "mm", "bmm", "mv", "addmv", "convolution", "convolution_bias", "embedding",
     "_lstm_layer", "_gru_layer", "_rnn_layer", "_linear_recurrence"}
)  # fmt: skip
_FLATTENING = MOVES | {"log_softmax", "_unsafe_view"}
_ELEMENTWISE = _UNARY | {"add", "sub", "mul", "div"}


class Pool(NamedTuple):
    """A reduction over the batch axis, and the nodes of what was reduced."""

    place: Place | None
    shape: tuple[int, ...]
    name: str
    sources: tuple[int, ...]
    whole: bool
    features: bool = False  # a square of features, not of pairs


class MixWatch:
    """Sees reductions over the batch, and what they are put together with."""

    def __init__(self, note: Callable[..., Any]) -> None:
        self.note = note
        # Recent reductions over the batch axis, by the place of their node in the graph's order;
        # those of the model's input, which has no node, by identity.
        self.pools: dict[int, Pool] = {}
        self.plain: dict[int, tuple[weakref.ref[Tensor], weakref.ref[Tensor], Pool]] = {}
        # What was made of such statistics, by the pool: the node that took them in.
        self.pending: dict[Pool, Node | None] = {}
        self.affinities: set[int] = set()  # products of samples with samples, by their node
        self.in_module: Callable[[], bool] = lambda: False
        self.module: Callable[[], Any] = lambda: None  # the one that runs
        self.input: weakref.ref[Tensor] | None = None
        self.are_samples = False
        self.row_outputs: set[int] = set()  # batches of which models made one row for each sample
        # Tables of targets that were made flat: what shape they had.
        self.flat: dict[int, tuple[weakref.ref[Tensor], tuple[int, ...]]] = {}

    def flattened(self, source: Tensor, out: Tensor) -> None:
        """A table of data is viewed as one row after the other."""
        if len(self.flat) > 64:
            self.flat = {k: v for k, v in self.flat.items() if v[0]() is not None}
        if len(self.flat) <= 64:
            self.flat[id(out)] = WeakTensorRef(out), tuple(source._array.shape)

    def compared(self, scores: Tensor, target: Any, out: Tensor) -> None:
        """Scores and targets that were made flat in different orders do not belong together."""
        entry = self.flat.get(id(target))
        if entry is None or entry[0]() is not target or out._node is None:
            return
        node = scores._node
        for _ in range(6):
            behind = [] if node is None else inputs_of(node)
            if node is None or len(behind) != 1 or op_name(node) not in _FLATTENING:
                return
            shape = tuple(behind[0]._shape)
            if len(shape) == 3:
                if shape[1::-1] == entry[1] and shape[0] != shape[1]:
                    site = self.note("misaligned", node._where, "", node=out._node)
                    site.facts["shapes"] = [list(shape), list(entry[1])]
                return
            node = behind[0]

    def model_called(self, tensor: Tensor, are_samples: bool) -> None:
        """A model gets a batch; of some it is known that their rows are samples of a dataset."""
        self.input = WeakTensorRef(tensor)
        self.are_samples = are_samples
        self.pending.clear()
        self.plain.clear()
        self.affinities.clear()

    def model_left(self, result: Any) -> None:
        """A module that gives one number is a loss: after its layers it may compare samples."""
        is_loss = isinstance(result, Tensor) and result._array.size == 1
        given = None if self.input is None else self.input()
        if isinstance(result, Tensor) and result._array.ndim == 2 and given is not None:
            self.row_outputs |= {given._array.shape[0]} & {result._array.shape[0]}
        pending = list(self.pending)
        if is_loss and pending:
            inside = _before_layers(result._node)
            pending = [pool for pool, node in self.pending.items() if id(node) in inside]
        for pool in pending:
            site = self.note("over-batch", pool.place, pool.name.removesuffix("_dim"))
            site.used = site.count
            site.facts.setdefault("shapes", Counter())[pool.shape] += 1
            site.facts["whole"] = pool.whole
            site.facts["features"] = pool.features
        self.pending.clear()

    def reduced(self, source: Any, params: Any, out: Tensor, name: str) -> None:
        dims = params.get("dim", params.get("dims")) if params else None
        dims = dims if isinstance(dims, tuple | list) else () if dims is None else (dims,)
        array = source._array
        whole = len(dims) in (0, array.ndim)
        if not whole and (0 not in dims or name not in POOLS or out._node is None):
            return
        if array.ndim < 2 or array.shape[0] < 2 or array.size == array.shape[0]:
            return
        if not self.in_module():
            return
        shape = tuple(array.shape)
        if out._node is None:
            given = None if self.input is None else self.input()
            if given is not None and given is source:
                pool = Pool(here(), shape, name, (), whole)
                self.plain[id(out)] = WeakTensorRef(out), WeakTensorRef(given), pool
            return
        start = through_moves(source._node)
        if start is None or len(self.pools) > 64:
            self.pools.clear()
        if start is not None and not start.is_accumulator and (not whole or _sees_data(start)):
            sources = _chain(source._node, _UNARY)
            features = shape[0] == shape[1] and is_layers_output(source._node, shape)
            self.pools[out._node._seq] = Pool(
                out._node._where, shape, name, sources, whole, features
            )

    def layer(self, inputs: tuple[Any, ...]) -> None:
        """A layer with weights runs on something that was pooled over the batch."""
        if not self.pools:
            return
        for value in inputs:
            node = through_moves(value._node) if isinstance(value, Tensor) else None
            found = self.pools.get(node._seq) if node is not None else None
            if found is not None and not found.whole:
                self._mixed(found)

    def attended(self, weights: Any, values: Any) -> None:
        """`softmax(q @ k.T) @ v`, where the rows of all three are samples of one batch."""
        if not self.are_samples or not self.in_module():
            return
        if not isinstance(weights, Tensor) or not isinstance(values, Tensor):
            return
        rows = values._array.shape[0]
        node = through_moves(weights._node)
        if weights._array.shape != (rows, rows) or rows < 2 or op_name(node) != "softmax":
            return
        behind = [_chain(each, _SCALED) for each in inputs_of(node)] if node is not None else []
        if node is not None and any(seq in self.affinities for chain in behind for seq in chain):
            self._mixed(Pool(node._where, tuple(values._array.shape), "softmax", (), False))

    def grouped(self, inputs: tuple[Any, ...], out: Tensor) -> None:
        """Rows of several groups, weighted by a softmax over all of them, are pooled by group."""
        source = inputs[2] if len(inputs) > 2 else None
        if not isinstance(source, Tensor) or source._node is None or out._array.ndim < 1:
            return
        rows, groups = source._array.shape[:1], out._array.shape[0]
        if not rows or not 1 < groups < rows[0]:
            return
        todo, seen = [source._node], 0
        while todo and seen < 12:
            node = todo.pop()
            seen += 1
            name = op_name(node)
            if name == "softmax" and tuple(node._shape[:1]) == rows:
                if math.prod(node._shape[1:]) == 1 or kept(node, "dim") == 0:
                    self._over_groups(node, groups)
            elif name in _SCALED:
                todo += inputs_of(node)

    def _over_groups(self, node: Node, groups: int) -> None:
        site = self.note("over-batch", node._where, "softmax", node=node)
        site.facts["groups"] = groups
        site.facts.setdefault("shapes", Counter())[tuple(node._shape)] += 1

    def affine(self, a: Any, b: Any, out: Tensor) -> None:
        """`q @ k.T` of two tensors that both depend on the batch."""
        shape = out._array.shape
        if not self.are_samples or shape[0] != shape[-1] or shape[0] < 2 or not self.in_module():
            return
        if isinstance(a, Tensor) and isinstance(b, Tensor) and out._node is not None:
            sources = [through_moves(a._node), through_moves(b._node)]
            if all(n is not None and not n.is_accumulator and _sees_data(n) for n in sources):
                self.affinities.add(out._node._seq)

    def combined(self, name: str, a: Any, b: Any, out: Tensor) -> None:
        """A tensor meets its own mean (or deviation, or sum) over the batch."""
        if not (self.pools or self.plain):
            return
        if not isinstance(a, Tensor) or not isinstance(b, Tensor) or not self.in_module():
            return
        found = self._plain_pool(a, b) if b._node is None else self._pool(a, b)
        # Subtracting one maximum from all scores changes no softmax.
        if found is None or (found.name in _EXTREMES and name != "div"):
            return
        if not _normalises(self.module(), found.whole):
            self._mixed(found, out._node)

    def _pool(self, a: Tensor, b: Tensor) -> Pool | None:
        if a._node is None:
            return None
        mine = _chain(a._node, _ELEMENTWISE)
        for seq in _chain(b._node, _SOFTENED):
            found = self.pools.get(seq)
            if found is not None and any(each in found.sources for each in mine):
                return found
        return None

    def _plain_pool(self, a: Tensor, b: Tensor) -> Pool | None:
        entry = self.plain.get(id(b))
        if entry is None or entry[0]() is not b or entry[1]() is not a:
            return None
        return entry[2]

    def _mixed(self, pool: Pool, node: Node | None = None) -> None:
        self.pending.setdefault(pool, node)


def _normalises(module: Any, whole: bool) -> bool:
    """Whether batch statistics are what a module is for: it keeps some, or is called so.

    Its name may say so of statistics per feature; nobody wants those of a whole batch.
    """
    return module is not None and (
        bool(module._buffers) or (not whole and "norm" in type(module).__name__.lower())
    )


def _before_layers(root: Node | None) -> set[int]:
    """The nodes, by identity, of whose results layers with weights make a result."""
    nodes = [] if root is None else list(walk([root], 4000))
    layers = [each for each in nodes if weights_of(each)]
    given = [each for layer in layers for each in inputs_of(layer) if not each.is_accumulator]
    return {id(each) for each in walk(given, 4000)}


def _sees_data(node: Node) -> bool:
    """Whether what a node computes depends on data, not on parameters alone."""
    return any(
        any(edge is None for edge in each._edges)
        and (op_name(each) in _LAYERS or bool(weights_of(each)))
        for each in walk([node], 400)
    )


def _chain(node: Node | None, through: frozenset[str]) -> tuple[int, ...]:
    """A node and those behind it, as far as some operations go."""
    found: list[int] = []
    todo = [] if node is None else [node]
    while todo and len(found) < 12:
        current = todo.pop(0)
        found.append(current._seq)
        if op_name(current) in through:
            todo += inputs_of(current)
    return tuple(found)
