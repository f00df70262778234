"""Batching rules of indexing, gathering, scattering, masks, and embeddings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.core.interception import note_constant
from clew.core.op import OPS
from clew.core.tensor import Tensor, wrap
from clew.ops.batching.rules import (
    Call,
    Rule,
    aligned,
    declare,
    decomposed,
    front,
    pad_rank,
    rules,
)
from clew.ops.define import vmap_errors
from clew.ops.index.index_put import index_backward_op, index_op, index_put_op
from clew.ops.pointwise.clamping import where

Shape = tuple[int, ...]
Pattern = tuple[bool, ...]

declare(aligned, "masked_fill", "several_zeros")


def count_up(size: int, rank: int) -> Tensor:
    """The numbers of the examples, shaped to broadcast in front of `rank` dimensions."""
    return note_constant(wrap(np.arange(size).reshape((size, *(1,) * rank))))


@rules(
    "gather", "gather_backward", "scatter", "scatter_value", "scatter_add", "scatter_into",
    "scatter_reduce",
)  # fmt: skip
def _by_elements(call: Call) -> Tensor:
    """A tensor without dimensions goes together with vectors of one element."""
    params = dict(call.params, dim=call.params["dim"] + (call.params["dim"] >= 0))
    inputs = [
        value.unsqueeze(1) if isinstance(value, Tensor) and value._array.ndim == 1 else value
        for value in call.all_batched()
    ]
    shape = call.shape(1 if call.op.name == "gather" else 0)
    if call.op.name == "gather_backward":
        shape = params["input_sizes"]
        params["input_sizes"] = (call.size, *(shape or (1,)))
    result: Tensor = call.op(*inputs, **params)
    whole = (call.size, *shape)
    return result if result._array.shape == whole else result.reshape(whole)


# -- index tensors ---------------------------------------------------------------------------


class _Layout:
    """Where NumPy puts the dimensions of an index: at the place of the first, or in front."""

    def __init__(self, pattern: Pattern, rank: int, index_rank: int, own_index: bool) -> None:
        first = pattern.index(True)
        count = sum(pattern)
        # The examples are an index of their own where the others differ between examples.
        self.pattern = (own_index, *pattern)
        together = all(pattern[first : first + count])
        before = first if together else 0
        rest = rank - count - before
        names: list[Any] = [("idx", i) for i in range(index_rank)]
        kept = [("before", i) for i in range(before)]
        tail = [("rest", i) for i in range(rest)]
        self.wanted = ["examples", *kept, *names, *tail]
        if own_index:
            self.given = ["examples", *names, *kept, *tail]
        elif together:
            self.given = self.wanted
        else:
            self.given = [*names, "examples", *tail]

    def out(self, result: Tensor) -> Tensor:
        """A result of NumPy's layout, with the examples in front and the rest as one sees it."""
        if self.given == self.wanted:
            return result
        ordered: Tensor = result.permute([self.given.index(name) for name in self.wanted])
        return ordered

    def back(self, tensor: Tensor) -> Tensor:
        if self.given == self.wanted:
            return tensor
        ordered: Tensor = tensor.permute([self.wanted.index(name) for name in self.given])
        return ordered


def _indices(call: Call, start: int, pattern: Pattern, rank: int) -> tuple[list[Tensor], _Layout]:
    """The index tensors for all examples at once, and the layout of what they give."""
    given = list(zip(call.inputs[start:], call.batched[start:], strict=True))
    for index, batched in given:
        if batched and index._array.dtype.kind == "b":
            raise vmap_errors.boolean_mask()
    ranks = [_index_rank(each) for each in call.logical[start:]]
    masked = sum(
        each._array.ndim - 1 for each in call.logical[start:] if each._array.dtype.kind == "b"
    )
    if not any(batched for _, batched in given):
        return [index for index, _ in given], _Layout(pattern, rank - masked, max(ranks), False)
    numbers = [count_up(call.size, max(ranks))]
    for index, batched in given:
        if index._array.dtype.kind == "b":
            numbers.extend(index.nonzero(as_tuple=True))
            pattern = _split_mask(pattern, len(numbers) - 2, index._array.ndim)
        else:
            numbers.append(pad_rank(index, max(ranks)) if batched else index)
    return numbers, _Layout(pattern, rank, max(ranks), True)


def _index_rank(index: Tensor) -> int:
    return 1 if index._array.dtype.kind == "b" else index._array.ndim


