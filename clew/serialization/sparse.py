"""Sparse tensors in files: a layout, the parts and the size."""

from __future__ import annotations

from typing import Any

from clew.backend import layout as layouts
from clew.core.tensor import Size, Tensor
from clew.ops.sparse.construction import sparse_compressed_tensor, sparse_coo_tensor
from clew.ops.sparse.tensor import COMPRESSED, COO


def parts_of(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """What a file has of a sparse tensor."""
    if tensor._kind is COO:
        indices, values = tensor._parts
        # Without its gradient: `_values()` are no part of a graph.
        return COO, (indices, values.detach(), tensor.shape, tensor._is_merged)
    return tensor._kind, (*tensor._parts, tensor.shape)


def rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """The tensor of what a file has; every index is looked at."""
    if not isinstance(layout, layouts.layout) or not isinstance(data, tuple):
        raise TypeError("a sparse tensor is made of a layout and its parts")
    count = 2 if layout is COO else 3
    parts: list[Any] = list(data[:count])
    if not all(isinstance(part, Tensor) and not part._is_unstrided for part in parts):
        raise TypeError("the parts of a sparse tensor are strided tensors")
    size = Size(data[count])
    if layout is COO:
        is_coalesced = bool(data[3]) if len(data) > 3 else None
        return sparse_coo_tensor(
            parts[0], parts[1], size, check_invariants=True, is_coalesced=is_coalesced
        )
    if layout not in COMPRESSED:
        raise TypeError(f"{layout!r} is no sparse layout")
    return sparse_compressed_tensor(
        parts[0], parts[1], parts[2], size, layout=layout, check_invariants=True
    )
