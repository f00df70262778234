"""Layouts: where the elements of an array lie in memory, and the loops over several of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from clew.compiler.graph import VIEW, Graph, Value


class Declined(Exception):
    """An instruction has no native form; the text says why."""


class Temporary:
    """Memory that a kernel needs for itself."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class Constant:
    """Numbers that are known when a segment is compiled."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array


class Provided:
    """Memory that each run is given: by a step of an optimizer, or the state of random numbers."""


# The words of the default generator.
STREAM = Provided()


class Layout(NamedTuple):
    """Elements in the memory of `root`, from an offset on; strides are in bytes."""

    root: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    # The value of the graph that this is.
    value: Value | None = None

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def is_contiguous(self) -> bool:
        expected = row_major(self.shape, self.dtype.itemsize)
        if self.strides == expected:
            return True
        # Where a dimension has one element, it does not matter how far it is to the next.
        sides = zip(self.shape, self.strides, expected, strict=True)
        return all(length == 1 or stride == right for length, stride, right in sides)

    def moved_last(self, dim: int) -> Layout:
        """The same elements with a dimension as the last."""
        dim %= len(self.shape)
        order = [each for each in range(len(self.shape)) if each != dim] + [dim]
        return self.permuted(order)

    def permuted(self, order: Sequence[int]) -> Layout:
        shape = tuple(self.shape[each] for each in order)
        return self._replace(shape=shape, strides=tuple(self.strides[each] for each in order))

    def unsqueezed(self, dim: int) -> Layout:
        """The same elements with one more dimension, of one element."""
        shape, strides = list(self.shape), list(self.strides)
        shape.insert(dim, 1)
        strides.insert(dim, 0)
        return self._replace(shape=tuple(shape), strides=tuple(strides))

    def without(self, dim: int) -> Layout:
        """The same elements without a dimension of one element."""
        shape, strides = (each[:dim] + each[dim + 1 :] for each in (self.shape, self.strides))
        return self._replace(shape=shape, strides=strides)

    def without_each(self, dims: Iterable[int]) -> Layout:
        """The same without several of them."""
        layout = self
        for dim in sorted(dims, reverse=True):
            layout = layout.without(dim)
        return layout

    def part(self, dim: int, start: int, length: int) -> Layout:
        """Some positions along a dimension."""
        shape = (*self.shape[:dim], length, *self.shape[dim + 1 :])
        return self._replace(shape=shape, offset=self.offset + start * self.strides[dim])

    def every(self, dim: int, start: int, length: int, step: int) -> Layout:
        """So many positions along a dimension, a step apart."""
        strides = (*self.strides[:dim], self.strides[dim] * step, *self.strides[dim + 1 :])
        return self.part(dim, start, length)._replace(strides=strides)

    def divided(self, dim: int, length: int) -> Layout:
        """The same elements with a dimension cut into parts of one length."""
        shape, strides = list(self.shape), list(self.strides)
        shape[dim : dim + 1] = [shape[dim] // length, length]
        strides.insert(dim, strides[dim] * length)
        return self._replace(shape=tuple(shape), strides=tuple(strides))

    def reshaped(self, *shape: int) -> Layout:
        """The same elements of contiguous memory in another shape."""
        if not self.is_contiguous:
            raise Declined("memory with gaps")
        return self._replace(shape=shape, strides=row_major(shape, self.dtype.itemsize))


def row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides of contiguous memory."""
    strides: list[int] = []
    for length in reversed(shape):
        strides.append(itemsize)
        itemsize *= length
    return tuple(reversed(strides))


