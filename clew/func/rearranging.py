"""`rearrange`: dimensions split, reordered and joined, as a pattern of names says."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.shape.joining import stack

_PART = re.compile(r"\(([^()]*)\)|(\.\.\.)|([^\s()]+)")
Side = list[list[str]]

# `...` by itself: a dimension for each that has no name. In parentheses they are one dimension.
_UNNAMED = ["..."]


def rearrange(
    tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int
) -> Tensor:
    """A tensor with other dimensions: `rearrange(x, "b c (h s) -> b (c s) h", s=2)`.

    Args:
        tensor: the tensor; a list of tensors is stacked in front
        pattern: the names of the dimensions before and after; names in parentheses are joined in
            one dimension, `...` stands for all that have no name
        axes_lengths: lengths that do not follow from the shape

    Example:
        >>> from clew.func import rearrange
        >>> rearrange(clew.zeros(2, 3, 8), "b c (h s) -> b (c s) h", s=2).shape
        torch.Size([2, 6, 4])
        >>> rearrange(clew.tensor([[1, 2], [3, 4]]), "a b -> (b a)")
        tensor([1, 3, 2, 4])
    """
    if not isinstance(tensor, Tensor):
        tensor = stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise _wrong(pattern, "it must have one `->`")
    shape = tensor._array.shape
    left, right = (_side(side, pattern) for side in sides)
    named = sum(group is not _UNNAMED for group in left)
    rest = [f"...{i}" for i in range(len(shape) - named)] if named < len(left) else []
    left, right = _spelled_out(left, rest), _spelled_out(right, rest)
    if len(left) != len(shape):
        raise _wrong(pattern, f"it names {len(left)} dimensions of a tensor with {len(shape)}")
    sizes = _sizes(left, shape, axes_lengths, pattern)
    names = [name for group in left for name in group]
    wanted = [name for group in right for name in group]
    if sorted(name for name in names if sizes[name] != 1 or not name.isdigit()) != sorted(
        name for name in wanted if not name.isdigit()
    ):
        raise _wrong(pattern, "both sides must have the same names, each once")
    apart: Any = tensor.reshape([sizes[name] for name in names])
    kept = [name for name in wanted if not name.isdigit()]
    ones = [i for i, name in enumerate(names) if name.isdigit()]
    moved = apart.permute([names.index(name) for name in kept] + ones)
    joined: Tensor = moved.reshape([math.prod(sizes[n] for n in group) for group in right])
    return joined


def _wrong(pattern: str, why: str) -> ValueError:
    return ValueError(
        f"rearrange: the pattern {pattern!r} does not fit: {why}" + errors.at_user_line()
    )


def _side(text: str, pattern: str) -> Side:
    groups: Side = []
    for match in _PART.finditer(text):
        inner, dots, name = match.groups()
        groups.append(_UNNAMED if dots else [name] if inner is None else inner.split())
    flat = [name for group in groups for name in group if not name.isdigit()]
    if len(set(flat)) != len(flat):
        raise _wrong(pattern, "a name occurs twice on one side")
    return groups


def _spelled_out(side: Side, rest: Sequence[str]) -> Side:
    """`...` replaced by names of its dimensions: one each, or joined where it is in parentheses."""
    result: Side = []
    for group in side:
        if group is _UNNAMED:
            result.extend([name] for name in rest)
        else:
            result.append([n for name in group for n in (rest if name == "..." else (name,))])
    return result


def _sizes(
    groups: Side, shape: Sequence[int], given: dict[str, int], pattern: str
) -> dict[str, int]:
    sizes = {"1": 1, **given}
    for group, size in zip(groups, shape, strict=True):
        unknown = [name for name in group if name not in sizes]
        known = math.prod(sizes[name] for name in group if name in sizes)
        if len(unknown) > 1:
            raise _wrong(pattern, f"give the sizes of all but one of {', '.join(unknown)}")
        if unknown:
            sizes[unknown[0]] = size // known if known else 0
        if math.prod(sizes[name] for name in group) != size:
            raise _wrong(pattern, f"({' '.join(group)}) is a dimension of size {size}")
    return sizes
