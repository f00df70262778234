"""How indexing, sorting, scattering and writes to parts are written in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.core.op import OPS
from clew.export.sizes import Expression, Unexplained
from clew.onnx.graph import GraphWriter
from clew.onnx.operators import writes
from clew.onnx.tape import Call, Value

_LAST = np.iinfo(np.int64).max


def _places(call: Call) -> tuple[int, ...]:
    """The dimensions that the indices of an `index` or `index_put` stand in."""
    return tuple(n for n, there in enumerate(call.params["pattern"]) if there)


class _Advanced:
    """`x[i, :, j]` with tensors among the indices, as GatherND and ScatterND take it.

    The indexed dimensions come first; a mask counts as the indices of what it has.
    """

    def __init__(self, g: GraphWriter, value: Value, call: Call, indices: Any) -> None:
        self.g = g
        self.dims: list[int] = []
        found: list[str] = []
        rank = 0
        shift = 0
        for place, index in zip(_places(call), indices, strict=True):
            array, name = g.array(index), g.name(index)
            if array.dtype == bool:
                split = g.node("NonZero", name)
                for n in range(array.ndim):
                    self.dims.append(place + shift + n)
                    found.append(g.node("Gather", split, g.constant(n, np.int64), axis=0))
                shift += array.ndim - 1
                rank = max(rank, 1)
            else:
                self.dims.append(place + shift)
                found.append(g.cast(name, np.int64))
                rank = max(rank, array.ndim)
        total = found[0]
        for each in found[1:]:
            total = g.node("Add", total, each)
        nothing = g.node("Mul", total, g.constant(0, np.int64))
        last = g.ints(-1)
        together = [g.node("Unsqueeze", g.node("Add", each, nothing), last) for each in found]
        self.indices = g.node("Concat", *together, axis=-1)
        self.rank = rank
        rest = [d for d in range(g.rank(value)) if d not in self.dims]
        self.order = [*self.dims, *rest]
        low, high = min(self.dims), max(self.dims)
        # Indices beside each other leave their dimensions where they were.
        self.start = low if high - low == len(self.dims) - 1 else 0
        self.source = self.turned(g.name(value), self.order)
        self.result_rank = rank + len(rest)

    def turned(self, name: str, order: list[int]) -> str:
        return name if order == sorted(order) else str(self.g.node("Transpose", name, perm=order))

    def read(self) -> str:
        found = str(self.g.node("GatherND", self.source, self.indices))
        moved = list(range(self.rank, self.result_rank))
        moved[self.start : self.start] = range(self.rank)
        return self.turned(found, moved)

    def written(self, updates: str, accumulate: bool) -> str:
        """The tensor with new values there; `updates` has the shape of what is read."""
        g = self.g
        front = list(range(self.start, self.start + self.rank))
        front += [d for d in range(self.result_rank) if d not in front]
        made = g.node(
            "ScatterND", self.source, self.indices, self.turned(updates, front),
            reduction="add" if accumulate else None,
        )  # fmt: skip
        return self.turned(made, [int(n) for n in np.argsort(self.order)])


@writes("index", *[f"index_{count}" for count in range(2, 9)])
def _index(g: GraphWriter, call: Call) -> Any:
    value, *indices = call.inputs
    if len(indices) == 1 and g.array(indices[0]).dtype != bool:
        return g.node("Gather", g.name(value), g.name(indices[0]), axis=_places(call)[0])
    return _Advanced(g, value, call, indices).read()


@writes("index_put", *[f"index_put_{count}" for count in range(2, 9)])
def _index_put(g: GraphWriter, call: Call) -> Any:
    target, value, *indices = call.inputs
    name = _like(g, value, target)
    first = g.array(indices[0])
    is_mask = len(indices) == 1 and first.dtype == bool and first.ndim == g.rank(target)
    if is_mask and g.rank(value) == 0 and not call.params["accumulate"]:
        return g.node("Where", g.name(indices[0]), name, g.name(target))
    place = _Advanced(g, target, call, indices)
    updates = g.node("Expand", name, g.node("Shape", place.read()))
    return place.written(updates, call.params["accumulate"])


def _like(g: GraphWriter, value: Any, target: Value) -> str:
    """A value in the dtype of what it is written to."""
    kind = g.array(target).dtype
    if not isinstance(value, Value) or g.array(value).dtype == kind:
        return g.name(value, target)
    return g.cast(g.name(value), kind)


@writes("nonzero")
def _nonzero(g: GraphWriter, call: Call) -> Any:
    return g.node("Transpose", g.node("NonZero", g.name(call.inputs[0])), perm=[1, 0])


@writes("masked_select")
def _masked_select(g: GraphWriter, call: Call) -> Any:
    value, mask = (g.name(each) for each in call.inputs)
    both = [g.node("Expand", value, g.node("Shape", mask)),
            g.node("Expand", mask, g.node("Shape", value))]  # fmt: skip
    return g.node("Compress", *[g.node("Reshape", each, g.ints(-1)) for each in both], axis=0)


@writes("masked_scatter")
def _masked_scatter(g: GraphWriter, call: Call) -> Any:
    value, mask, source = call.inputs
    seen = g.node("Expand", g.name(mask), g.node("Shape", g.name(value)))
    places = g.node("Transpose", g.node("NonZero", seen), perm=[1, 0])
    flat = g.node("Reshape", g.name(source), g.ints(-1))
    count = g.node("Shape", places, start=0, end=1)
    return g.node("ScatterND", g.name(value), places, g.node("Slice", flat, g.ints(0), count))


# -- scattering ------------------------------------------------------------------------------------

_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@writes("scatter", "scatter_value", "scatter_add", "scatter_reduce")
def _scatter(g: GraphWriter, call: Call) -> Any:
    p = call.params
    target, index = call.inputs[:2]
    source = call.inputs[2] if len(call.inputs) > 2 else p["value"]
    reduction = "add" if call.name == "scatter_add" else None
    if call.name == "scatter_reduce":
        reduction = _REDUCTIONS.get(p["reduce"])
        if reduction is None or not p.get("include_self", True):
            raise Unexplained("scatter_reduce by a mean, or without what was there")
    name, places = _like(g, source, target), g.name(index)
    if not isinstance(source, Value) or g.rank(source) == 0:
        name = g.node("Expand", name, g.node("Shape", places))
    elif g.shape(source) != g.shape(index):
        # What lies beyond the indices is not used.
        rank = g.rank(index)
        name = g.node("Slice", name, g.ints(*[0] * rank), g.node("Shape", places))
    return g.node(
        "ScatterElements", g.name(target), places, name, axis=p["dim"], reduction=reduction
    )


@writes("index_add", "index_copy", "index_fill", "index_fill_tensor")
def _into_rows(g: GraphWriter, call: Call) -> Any:
    """Values for some rows of a dimension, which comes first meanwhile."""
    target, index = call.inputs[:2]
    p, rank = call.params, g.rank(target)
    source = call.inputs[2] if len(call.inputs) > 2 else p["value"]
    order = [p["dim"], *[d for d in range(rank) if d != p["dim"]]]
    turned = g.node("Transpose", g.name(target), perm=order)
    name = _like(g, source, target)
    if call.name in ("index_add", "index_copy"):
        name = g.node("Transpose", name, perm=order)
    else:
        name = g.node("Expand", name, g.node("Shape", g.node("Gather", turned, g.name(index))))
    if p.get("alpha", 1) != 1:
        name = g.node("Mul", name, g.name(p["alpha"], target))
    made = g.node(
        "ScatterND", turned, g.node("Unsqueeze", g.name(index), g.ints(-1)), name,
        reduction="add" if call.name == "index_add" else None,
    )  # fmt: skip
    return g.node("Transpose", made, perm=[int(n) for n in np.argsort(order)])


# -- sorting ---------------------------------------------------------------------------------------


def _top(g: GraphWriter, value: Value, count: str, dim: int, largest: bool) -> str:
    """The places of the largest or smallest values, in order."""
    made = g.node("TopK", g.name(value), count, outputs=2, axis=dim, largest=int(largest), sorted=1)
    return str(made[1])


@writes("argsort")
def _argsort(g: GraphWriter, call: Call) -> Any:
    value, p = call.inputs[0], call.params
    count = g.number(g.shape(value)[p["dim"]])
    return _top(g, value, count, p["dim"], bool(p["descending"]))


@writes("_argtopk")
def _argtopk(g: GraphWriter, call: Call) -> Any:
    p = call.params
    return _top(g, call.inputs[0], g.number(p["k"]), p["dim"], bool(p["largest"]))


@writes("_argkthvalue", "_argmedian")
def _in_the_middle(g: GraphWriter, call: Call) -> Any:
    value, p = call.inputs[0], call.params
    size = g.shape(value)[p["dim"]]
    if call.name == "_argmedian" and isinstance(size, Expression):
        raise Unexplained("median of a dimension that changes")
    place = p["k"] if call.name == "_argkthvalue" else (size - 1) // 2
    order = _top(g, value, g.ints(place + 1), p["dim"], False)
    index = g.constant([place] if p["keepdim"] else place, np.int64)
    return g.node("Gather", order, index, axis=p["dim"])


@writes("topk", "sort", "max_dim", "min_dim", "kthvalue", "median_dim", "cummax", "cummin")
def _taken(g: GraphWriter, call: Call) -> Any:
    """The values at the places that another operation found."""
    value, index = call.inputs
    dim, name = call.params["dim"], g.name(index)
    kept = g.rank(index) == g.rank(value)
    if not kept:
        name = g.node("Unsqueeze", name, g.ints(dim))
    found = g.node("GatherElements", g.name(value), name, axis=dim)
    return found if kept else g.node("Squeeze", found, g.ints(dim))


@writes("searchsorted")
def _searchsorted(g: GraphWriter, call: Call) -> Any:
    borders, value, sorter = call.inputs
    if g.rank(borders) != 1 or sorter is not None:
        raise Unexplained("searchsorted in more than one row")
    kind = "LessOrEqual" if call.params["right"] else "Less"
    below = g.node(kind, _like(g, borders, value), g.node("Unsqueeze", g.name(value), g.ints(-1)))
    whole = g.cast(below, g.array(call.outputs[0]).dtype)
    return g.node("ReduceSum", whole, g.ints(-1), keepdims=0)


# -- views -----------------------------------------------------------------------------------------


@writes("diagonal", "unfold", "as_strided")
def _by_places(g: GraphWriter, call: Call) -> Any:
    """A view, as elements of the flat tensor: for sizes that do not change."""
    value = call.inputs[0]
    flat = g.node("Reshape", g.name(value), g.ints(-1))
    return g.node("Gather", flat, g.constant(_elements(g, value, call.name, call.params)), axis=0)


def _elements(g: GraphWriter, value: Value, op: str, params: dict[str, Any], place: int = 0) -> Any:
    """Which elements of a tensor a view has, as an array in its shape."""
    shape = g.fixed_shape(value)
    found = OPS[op].forward(np.arange(int(np.prod(shape))).reshape(shape), **params)
    return np.ascontiguousarray(found[place] if isinstance(found, (tuple, list)) else found)


_SHAPED = frozenset(["view", "squeeze", "squeeze_dim", "squeeze_dims", "unsqueeze", "alias",
                     "detach", "_unsafe_view"])  # fmt: skip
_SPLIT = frozenset(["split", "split_with_sizes", "unbind"])


@writes("_written_view")
def _written_view(g: GraphWriter, call: Call) -> Any:
    """A tensor after a write to a view of it."""
    base, part = call.inputs
    params = {key: each for key, each in call.params.items() if key not in ("of", "place")}
    of, place = call.params["of"], call.params["place"]
    name = g.name(part)
    if of in _SHAPED:
        return g.node("Reshape", name, g.size(g.shape(base)), allowzero=1)
    if of in ("permute", "t", "transpose"):
        order = list(params["dims"]) if of == "permute" else _order(params, g.rank(base))
        return g.node("Transpose", name, perm=[int(n) for n in np.argsort(order)])
    if of == "select":
        dim, start = params["dim"], params["index"]
        return _between(g, base, g.node("Unsqueeze", name, g.ints(dim)), dim, start, 1)
    if of == "slice" and params["step"] == 1:
        dim, start = params["dim"], params["start"]
        return _between(g, base, name, dim, start, g.shape(part)[dim])
    flat = g.node("Reshape", g.name(base), g.ints(-1))
    places = g.constant(_elements(g, base, of, params, place).reshape(-1))
    made = g.node("ScatterElements", flat, places, g.node("Reshape", name, g.ints(-1)), axis=0)
    return g.node("Reshape", made, g.ints(*g.fixed_shape(base)), allowzero=1)


def _order(params: dict[str, Any], rank: int) -> list[int]:
    one, two = params.get("dim0", 0), params.get("dim1", min(1, rank - 1))
    order = list(range(rank))
    order[one], order[two] = order[two], order[one]
    return order


def _between(g: GraphWriter, base: Value, part: str, dim: int, start: Any, count: Any) -> str:
    """A tensor with some of its rows replaced: what is before them, they, what is after."""
    source, parts = g.name(base), []
    if start != 0:
        parts.append(g.node("Slice", source, g.ints(0), g.number(start), g.ints(dim)))
    parts.append(part)
    size = g.shape(base)[dim]
    fixed = not any(isinstance(each, Expression) for each in (start, count, size))
    if not fixed or start + count < size:
        end = g.node("Add", g.number(start), g.number(count))
        parts.append(g.node("Slice", source, end, g.ints(_LAST), g.ints(dim)))
    return parts[0] if len(parts) == 1 else str(g.node("Concat", *parts, axis=dim))
