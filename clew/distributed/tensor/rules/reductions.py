"""Sums and other reductions, and functions along dimensions as softmax and the norms."""

from __future__ import annotations

from typing import Any

from clew.core.tensor import Tensor
from clew.distributed.tensor.dtensor import SPECIAL, DTensor, wrapped
from clew.distributed.tensor.layouts import (
    freed,
    local_in,
    results,
    shard_dims,
    tensors_in,
    whole_shapes,
    without_terms,
)
from clew.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from clew.distributed.tensor.rules.stages import in_stages

_REDUCED = """
    amax amin all any argmax argmin prod var std max min logsumexp count_nonzero median nansum
    nanmean aminmax
"""
_ALONG_ONE = "softmax log_softmax softmin cumsum cumprod logcumsumexp sort argsort flip"
# Where the dimension is among the arguments.
_ALONG = {**dict.fromkeys(_ALONG_ONE.split(), 1), "topk": 2, "kthvalue": 2, "normalize": 2}


def _dims(x: DTensor, given: Any) -> list[int]:
    """The dimensions that are meant; all if none is said."""
    if given is None or given == ():
        return list(range(len(x._whole)))
    each = given if isinstance(given, (list, tuple)) else [given]
    return [dim % max(1, len(x._whole)) for dim in each]


def _after(placements: Any, dims: list[int], keeps: bool) -> list[Placement]:
    """The layout of what is left of dimensions."""
    found: list[Placement] = []
    for placement in placements:
        if isinstance(placement, Shard) and not keeps:
            found.append(Shard(placement.dim - sum(d < placement.dim for d in dims)))
        else:
            found.append(placement)
    return found


def _keeps(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    return bool(options.get("keepdim", args[1] if len(args) > 1 else False))


def summed(func: Any, x: DTensor, *args: Any, **options: Any) -> DTensor:
    """A sum or mean: of a dimension that is cut, each rank has a term."""
    dims = _dims(x, options.get("dim", options.get("axis", args[0] if args else None)))
    whole = whole_shapes(func, (x, *args), options)
    wanted: list[Placement] = [
        Partial() if isinstance(p, Shard) and p.dim in dims else p for p in x._placements
    ]
    wanted = _after(wanted, dims, _keeps(args, options))
    count = 1
    part = x.to_local()
    if func.__name__ == "mean":
        for dim in dims:
            count *= x._whole[dim]
        part = part.to(whole.dtype)
        result = part.sum(dims, _keeps(args, options)) / count
        if options.get("dtype") is not None:
            result = result.to(options["dtype"])
    else:
        result = func(part, *args, **options)
    return wrapped(result, x._mesh, wanted, tuple(whole.shape))


def reduced(func: Any, x: DTensor, *args: Any, **options: Any) -> Any:
    """Another reduction: in stages, or a dimension that is reduced must be whole."""
    if tensors_in([*args, *options.values()]):
        # `max(a, b)` is a function of elements.
        return SPECIAL["maximum"](func, x, *args, **options)
    given = options.get("dim", options.get("axis", args[0] if args else None))
    is_unbiased = isinstance(given, bool)
    dims = _dims(x, None if is_unbiased else given)
    x = without_terms(x)
    if shard_dims(x) & set(dims) and (made := in_stages(func, x, dims, args, options)) is not None:
        return made
    x = freed(x, dims)
    whole = whole_shapes(func, (x, *args), options)
    shown = whole if isinstance(whole, Tensor) else whole[0]
    keeps = len(shown.shape) == len(x._whole)
    parts = func(x.to_local(), *args, **options)
    return results(parts, whole, x._mesh, _after(x._placements, dims, keeps))


def along(func: Any, x: DTensor, *args: Any, **options: Any) -> Any:
    """A function along a dimension, which must be whole."""
    place = _ALONG[func.__name__]
    given = options.get("dim", options.get("dims"))
    if given is None:
        default = 1 if func.__name__ == "normalize" else -1
        given = args[place - 1] if len(args) >= place else default
    x = freed(without_terms(x), _dims(x, given))
    parts = func(x.to_local(), *args, **options)
    whole = whole_shapes(func, (x, *args), options)
    return results(parts, whole, x._mesh, x._placements)


def normalized(
    func: Any, x: DTensor, normalized_shape: Any, weight: Any = None, *rest: Any, **options: Any
) -> DTensor:
    """Layer norm and RMS norm: over the last dimensions, which must be whole."""
    count = len(normalized_shape)
    x = freed(without_terms(x), range(len(x._whole) - count, len(x._whole)))
    cut = [dim for dim, p in enumerate(x._placements) if isinstance(p, Shard)]

    def shared(value: Any) -> Any:
        if not isinstance(value, DTensor):
            return value
        return local_in(value, [Replicate()] * x._mesh.ndim, cut)

    part = func(
        x.to_local(), normalized_shape, shared(weight), *map(shared, rest),
        **{name: shared(value) for name, value in options.items()},
    )  # fmt: skip
    return wrapped(part, x._mesh, x._placements, x._whole)


SPECIAL.update(dict.fromkeys(_REDUCED.split(), reduced))
SPECIAL.update(dict.fromkeys(_ALONG, along))
SPECIAL.update(sum=summed, mean=summed, layer_norm=normalized, rms_norm=normalized)
