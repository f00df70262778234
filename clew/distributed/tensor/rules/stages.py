"""Reductions of dimensions that are cut: ranks exchange the results for their parts only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clew.distributed.tensor import moves
from clew.distributed.tensor.dtensor import DTensor, wrapped
from clew.distributed.tensor.layouts import fills_parts, freed, shard_dims
from clew.distributed.tensor.placement_types import Placement, Replicate, Shard


def in_stages(
    func: Callable[..., Any], x: DTensor, dims: list[int], args: Any, options: dict[str, Any]
) -> DTensor | None:
    """A reduction of parts first, and then of what came of them; None where there is no such."""
    stage = _STAGES.get(func.__name__)
    given = dict(zip(("dim", "keepdim"), args)) | options
    known = {"dim", "keepdim", "correction"} if stage is _spread else {"dim", "keepdim"}
    if stage is None or len(args) > 2 or given.keys() - known:
        return None
    if stage is _spread and (len(args) > 1 or isinstance(given.get("dim"), bool)):
        # Here the second is `unbiased`.
        return None
    if func.__name__ in ("max", "min") and given:
        # The places are asked for as well.
        return None
    # A part without elements has no result.
    if not all(fills_parts(x, dim) for dim in shard_dims(x) & set(dims)):
        return None
    made = stage(func, x, dims, given)
    if given.get("keepdim"):
        return made
    for dim in sorted(dims, reverse=True):
        made = made.squeeze(dim)
    return made


def _associative(func: Any, x: DTensor, dims: list[int], given: dict[str, Any]) -> Any:
    """The reduction of the reductions of parts is that of the whole."""
    for dim in dims:
        part = func(x.to_local(), dim, keepdim=True)
        shape = list(x._whole)
        shape[dim] = 1
        for at, placement in enumerate(x._placements):
            if placement == Shard(dim):
                shape[dim] *= x._mesh.size(at)
        x = freed(wrapped(part, x._mesh, x._placements, tuple(shape)), [dim])
        if shape[dim] > 1:
            shape[dim] = 1
            part = func(x.to_local(), dim, keepdim=True)
            x = wrapped(part, x._mesh, x._placements, tuple(shape))
    return x


def _extreme(func: Any, x: DTensor, dims: list[int], given: dict[str, Any]) -> Any:
    """The greatest or least element; its gradient is shared by all that are equal to it."""
    cut = [isinstance(p, Shard) and p.dim in dims for p in x._placements]
    groups = [x._mesh.get_group(at) for at, is_cut in enumerate(cut) if is_cut]
    part = moves.extreme(x.to_local(), tuple(dims), func.__name__.endswith("max"), groups)
    wanted: list[Placement] = [Replicate() if c else p for p, c in zip(x._placements, cut)]
    shape = tuple(1 if dim in dims else n for dim, n in enumerate(x._whole))
    return wrapped(part, x._mesh, wanted, shape)


def _spread(func: Any, x: DTensor, dims: list[int], given: dict[str, Any]) -> Any:
    """Variance and standard deviation, from the mean of the whole."""
    correction = given.get("correction")
    count = math.prod(x._whole[dim] for dim in dims) - (1 if correction is None else correction)
    squares: Any = (x - x.mean(dims, keepdim=True)).abs().square()
    variance = squares.sum(dims, keepdim=True) / max(0, count)
    return variance.sqrt() if func.__name__ == "std" else variance


_STAGES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(["prod", "all", "any", "logsumexp"], _associative),
    **dict.fromkeys(["amax", "amin", "max", "min"], _extreme), "var": _spread, "std": _spread,
}  # fmt: skip
