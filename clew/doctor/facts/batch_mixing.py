"""Statistics over a batch inside a module: what a layer makes of them is shared by its samples."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from clew.core.node import Node
from clew.core.tensor import Tensor, WeakTensorRef
from clew.doctor.facts.graphs import (
    MOVES,
    inputs_of,
    is_layers_output,
    op_name,
    through_moves,
    walk,
)
from clew.doctor.facts.places import Place, here

# Reductions that make one number of many rows; of whole tensors, and along dimensions.
WHOLE = frozenset({"mean", "sum", "max", "min", "std", "var", "linalg_vector_norm"})
POOLS = frozenset({"mean_dim", "sum_dim", "amax", "std", "var"})
_EXTREMES = frozenset({"max", "min", "amax"})
# On the way from a reduction to where it is used, and from a tensor to what is reduced of it.
_SOFTENED = MOVES | {
    "add", "sqrt", "rsqrt", "maximum", "clamp", "clamp_min", "clamp.numbers", "clamp_min.number",
}  # fmt: skip
_UNARY = MOVES | {"abs", "pow", "square", "exp", "neg"}
_SCALED = MOVES | {"mul", "div"}
_LAYERS = frozenset(
    {"addmm", "mm", "bmm", "mv", "addmv", "convolution", "embedding", "_lstm_layer", "_gru_layer",
     "_rnn_layer", "_linear_recurrence"}
)  # fmt: skip
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
        self.pending: list[Pool] = []
        self.affinities: set[int] = set()  # products of samples with samples, by their node
        self.in_module: Callable[[], bool] = lambda: False
        # Whether the module that runs keeps statistics, or says that it normalises.
        self.normalises: Callable[[bool], bool] = lambda whole: False
        self.input: weakref.ref[Tensor] | None = None
        self.are_samples = False

    def model_called(self, tensor: Tensor, are_samples: bool) -> None:
        """A model gets a batch; of some it is known that their rows are samples of a dataset."""
        self.input = WeakTensorRef(tensor)
        self.are_samples = are_samples
        self.pending.clear()
        self.plain.clear()
        self.affinities.clear()

    def model_left(self, result: Any) -> None:
        """A module that gives one number is a loss: it may compare samples."""
        is_loss = isinstance(result, Tensor) and result._array.size == 1
        for pool in () if is_loss else self.pending:
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

    def affine(self, a: Any, b: Any, out: Tensor) -> None:
        """`q @ k.T` of two tensors that both depend on the batch."""
        shape = out._array.shape
        if not self.are_samples or shape[0] != shape[-1] or shape[0] < 2 or not self.in_module():
            return
        if isinstance(a, Tensor) and isinstance(b, Tensor) and out._node is not None:
            sources = [through_moves(a._node), through_moves(b._node)]
            if all(n is not None and not n.is_accumulator and _sees_data(n) for n in sources):
                self.affinities.add(out._node._seq)

    def combined(self, name: str, a: Any, b: Any) -> None:
        """A tensor meets its own mean (or deviation, or sum) over the batch."""
        if not (self.pools or self.plain):
            return
        if not isinstance(a, Tensor) or not isinstance(b, Tensor) or not self.in_module():
            return
        found = self._plain_pool(a, b) if b._node is None else self._pool(a, b)
        # Subtracting one maximum from all scores changes no softmax.
        if found is None or (found.name in _EXTREMES and name != "div"):
            return
        if not self.normalises(found.whole):
            self._mixed(found)

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

    def _mixed(self, pool: Pool) -> None:
        if pool not in self.pending:
            self.pending.append(pool)


def _sees_data(node: Node) -> bool:
    """Whether what a node computes depends on data, not on parameters alone."""
    return any(
        op_name(each) in _LAYERS and any(edge is None for edge in each._edges)
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
