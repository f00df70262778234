"""Sizes that may change: what of a run depends on them, found by running several times.

Each run has other sizes in the dynamic dimensions. A whole number that differs between the runs is
a multiple of one of these sizes, a product of several, a size divided by a number, or one plus a
constant; what is none of these cannot be written, and the export says so.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from clew.core.tensor import Tensor, wrap
from clew.utils._pytree import tree_map

# How many runs have sizes close to the example's.
NEAR = 3
# A tensor of fewer elements may be three times as large in another run.
_MANY = 1 << 18


@dataclass(frozen=True)
class Axis:
    """A dimension of an input that may change: its name, and its size in each run."""

    name: str
    input: int
    dim: int
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Expression:
    """factor · product of sizes // divisor + offset."""

    factor: int
    axes: tuple[Axis, ...]
    offset: int = 0
    divisor: int = 1

    def values(self) -> tuple[int, ...]:
        """Its value in each run."""
        products = (prod(sizes) for sizes in zip(*(axis.sizes for axis in self.axes), strict=True))
        return tuple(self.factor * each // self.divisor + self.offset for each in products)

    def __str__(self) -> str:
        text = "*".join([str(self.factor)] * (self.factor != 1) + [axis.name for axis in self.axes])
        if self.divisor != 1:
            text = f"(({text}//{self.divisor}))"
        sign = "+" if self.offset > 0 else "-"
        return f"{text} {sign} {abs(self.offset)}" if self.offset else text


class Unexplained(Exception):
    """A number that depends on dynamic sizes in a way that cannot be written."""


def differ(numbers: Sequence[Any]) -> str:
    """The end of a message."""
    return f"{numbers[0]} in one run and {numbers[1]} in the other"


def _candidates(first: int, axes: tuple[Axis, ...]) -> Any:
    """What a number might be but a share of a size, by its value in the first run."""
    for count in (1, 2, 3):
        for group in itertools.combinations(axes, count):
            one = prod(axis.sizes[0] for axis in group)
            if one and first % one == 0:
                yield Expression(first // one, group)
    for axis in axes:
        yield Expression(1, (axis,), first - axis.sizes[0])


def _share(numbers: Sequence[int], axes: tuple[Axis, ...]) -> Expression | None:
    """A number as a size divided by another number, and perhaps one plus a constant."""
    values = tuple(numbers)
    for moved in (False, True):
        found = []
        for axis in axes:
            # The run with the largest size says most about the divisor.
            size, share = max(zip(axis.sizes, values, strict=True))
            if moved:
                divisors = range(2, size + 1)
            else:
                divisors = range(max(2, size // (share + 1) + 1), size // max(share, 1) + 1)
            for divisor in divisors:
                offset = share - size // divisor if moved else 0
                found.append(Expression(1, (axis,), offset, divisor))
        fitting = [each for each in found if each.values() == values]
        if len(fitting) > 1:
            raise Unexplained(f"{fitting[0]} or {fitting[1]}: a larger example would tell")
        if fitting:
            return fitting[0]
    return None


def explain(numbers: Sequence[int], axes: tuple[Axis, ...]) -> int | Expression:
    """A number, given by its value in each run, as an expression of the sizes."""
    if len(set(numbers)) == 1:
        return numbers[0]
    for candidate in _candidates(numbers[0], axes):
        if candidate.values() == tuple(numbers):
            found: Expression = candidate
            return found
    share = _share(numbers, axes)
    if share is not None:
        return share
    raise Unexplained(differ(sorted(set(numbers), key=numbers.index)))


def explain_all(values: Sequence[Any], axes: tuple[Axis, ...]) -> Any:
    """The same for parameters that hold numbers, such as shapes."""
    first = values[0]
    if all(isinstance(each, int) and not isinstance(each, bool) for each in values):
        return explain(values, axes)
    if isinstance(first, (tuple, list)) and all(isinstance(v, (tuple, list)) for v in values):
        if len({len(each) for each in values}) > 1:
            # One entry for each step of a sequence, all equal: what matters is how many.
            if all(len(set(each)) == 1 for each in values):
                return first
            raise Unexplained(f"{len(first)} entries in one run and {len(values[1])} in the other")
        parts = [explain_all(each, axes) for each in zip(*values, strict=True)]
        if hasattr(first, "_fields"):
            return type(first)(*parts)
        return parts if isinstance(first, list) else tuple(parts)
    if isinstance(first, slice):
        parts = [
            explain_all([getattr(each, name) for each in values], axes)
            for name in ("start", "stop", "step")
        ]
        return slice(*parts)
    for each in values[1:]:
        if isinstance(first, (bool, int, float, str)) and each != first and first == first:
            raise Unexplained(differ((first, each)))
    return first


def sizes_of_runs(
    size: int, step: int, low: int = 2, high: float = float("inf")
) -> tuple[int, ...]:
    """Three sizes for a dimension: that of the example, and smaller ones where there are any.

    Args:
        size: the size in the example
        step: another one for each name, so that sizes of different names do not change alike
        low, high: the sizes that are allowed
    """
    low = max(low, 2)
    first = max(size, low)
    wanted = (first - step, first - 2 * step - (step > 1), first + step, first + 2 * step)
    allowed = [each for each in wanted if low <= each <= high]
    others = allowed[:2] if allowed else [first]
    return (first, others[0], others[-1])


def far_sizes(
    size: int, step: int, elements: int, low: int = 2, high: float = float("inf")
) -> tuple[int, int]:
    """Two sizes that are far from a dimension's, where such are allowed: they tell divisors apart.

    Args:
        size: the size in the example
        step: another one for each name
        elements: how many elements the example has
        low, high: the sizes that are allowed
    """
    half, much = size // 2 - step, 3 * size + step
    # Three times a large tensor would be too much of it.
    affordable = elements < _MANY and much <= high
    return (half if half >= max(low, 2) else size, much if affordable else size)


def resized(args: Any, inputs: list[Tensor], axes: tuple[Axis, ...], run: int) -> Any:
    """The arguments with the sizes of a run: what is there, repeated or cut."""
    made: dict[int, Tensor] = {}
    for number, tensor in enumerate(inputs):
        changed = [axis for axis in axes if axis.input == number]
        if not changed:
            made[id(tensor)] = tensor
            continue
        array = tensor._array
        for axis in changed:
            places = np.arange(axis.sizes[run]) % array.shape[axis.dim]
            array = np.take(array, places, axis.dim)
        made[id(tensor)] = wrap(np.ascontiguousarray(array)).requires_grad_(tensor.requires_grad)
    return tree_map(lambda leaf: made.get(id(leaf), leaf), args)