def _split_mask(pattern: Pattern, place: int, count: int) -> Pattern:
    """A mask over several dimensions counts as an index for each of them."""
    places = [i for i, indexed in enumerate(pattern) if indexed]
    at = places[min(place, len(places) - 1)]
    return (*pattern[:at], *(True,) * count, *pattern[at + 1 :])


def _index(call: Call) -> Any:
    rank = call.ndim()
    indices, layout = _indices(call, 1, call.params["pattern"], rank)
    self = call.inputs[0] if call.batched[0] else front(call.inputs[0], call.size)
    return layout.out(index_op(len(indices))(self, *indices, pattern=layout.pattern))


def _index_backward(call: Call) -> Any:
    sizes = call.params["input_sizes"]
    indices, layout = _indices(call, 1, call.params["pattern"], len(sizes))
    grad = call.inputs[0] if call.batched[0] else front(call.inputs[0], call.size)
    op = index_backward_op(len(indices))
    return op(layout.back(grad), *indices, input_sizes=(call.size, *sizes), pattern=layout.pattern)


def _index_put(call: Call) -> Any:
    rank = call.ndim()
    indices, layout = _indices(call, 2, call.params["pattern"], rank)
    self, values = call.inputs[:2]
    if not call.batched[0]:
        self = front(self, call.size)
    if call.batched[1]:
        # What a value is for depends on where the dimensions of the index are.
        values = layout.back(pad_rank(values, len(layout.wanted) - 1))
    elif layout.given != layout.wanted:
        values = layout.back(front(values.expand(_padded(values, layout)), 1))
    return index_put_op(len(indices))(
        self, values, *indices, pattern=layout.pattern, accumulate=call.params["accumulate"]
    )


def _padded(values: Tensor, layout: _Layout) -> Shape:
    shape = values._array.shape
    return (*(1,) * (len(layout.wanted) - 1 - len(shape)), *shape)


for _count in range(1, 9):
    _suffix = "" if _count == 1 else f"_{_count}"
    declare(_index, f"index{_suffix}")
    declare(_index_backward, f"index_backward{_suffix}")
    declare(_index_put, f"index_put{_suffix}", f"_index_put{_suffix}")


# -- rows --------------------------------------------------------------------------------------


def _as_index_of(index: Tensor, shape: Shape, dim: int, size: int) -> Tensor:
    """An index of rows for each example, as an index of elements of a tensor of that shape."""
    ones = (size, *(1,) * dim, -1, *(1,) * (len(shape) - dim - 1))
    count = index._array.shape[-1] if index._array.ndim > 1 else 1
    wide: Tensor = index.reshape(ones).expand((size, *shape[:dim], count, *shape[dim + 1 :]))
    return wide


def _by_rows(stands_in: Any) -> Rule:
    """Rules of operations that take an index of rows: one index for all, or one for each."""

    def rule(call: Call) -> Any:
        inputs, params = list(call.inputs), dict(call.params)
        dim = params["dim"] if call.ndim() else 0
        for position in (0, *range(2, len(inputs))):
            value = inputs[position]
            if isinstance(value, Tensor) and not call.batched[position]:
                value = front(value, call.size)
            is_scalar = isinstance(value, Tensor) and value._array.ndim == 1
            if is_scalar and not (call.op.name == "index_fill_tensor" and position == 2):
                value = value.unsqueeze(1)
            inputs[position] = value
        if "input_sizes" in params:
            params["input_sizes"] = (call.size, *(params["input_sizes"] or (1,)))
        if call.batched[1] or call.op.name == "index_fill_tensor":
            index = inputs[1] if call.batched[1] else front(inputs[1], call.size)
            result = stands_in(call, inputs, index, dim % max(call.ndim(), 1), params)
        else:
            params["dim"] = dim % max(call.ndim(), 1) + 1
            result = call.op(*inputs, **params)
        if not call.ndim() and call.op.name != "index_select_backward":
            result = result.reshape(call.size)
        return result

    return rule


def _select(call: Call, inputs: list[Any], index: Tensor, dim: int, params: Any) -> Any:
    shape = inputs[0]._array.shape[1:]
    return inputs[0].gather(dim + 1, _as_index_of(index, shape, dim, call.size))


def _unselect(call: Call, inputs: list[Any], index: Tensor, dim: int, params: Any) -> Any:
    shape = inputs[0]._array.shape[1:]
    return OPS["gather_backward"](
        inputs[0], _as_index_of(index, shape, dim, call.size), dim=dim + 1,
        input_sizes=params["input_sizes"],
    )  # fmt: skip


