"""State dicts as PyTorch's checkpoints name their values: nested ones become one dict of paths.

Dicts are taken apart, lists if there are tensors or dicts in them; other values stay whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from clew.core.tensor import Tensor
from clew.distributed.tensor import moves
from clew.distributed.tensor.dtensor import DTensor
from clew.distributed.tensor.placement_types import Shard

Path = tuple[str | int, ...]


def flattened(state: Mapping[str, Any]) -> dict[str, tuple[Path, Any]]:
    """The path and the value of each name."""
    return {".".join(map(str, path)): (path, value) for path, value in _leaves((), state)}


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves((*path, str(key)), each)
    elif isinstance(value, list) and not _is_whole(value):
        for place, each in enumerate(value):
            yield from _leaves((*path, place), each)
    else:
        yield path, value


def _is_whole(values: list[Any]) -> bool:
    """Whether a list is saved as one value."""
    return not any(
        isinstance(each, (Tensor, Mapping)) or (isinstance(each, list) and not _is_whole(each))
        for each in values
    )


def put(state: Any, path: Path, value: Any) -> None:
    """Put a value at the place in a nested state that a path names."""
    for step in path[:-1]:
        state = state[_key_of(state, step)]
    state[_key_of(state, path[-1])] = value


def value_at(state: Any, path: Path) -> Any:
    """The value at the place in a nested state that a path names."""
    for step in path:
        state = state[_key_of(state, step)]
    return state


def _key_of(state: Any, step: str | int) -> Any:
    """Paths have the texts of keys: the key itself may be a number."""
    if isinstance(state, Mapping) and step not in state:
        return next((key for key in state if str(key) == step), step)
    return step


def nested(values: Mapping[str, Any], paths: Mapping[str, Path]) -> dict[str, Any]:
    """The nested state whose values have these names and paths."""
    root: dict[Any, Any] = {}
    for name, value in values.items():
        at: Any = root
        path = paths.get(name, (name,))
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = value
    return _with_lists(root)


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    made = {key: _with_lists(each) for key, each in value.items()}
    if made and all(isinstance(key, int) for key in made):
        return [made[key] for key in sorted(made)]
    return made


# -- parts of tensors ------------------------------------------------------------------------------


class Box(NamedTuple):
    """The part of a tensor that this rank has."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    whole: tuple[int, ...]


def box_of(tensor: Tensor) -> Box:
    """Where in the whole the part of a tensor lies."""
    if not isinstance(tensor, DTensor):
        shape = tuple(tensor.shape)
        return Box((0,) * len(shape), shape, shape)
    specs = [(tensor._mesh, tensor._placements)]
    whole = tuple(tensor.shape)
    if tensor._inner is not None:
        specs.insert(0, tensor._inner[:2])
        whole = tuple(tensor._inner[2])
    offsets, lengths = [0] * len(whole), list(whole)
    for mesh, placements in specs:
        for dim, placement in enumerate(placements):
            # A number is cut as a row of one: one rank has it.
            if isinstance(placement, Shard) and whole:
                at = placement.dim
                start, end = moves.bounds(lengths[at], mesh.size(dim), mesh.get_local_rank(dim))
                offsets[at] += start
                lengths[at] = end - start
    if not whole:
        return Box((), () if tensor._array.size else (0,), ())
    return Box(tuple(offsets), tuple(lengths), whole)


def box_at(offsets: Iterable[int], lengths: Iterable[int]) -> tuple[Any, ...]:
    """The index of a box in an array; of a number too it gives an array."""
    return (*(slice(o, o + n) for o, n in zip(offsets, lengths)), ...)
