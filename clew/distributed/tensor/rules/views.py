"""Views: other shapes and orders of dimensions. Each part is viewed as the whole would be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew.core.tensor import Tensor, wrap
from clew.distributed.tensor.dtensor import SPECIAL, DTensor, wrapped
from clew.distributed.tensor.layouts import (
    freed,
    gathered_result,
    replaced,
    results,
    tensors_in,
    whole_shapes,
    without_terms,
)
from clew.distributed.tensor.placement_types import Placement, Shard

# -- order of dimensions, and parts of them --------------------------------------------------------

_IN_ORDER = """
    transpose swapaxes swapdims t permute movedim moveaxis unsqueeze squeeze select narrow unbind
    split chunk tensor_split getitem adjoint
"""


def _traced(func: Any, x: DTensor, args: Any, options: Any) -> Any:
    """What a view does to an array without memory, whose strides tell its dimensions apart."""
    strides = [8 * (place + 1) for place in range(len(x._whole))]
    dummy = np.lib.stride_tricks.as_strided(np.zeros(1), x._whole, strides)
    return func(wrap(dummy), *args, **options)


def _moved(placements: Sequence[Placement], x: DTensor, view: Tensor) -> list[Placement] | None:
    """Where cut dimensions are in a view; None if one of them is not there as it was."""
    found: list[Placement] = []
    strides = view._array.strides
    for placement in placements:
        if not isinstance(placement, Shard):
            found.append(placement)
            continue
        length, stride = x._whole[placement.dim], 8 * (placement.dim + 1)
        at = [d for d, (s, n) in enumerate(zip(strides, view.shape)) if s == stride and n == length]
        if length == 1 or not at:
            return None
        found.append(Shard(at[0]))
    return found


def in_order(func: Any, x: DTensor, *args: Any, **options: Any) -> Any:
    """A view that keeps elements' neighbours: each rank takes that of its part."""
    if tensors_in([*args, *options.values()]) or any(
        isinstance(each, (Tensor, list)) for each in _indices(args)
    ):
        return gathered_result(func, (x, *args), options)
    view = _traced(func, x, args, options)
    views = [view] if isinstance(view, Tensor) else list(view)
    moved = [_moved(x._placements, x, each) for each in views]
    if any(each is None or each != moved[0] for each in moved) or not views:
        # A dimension that is cut is looked into.
        cut = {p.dim for p in x._placements if isinstance(p, Shard)}
        bad = {d for d in cut if any(_moved([Shard(d)], x, each) is None for each in views)}
        x = freed(x, bad or cut)
        moved = [_moved(x._placements, x, each) for each in views]
    parts = func(x.to_local(), *args, **options)
    wanted = moved[0] if moved and moved[0] is not None else x._placements
    return results(parts, view, x._mesh, wanted)


def _indices(args: Any) -> list[Any]:
    found = []
    for each in args:
        found += list(each) if isinstance(each, tuple) else [each]
    return found


SPECIAL.update(dict.fromkeys(_IN_ORDER.split(), in_order))

# -- shapes ----------------------------------------------------------------------------------------

_SHAPES = "view reshape flatten unflatten view_as reshape_as ravel"


