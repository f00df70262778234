"""The operations that lead from values to sparse tensors and back; the others are made of them.

    SPARSE     values -> the sparse tensor that has them at given places
    VALUES     its values
    PICK       the elements of any tensor at the places of a sparse one, as a strided tensor

Their gradients are each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp
from clew.kernels.numpy.scatter import add_at
from clew.ops.sparse.tensor import (
    COO,
    coordinates,
    dense_dims,
    flat_places,
    is_sparse,
    like,
    merged,
)

Array = np.ndarray


def dense_array(tensor: Tensor) -> Array:
    """All elements of a sparse tensor, in a strided array."""
    shape, values = tensor._layout.shape, tensor._parts[-1]._array
    out = np.zeros(shape, values.dtype)
    places = coordinates(tensor)
    if not places:
        # Without sparse dimensions all values are at the same place.
        return np.asarray(values.sum(0)).astype(values.dtype).reshape(shape)
    places = tuple(np.broadcast_arrays(*places))
    if tensor._kind is COO and not tensor._is_merged:
        if values.dtype == bool:
            np.logical_or.at(out, places, values)
            return out
        return add_at(out, places, values)
    out[places] = values
    return out


def picked(source: Tensor, places_of: Tensor) -> Tensor:
    """The elements of a tensor of the same shape where a sparse one lists its own."""
    if is_sparse(source):
        if _same_places(source, places_of):
            return wrap(source._parts[-1]._array.copy())
        return wrap(_looked_up(source, places_of))
    places = coordinates(places_of)
    if not places:
        count = places_of._parts[-1]._array.shape[0]
        return wrap(np.repeat(source._array[None], count, 0))
    return wrap(np.ascontiguousarray(source._array[tuple(np.broadcast_arrays(*places))]))


def _same_places(one: Tensor, other: Tensor) -> bool:
    return one._kind is other._kind and all(
        a is b or a._array is b._array
        for a, b in zip(one._parts[:-1], other._parts[:-1], strict=True)
    )


def _looked_up(source: Tensor, places_of: Tensor) -> Array:
    """What a sparse tensor has at the places of another; zero where it lists nothing."""
    dense = dense_dims(places_of)
    shape = source._layout.shape
    leading = shape[: len(shape) - dense]
    if len(leading) != len(coordinates(source)):
        # Their dense dimensions differ: the source's elements are picked from a strided array.
        return picked(wrap(dense_array(source)), places_of)._array
    values = source._parts[-1]._array
    if source._kind is COO:
        source = merged(source)
        values = source._parts[-1]._array
    have = flat_places(coordinates(source), leading).reshape(-1)
    tail = values.shape[values.ndim - dense :] if dense else ()
    values = values.reshape(have.size, *tail)
    order = np.argsort(have, kind="stable")
    have, values = have[order], values[order]
    wanted = np.broadcast_arrays(flat_places(coordinates(places_of), leading))[0]
    at = np.searchsorted(have, wanted)
    inside = np.minimum(at, max(have.size - 1, 0))
    out = np.zeros((*wanted.shape, *tail), values.dtype)
    if have.size:
        found = have[inside] == wanted
        out[found] = values[inside[found]]
    return out


def _values(self: Tensor) -> Tensor:
    return wrap(self._parts[-1]._array.copy())


def _picked_of(g: Tensor, places: Tensor) -> Tensor:
    result: Tensor = PICK(g, places=places)
    return result


SPARSE = LayoutOp(
    "sparse_coo_tensor", lambda values, *, places: like(places, values),
    grads={"values": lambda g, places: _picked_of(g, places)},
    node="SparseCooTensorWithDimsAndTensorsBackward0",
)  # fmt: skip
COMPRESSED_SPARSE = LayoutOp(
    "sparse_compressed_tensor", lambda values, *, places: like(places, values),
    grads={"values": lambda g, places: _picked_of(g, places)},
    node="SparseCompressedTensorBackward0",
)  # fmt: skip
PICK = LayoutOp(
    "sparse_values_at", lambda self, *, places: picked(self, places),
    grads={"self": lambda g, places: SPARSE(g, places=places)},
)  # fmt: skip


class _ValuesOp(LayoutOp):
    """The values share memory with the sparse tensor, as they do in PyTorch."""

    def compute(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return inputs[0]._parts[-1].detach()


VALUES = _ValuesOp(
    "sparse_values", _values,
    grads={"self": lambda g, self: SPARSE(g, places=self.without_history())},
    node="ValuesBackward0",
)  # fmt: skip


def through_values(tensor: Tensor, function: Any) -> Tensor:
    """A sparse tensor with a function of the values, at the same places."""
    result: Tensor = SPARSE(
        function(VALUES(tensor)) if tensor.requires_grad else function(tensor._parts[-1]),
        places=tensor.without_history(),
    )
    return result