class Roots:
    """Whose memory each value of a graph lies in: a value that the graph is given, or computes."""

    def __init__(self, graph: Graph) -> None:
        self._roots: dict[Value, Value] = {}
        self._unknown: set[Value] = set()
        for instruction in graph.instructions:
            if instruction.kind == VIEW:
                for out in instruction.outputs:
                    if out is not None:
                        self._put(out, instruction.reads())

    def _put(self, out: Value, operands: list[Value]) -> None:
        if out in operands or out in self._roots:
            return
        if len(operands) != 1:
            operands = [each for each in operands if each.alias is out.alias]
        if operands:
            self._roots[out] = self[operands[0]]
        else:
            self._unknown.add(out)

    def __getitem__(self, value: Value) -> Value:
        return self._roots.get(value, value)

    def with_memory(self, values: Iterable[Value]) -> set[Value]:
        """Values, and those whose memory they lie in."""
        return {each for value in values for each in (value, self[value])}

    def layout(self, value: Value) -> Layout:
        """Where the elements of a value lie."""
        root = self[value]
        if root in self._unknown:
            raise Declined("a view of memory that is not known")
        offset = value.address - root.address
        return Layout(root, offset, value.shape, value.strides, value.dtype, value)


def memory_order(value: Value) -> list[int] | None:
    """The dimensions of dense memory from the outermost on; None if the memory has gaps."""
    order = sorted(range(len(value.shape)), key=lambda dim: (-value.strides[dim], dim))
    order.sort(key=lambda dim: value.shape[dim] != 1)
    expected = value.dtype.itemsize
    for dim in reversed(order):
        if value.shape[dim] != 1 and value.strides[dim] != expected:
            return None
        expected *= value.shape[dim]
    return order


# -- loops ---------------------------------------------------------------------------------------


class Loops(NamedTuple):
    """A call of a ufunc's loop: sizes and strides of the innermost loop and of the core, and the
    loops around it."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    outer: tuple[tuple[int, tuple[int, ...]], ...]


_CORE = re.compile(r"\(([^)]*)\)")


def core_dims(signature: str | None, count: int) -> list[tuple[str, ...]]:
    """The names of the core dimensions of each operand: those that a generalized ufunc handles."""
    if signature is None:
        return [()] * count
    return [tuple(filter(None, each.split(","))) for each in _CORE.findall(signature)]


def loops_over(signature: str | None, operands: Sequence[Layout]) -> Loops:
    """How a ufunc goes over its operands, the outputs last."""
    cores = core_dims(signature, len(operands))
    sizes: dict[str, int] = {}
    core_strides: list[int] = []
    shapes: list[tuple[int, ...]] = []
    for names, each in zip(cores, operands, strict=True):
        split = len(each.shape) - len(names)
        if split < 0:
            raise Declined("too few dimensions")
        shapes.append(each.shape[:split])
        for name, length in zip(names, each.shape[split:], strict=True):
            if sizes.setdefault(name, length) != length:
                raise Declined("sizes that do not go together")
        core_strides += each.strides[split:]
    loops = _merged(shapes, operands)
    if signature is None:
        # The innermost loop goes along the memory, as in NumPy.
        loops.sort(key=lambda loop: -max(loop[1]))
    else:
        # The innermost loop is cut for the threads.
        loops.sort(key=lambda loop: loop[0])
    *outer, inner = loops or [(1, (0,) * len(operands))]
    return Loops((inner[0], *sizes.values()), (*inner[1], *core_strides), tuple(reversed(outer)))


def _merged(
    shapes: list[tuple[int, ...]], operands: Sequence[Layout]
) -> list[tuple[int, tuple[int, ...]]]:
    """The loops over what the shapes broadcast to; neighbours that are one in memory are one."""
    shape = np.broadcast_shapes(*shapes)
    if 0 in shape:
        raise Declined("no elements")
    found: list[tuple[int, tuple[int, ...]]] = []
    for place, length in enumerate(shape):
        if length == 1:
            continue
        strides = []
        for own, each in zip(shapes, operands, strict=True):
            dim = place - len(shape) + len(own)
            strides.append(each.strides[dim] if dim >= 0 and own[dim] != 1 else 0)
        if found:
            before, outer = found[-1]
            if all(far == near * length for far, near in zip(outer, strides, strict=True)):
                found[-1] = before * length, tuple(strides)
                continue
        found.append((length, tuple(strides)))
    return found