def _write_rows(call: Call, inputs: list[Any], index: Tensor, dim: int, params: Any) -> Any:
    self = inputs[0]
    name = call.op.name
    if name.startswith("index_fill"):
        rows = self._array.shape[dim + 1]
        index = where(index < 0, index + rows, index)
    wide = _as_index_of(index, self._array.shape[1:], dim, call.size)
    if name == "index_fill":
        return self.scatter(dim + 1, wide, params["value"])
    if name == "index_fill_tensor":
        value = inputs[2].reshape((call.size, *(1,) * (self._array.ndim - 1)))
        return self.scatter(dim + 1, wide, value.expand(wide._array.shape).to(self.dtype))
    source = inputs[2].reshape(wide._array.shape)
    if name == "index_copy":
        return self.scatter(dim + 1, wide, source)
    if name == "index_add":
        return self.scatter_add(dim + 1, wide, source * params["alpha"])
    return self.scatter_reduce(
        dim + 1, wide, source, params["reduce"], include_self=params["include_self"]
    )


RULE_OF_ROWS = {"index_select": _select, "index_select_backward": _unselect}
for _name in ("index_add", "index_copy", "index_fill", "index_fill_tensor", "index_reduce"):
    RULE_OF_ROWS[_name] = _write_rows
for _name, _stand_in in RULE_OF_ROWS.items():
    declare(_by_rows(_stand_in), _name)


# -- elements by their number ------------------------------------------------------------------


def _flat_index(index: Tensor, count: int) -> Tensor:
    flat = index.reshape(-1)
    counted: Tensor = where(flat < 0, flat + count, flat)
    return counted


@decomposed("take")
def _take(self: Tensor, index: Tensor) -> Tensor:
    flat = _flat_index(index, self._array.size)
    taken: Tensor = self.reshape(-1).gather(0, flat).reshape(index._array.shape)
    return taken


@decomposed("take_backward")
def _take_backward(grad_output: Tensor, index: Tensor, *, input_sizes: Shape) -> Tensor:
    count = math.prod(input_sizes)
    zeros = note_constant(wrap(np.zeros(count, grad_output._array.dtype)))
    flat = _flat_index(index, count)
    filled: Tensor = zeros.scatter_add(0, flat, grad_output.reshape(-1)).reshape(input_sizes)
    return filled


@decomposed("put")
def _put(self: Tensor, index: Tensor, source: Tensor, *, accumulate: bool) -> Tensor:
    flat = self.reshape(-1)
    places = _flat_index(index, self._array.size)
    write = flat.scatter_add if accumulate else flat.scatter
    written: Tensor = write(0, places, source.reshape(-1)).reshape(self._array.shape)
    return written


@rules("masked_fill_tensor")
def _masked_fill_tensor(call: Call) -> Tensor:
    tensor, mask, value = call.aligned()
    filled: Tensor = where(mask, value.to(tensor.dtype), tensor)
    return filled


# -- masks -------------------------------------------------------------------------------------


@decomposed("masked_scatter")
def _masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    shape = np.broadcast_shapes(self._array.shape, mask._array.shape)
    mask = mask.expand(shape)
    if not source._array.size:
        return self.expand(shape).clone()
    places = (mask.reshape(-1).cumsum(0) - 1).clamp(0, source._array.size - 1)
    values = source.reshape(-1).gather(0, places).reshape(shape)
    scattered: Tensor = where(mask, values, self)
    return scattered


@decomposed("masked_scatter_backward")
def _masked_scatter_backward(grad_output: Tensor, mask: Tensor, *, source_sizes: Shape) -> Tensor:
    count = math.prod(source_sizes)
    if not count:
        return note_constant(wrap(np.zeros(source_sizes, grad_output._array.dtype)))
    mask = mask.expand(grad_output._array.shape)
    places = (mask.reshape(-1).cumsum(0) - 1).clamp(0, count - 1)
    kept = grad_output.masked_fill(~mask, 0).reshape(-1)
    zeros = note_constant(wrap(np.zeros(count, grad_output._array.dtype)))
    filled: Tensor = zeros.scatter_add(0, places, kept).reshape(source_sizes)
    return filled


# -- embeddings --------------------------------------------------------------------------------


@rules("one_hot")
def _one_hot(call: Call) -> Any:
    if call.params["num_classes"] is None or call.params["num_classes"] < 0:
        raise vmap_errors.dynamic_shape("one_hot")
    return call.op(*call.inputs, **call.params)


