"""How the operands of a function must lie so that ranks compute it on their parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from clew import errors
from clew.backend.device import device
from clew.core.tensor import Tensor
from clew.distributed.tensor import moves
from clew.distributed.tensor.dtensor import DTensor, wrapped
from clew.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from clew.ops.create.constants import empty

Placements = Sequence[Placement]


def tensors_in(values: Any) -> list[DTensor]:
    """The tensors in parts among arguments, also in lists."""
    found = []
    for value in values:
        if isinstance(value, DTensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_in(value)
    return found


def mesh_of(name: str, tensors: Sequence[DTensor]) -> Any:
    """The mesh of all operands, which must be one."""
    for each in tensors:
        if each._mesh != tensors[0]._mesh:
            raise ValueError(
                f"{name}: the operands are on different meshes, {tensors[0]._mesh} and "
                f"{each._mesh}" + errors.at_user_line()
            )
        if each._inner is not None:
            raise NotImplementedError(
                f"{name}: a parameter of fully_shard that was cut for tensor parallelism before; "
                "use .full_tensor()" + errors.at_user_line()
            )
    return tensors[0]._mesh


def local_in(x: DTensor, wanted: Placements, terms: Collection[int] = ()) -> Tensor:
    """A tensor's part in another layout, as a plain tensor.

    Along the dimensions of the mesh in `terms` ranks use the same values for different parts of
    the result: each has a term of the gradient, and these are summed.
    """
    moved = x if tuple(wanted) == x._placements else x.redistribute(placements=wanted)
    part = moved.to_local()
    for dim in terms:
        part = moves.share(part, x._mesh.get_group(dim))
    return part


def replaced(values: Any, change: Callable[[DTensor], Any]) -> Any:
    """Arguments with tensors in parts changed by a function, also in lists."""
    if isinstance(values, DTensor):
        return change(values)
    if isinstance(values, (list, tuple)) and any(isinstance(v, (DTensor, list)) for v in values):
        return type(values)(replaced(each, change) for each in values)
    return values


def whole_shapes(func: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What a function would return for whole tensors: tensors without memory."""

    def without_memory(x: DTensor) -> Tensor:
        return empty(x._whole, dtype=x.dtype, device=device("meta"))

    def change(value: Any) -> Any:
        if isinstance(value, Tensor) and not isinstance(value, DTensor) and value.dim():
            return empty(tuple(value.shape), dtype=value.dtype, device=device("meta"))
        return replaced(value, without_memory)

    return func(*map(change, args), **{name: change(value) for name, value in options.items()})


def without_terms(x: DTensor) -> DTensor:
    """The same tensor with sums made where ranks have terms of them."""
    if not any(isinstance(each, Partial) for each in x._placements):
        return x
    return x.redistribute(
        placements=[Replicate() if isinstance(p, Partial) else p for p in x._placements]
    )


def results(parts: Any, whole: Any, mesh: Any, placements: Placements) -> Any:
    """What a function returned for parts, as tensors in parts."""
    if isinstance(parts, Tensor):
        return wrapped(parts, mesh, placements, tuple(whole.shape))
    if isinstance(parts, (list, tuple)):
        made = [results(p, w, mesh, placements) for p, w in zip(parts, whole)]
        return type(parts)(*made) if hasattr(parts, "_fields") else type(parts)(made)
    return parts


def gathered_result(func: Callable[..., Any], args: tuple[Any, ...], options: Any) -> Any:
    """A function of whole tensors, computed by all ranks alike."""
    tensors = tensors_in([*args, *options.values()])
    mesh = mesh_of(getattr(func, "__name__", ""), tensors)
    whole = [Replicate()] * mesh.ndim

    def change(x: DTensor) -> Tensor:
        return local_in(x, whole)

    parts = func(
        *(replaced(each, change) for each in args),
        **{name: replaced(each, change) for name, each in options.items()},
    )
    return results(parts, parts, mesh, whole)


def shard_dims(x: DTensor) -> set[int]:
    """The dimensions along which a tensor is cut."""
    return {each.dim for each in x._placements if isinstance(each, Shard)}


def fills_parts(x: DTensor, dim: int) -> bool:
    """Whether a dimension is so long that, wherever it is cut, no rank has an empty part."""
    return x._whole[dim] >= x._mesh.size() ** 2


def freed(x: DTensor, dims: Collection[int]) -> DTensor:
    """The same tensor, cut along none of some dimensions."""
    if not shard_dims(x) & set(dims):
        return x
    return x.redistribute(
        placements=[
            Replicate() if isinstance(p, Shard) and p.dim in dims else p for p in x._placements
        ]
    )
