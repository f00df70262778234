"""Which part of a tensor a process has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.distributed.tensor.placement_types import Placement, Shard

__all__ = ["compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: Any, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part of a tensor, and where in the tensor it begins."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    coordinate = mesh.get_coordinate()
    for place, placement in enumerate(placements):
        if isinstance(placement, Shard):
            dim = placement.dim % len(shape)
            part = -(-shape[dim] // mesh.size(place))
            start = min(coordinate[place] * part, shape[dim])
            offset[dim] += start
            shape[dim] = min(part, shape[dim] - start)
    return tuple(shape), tuple(offset)