def _numbered(indices: Tensor, batched: bool, rows: int, size: int) -> Tensor:
    """Rows of each example's table, as rows of all tables under each other."""
    rank = indices._array.ndim - batched
    numbered: Tensor = indices + count_up(size, rank).to(indices.dtype) * rows
    return numbered


@rules("embedding")
def _embedding(call: Call) -> Any:
    weight, indices = call.inputs
    params = dict(call.params)
    if not call.batched[0]:
        if not params["scale_grad_by_freq"]:
            return call.op(weight, indices, **params)
        # How often a row occurs is counted for each example by itself.
        weight = front(weight, call.size)
    _, rows, width = weight._array.shape
    padding = params["padding_idx"]
    params["padding_idx"] = -1
    flat = weight.reshape((call.size * rows, width))
    found = call.op(flat, _numbered(indices, call.batched[1], rows, call.size), **params)
    if padding is None or padding < 0:
        return found
    is_padding = (indices == padding).unsqueeze(-1)
    return where(is_padding, found.detach(), found)


@rules("embedding_dense_backward")
def _embedding_backward(call: Call) -> Any:
    grad, indices = call.all_batched()
    params = dict(call.params)
    rows, padding = params["rows"], params["padding_idx"]
    if padding is not None and padding >= 0:
        grad = grad.masked_fill((indices == padding).unsqueeze(-1), 0)
    params |= {"rows": rows * call.size, "padding_idx": -1}
    found = call.op(grad, _numbered(indices, True, rows, call.size), **params)
    return found.reshape((call.size, rows, *found._array.shape[1:]))


# -- bags of embeddings ------------------------------------------------------------------------


def _all_bags(call: Call, indices: int, offsets: int) -> tuple[Tensor, Tensor]:
    """The indices and the bags of all examples, one example after the other."""
    rows, starts = call.all_batched()[indices], call.all_batched()[offsets]
    begins = starts + count_up(call.size, 1).to(starts.dtype) * rows._array.shape[1]
    return rows.reshape(-1), begins.reshape(-1)


@rules("embedding_bag")
def _embedding_bag(call: Call) -> Any:
    """The bags of all examples are more bags; tables of their own are one large table."""
    weight, indices, _, samples = call.inputs
    params = dict(call.params)
    flat, starts = _all_bags(call, 1, 2)
    own_table = call.batched[0] or params["scale_grad_by_freq"]
    if own_table:
        weight = weight if call.batched[0] else front(weight, call.size)
        rows, padding = weight._array.shape[1], params["padding_idx"]
        numbered = _numbered(indices, call.batched[1], rows, call.size)
        # What is left out has one number for all, which no example uses otherwise.
        flat = where(indices == padding, padding, numbered).reshape(-1)
        weight = weight.reshape((-1, weight._array.shape[2]))
    if samples is not None:
        samples = call.all_batched()[3].reshape(-1)
    found, chosen = call.op(weight, flat, starts, samples, **params)
    shape = (call.size, -1, found._array.shape[1])
    found, chosen = found.reshape(shape), chosen.reshape(shape)
    if own_table:
        chosen = where(chosen < 0, chosen, chosen % rows)
    return found, chosen


@rules("_embedding_bag_ids")
def _bag_ids(call: Call) -> Any:
    flat, starts = _all_bags(call, 0, 1)
    numbers = call.op(flat, starts).reshape((call.size, -1))
    return numbers - count_up(call.size, 1) * call.shape(1)[0]


@rules("_embedding_bag_counts")
def _bag_counts(call: Call) -> Any:
    return call.op(*_all_bags(call, 0, 1), **call.params).reshape((call.size, -1))


# -- searching ---------------------------------------------------------------------------------


@rules("searchsorted")
def _searchsorted(call: Call) -> Any:
    sequence, values, sorter = call.inputs
    if not call.batched[0] and sorter is None and call.ndim(0) == 1:
        return call.op(sequence, values, sorter, **call.params)
    sequence, values, sorter = call.all_batched()
    if call.ndim(0) > 1:
        return call.op(sequence, values, sorter, **call.params)
    rows = values.reshape((call.size, -1))
    return call.op(sequence, rows, sorter, **call.params).reshape(values._array.shape)


@decomposed("isin")
def _isin(elements: Any, test_elements: Any, *, assume_unique: bool, invert: bool) -> Tensor:
    tests = test_elements.reshape(-1) if isinstance(test_elements, Tensor) else test_elements
    values = elements.unsqueeze(-1) if isinstance(tests, Tensor) else elements
    found: Tensor = values == tests
    if isinstance(tests, Tensor):
        found = found.any(-1)
    return ~found if invert else found
