"""Where the axes of a tensor come from: which of them holds the samples of a batch."""

from __future__ import annotations

import math
from typing import Any

from clew.doctor.facts.graphs import inputs_of, kept, op_name
from clew.observed import Node

_STEPS = 48
_EXCHANGES = frozenset({"transpose", "t", "mT", "adjoint"})
_RESHAPES = frozenset(
    {"view", "reshape", "_unsafe_view", "squeeze", "squeeze_dim", "squeeze_dims", "unsqueeze",
     "flatten", "unflatten"}
)  # fmt: skip
_ROWS = frozenset({"addmm", "mm"})
_SAMPLES_FIRST = frozenset({"convolution", "convolution_bias"})


def is_batch(node: Node | None, axis: int, batch: int) -> bool:
    """Whether an axis of a node's result is the first axis of a model's input, of `batch` samples.

    It is followed back as far as operations say where it comes from. Where they do not, the answer
    is no: nothing is known.
    """
    for _ in range(_STEPS):
        if node is None or node.is_accumulator:
            return False
        shape = tuple(node._shape)
        if axis >= len(shape) or shape[axis] != batch:
            return False
        behind = [each for each in inputs_of(node) if not each.is_accumulator]
        name = op_name(node)
        if name in _SAMPLES_FIRST:
            return axis == 0
        if name == "embedding" or (name in _ROWS and not behind):
            return axis == 0
        if name in _ROWS:
            data = [each for each in behind if each._shape and each._shape[0] == shape[0]]
            if axis != 0 or len(data) != 1:
                return False
            node = data[0]
            continue
        if not behind:
            # An elementwise operation on data: its axes are those of the data.
            return axis == 0 and any(edge is None for edge in node._edges)
        source = _source(behind, shape)
        if source is None:
            return False
        found = _axis_before(name, node, axis, tuple(source._shape))
        if found is None:
            return False
        node, axis = source, found
    return False


def _source(behind: list[Node], shape: tuple[int, ...]) -> Node | None:
    """The input that the values of a result come from: the largest one."""
    sizes = [math.prod(each._shape) for each in behind]
    largest = max(sizes)
    if largest > math.prod(shape):
        return behind[0] if len(behind) == 1 else None
    return behind[sizes.index(largest)]


def _axis_before(name: str, node: Node, axis: int, before: tuple[int, ...]) -> int | None:
    """The axis of an operation's input that became an axis of its result."""
    shape = tuple(node._shape)
    if name == "permute":
        dims = kept(node, "dims")
        return dims[axis] % len(before) if dims is not None else None
    if name in _EXCHANGES:
        return _exchanged(node, axis, before)
    if name in _RESHAPES:
        return same_place(shape, axis, before)
    if before == shape:
        return axis
    size = shape[axis]
    if before.count(size) == 1 == shape.count(size) and len(before) == len(shape):
        return axis if before[axis] == size else None
    return None


def _exchanged(node: Node, axis: int, before: tuple[int, ...]) -> int | None:
    if len(before) == 2:
        return 1 - axis
    given: list[Any] = [kept(node, "dim0"), kept(node, "dim1")]
    if any(each is None for each in given):
        # Which two were exchanged shows where sizes differ.
        shape = tuple(node._shape)
        size = shape[axis]
        return before.index(size) if before.count(size) == 1 else None
    one, other = (each % len(before) for each in given)
    return {one: other, other: one}.get(axis, axis)


def same_place(shape: tuple[int, ...], axis: int, other: tuple[int, ...]) -> int | None:
    """The axis of another shape that is the same one, if elements keep their order in memory."""
    inner = math.prod(shape[axis + 1 :])
    for index, size in enumerate(other):
        if size == shape[axis] and math.prod(other[index + 1 :]) == inner:
            return index
    return None
