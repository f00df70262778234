"""Functions that pickles of PyTorch's name, and the flattening of lists of tensors.

`clew.load` has its own table of such names; these are for pickles that Python's `pickle` reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.core.tensor import Tensor
from clew.nn.utils.convert_parameters import parameters_to_vector
from clew.serialization.storages import (
    rebuild_parameter as _rebuild_parameter,
)
from clew.serialization.storages import (
    rebuild_parameter_with_state as _rebuild_parameter_with_state,
)
from clew.serialization.storages import rebuild_tensor as _rebuild_tensor
from clew.serialization.storages import rebuild_tensor_v2 as _rebuild_tensor_v2
from clew.serialization.storages import rebuild_tensor_v3 as _rebuild_tensor_v3

__all__ = [
    "_flatten_dense_tensors", "_rebuild_parameter", "_rebuild_parameter_with_state",
    "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_unflatten_dense_tensors",
]  # fmt: skip


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in one vector."""
    return parameters_to_vector(tensors)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a vector in the shapes of the tensors that were flattened."""
    parts = flat.split([each.numel() for each in tensors])
    return tuple(part.view(each.shape) for part, each in zip(parts, tensors))