def _groups(one: Sequence[int], other: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Dimensions of two shapes that have the same elements, from the left."""
    groups = []
    i = j = 0
    while i < len(one) or j < len(other):
        mine, theirs = [i] if i < len(one) else [], [j] if j < len(other) else []
        a, b = math.prod(one[k] for k in mine), math.prod(other[k] for k in theirs)
        i, j = i + len(mine), j + len(theirs)
        while a != b:
            if a < b:
                a *= one[i]
                mine.append(i)
                i += 1
            else:
                b *= other[j]
                theirs.append(j)
                j += 1
        groups.append((mine, theirs))
    return groups


def _reshaped(
    placement: Shard, x: DTensor, groups: list[tuple[list[int], list[int]]],
    shape: Sequence[int], parts: int,
) -> int | None:  # fmt: skip
    """The dimension of the result that is cut where a dimension of `x` is; None if there is none.

    That is the first of those with the same elements, if all ranks' parts are equally long.
    """
    for mine, theirs in groups:
        if placement.dim in mine:
            outer = [d for d in mine if x._whole[d] != 1]
            first = next((d for d in theirs if shape[d] != 1), None)
            if first is None or outer[:1] != [placement.dim]:
                return None
            if len(outer) == 1 and len([d for d in theirs if shape[d] != 1]) == 1:
                return first
            even = x._whole[placement.dim] % parts == 0 and shape[first] % parts == 0
            return first if even else None
    return None


def reshaped(func: Any, x: DTensor, *args: Any, **options: Any) -> Any:
    """Another shape of the same elements, of which each rank has those of its part."""
    if func.__name__ == "view" and args and not isinstance(args[0], (int, tuple, list)):
        # Another dtype.
        return wrapped(func(x.to_local(), *args), x._mesh, x._placements, x._whole)
    whole = whole_shapes(func, (x, *args), options)
    shape = tuple(whole.shape)
    if 0 in shape:
        return gathered_result(func, (x, *args), options)
    groups = _groups(x._whole, shape)
    bad = []
    for _dim, placement in enumerate(x._placements):
        if isinstance(placement, Shard):
            size = math.prod(x._mesh.size(d) for d, p in enumerate(x._placements) if p == placement)
            if _reshaped(placement, x, groups, shape, size) is None:
                bad.append(placement.dim)
    x = freed(x, bad)
    wanted: list[Placement] = []
    local = list(shape)
    for placement in x._placements:
        if isinstance(placement, Shard):
            at = _reshaped(placement, x, groups, shape, 1)
            assert at is not None
            wanted.append(Shard(at))
        else:
            wanted.append(placement)
    for placement in set(wanted):
        if isinstance(placement, Shard):
            source = next(p for p, w in zip(x._placements, wanted) if w == placement)
            assert isinstance(source, Shard)
            ratio = x._array.shape[source.dim], x._whole[source.dim]
            local[placement.dim] = shape[placement.dim] * ratio[0] // ratio[1]
    part = x.to_local().reshape(tuple(local))
    return wrapped(part, x._mesh, wanted, shape)


def complex_of(func: Any, x: DTensor) -> DTensor:
    """Pairs of numbers as complex ones: pairs stay together."""
    x = freed(x, [len(x._whole) - 1])
    return wrapped(func(x.to_local()), x._mesh, x._placements, x._whole[:-1])


def pairs_of(func: Any, x: DTensor) -> DTensor:
    """Complex numbers as pairs."""
    return wrapped(func(x.to_local()), x._mesh, x._placements, (*x._whole, 2))


SPECIAL.update(dict.fromkeys(_SHAPES.split(), reshaped))
SPECIAL.update(view_as_complex=complex_of, view_as_real=pairs_of)


def expanded(func: Any, x: DTensor, *sizes: Any, **options: Any) -> DTensor:
    """The same elements over and over, along dimensions of which each has one."""
    whole = tuple(whole_shapes(func, (x, *sizes), options).shape)
    added = len(whole) - len(x._whole)
    x = freed(x, [d for d, n in enumerate(x._whole) if whole[d + added] != n])
    wanted = [Shard(p.dim + added) if isinstance(p, Shard) else p for p in x._placements]
    local = list(whole)
    for placement in wanted:
        if isinstance(placement, Shard):
            local[placement.dim] = x._array.shape[placement.dim - added]
    return wrapped(x.to_local().expand(tuple(local)), x._mesh, wanted, whole)


SPECIAL.update(expand=expanded, expand_as=expanded, broadcast_to=expanded)

# -- several as one --------------------------------------------------------------------------------


def joined(func: Any, tensors: Any, *args: Any, **options: Any) -> Any:
    """Tensors one behind the other, or as slices of a new dimension."""
    given = tensors_in(tensors)
    if len(given) != len(tensors):
        return gathered_result(func, (tensors, *args), options)
    ndim = len(given[0]._whole)
    dim = options.get("dim", options.get("axis", args[0] if args else 0))
    is_new = func.__name__ == "stack"
    at = dim % (ndim + is_new)
    first = without_terms(given[0])
    first = first if is_new else freed(first, [at])
    same = [
        replaced(each, lambda x: x.redistribute(placements=first._placements)) for each in given
    ]
    whole = whole_shapes(func, (tensors, *args), options)
    parts = func([each.to_local() for each in same], *args, **options)
    wanted = [
        Shard(p.dim + 1) if is_new and isinstance(p, Shard) and p.dim >= at else p
        for p in first._placements
    ]
    return results(parts, whole, first._mesh, wanted)


SPECIAL.update(cat=joined, concat=joined, concatenate=joined, stack=joined)
