"""What losses ask of an input and its target: that they fit each other."""

from __future__ import annotations

import warnings

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.kernels.numpy.conversion import converted
from clew.ops.define.rows import require_tensors
from clew.ops.shape.broadcasting import broadcast_tensors
from clew.source import user_stacklevel


def require_same_shape(function: str, input: Tensor, target: Tensor) -> None:
    """Refuse shapes that only broadcasting makes equal; a single number goes with every shape.

    Shapes that do not broadcast either are left to the operations, which say so.
    """
    a, b = input._array, target._array
    if a.shape == b.shape or a.size == 1 or b.size == 1:
        return
    if errors.broadcast_mismatch(function, a.shape, b.shape) is None:
        raise errors.loss_shapes(function, a.shape, b.shape)


def check_pair(function: str, input: Tensor, target: Tensor) -> None:
    """Refuse what is not a tensor, and other shapes; warn of a number against many."""
    require_tensors(function, input=input, target=target)
    if input._array.shape != target._array.shape:
        require_same_shape(function, input, target)
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=user_stacklevel(),
        )


def paired(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor, dtypes.dtype]:
    """Input and target broadcast to one shape, and the dtype in which they are compared.

    They are not converted here: as in PyTorch, the loss saves what it was given.
    """
    if input._array.shape != target._array.shape:
        input, target = broadcast_tensors(input, target)
    common = input.dtype
    if common is not target.dtype:
        common = dtypes.promote_types(common, target.dtype)
    return input, target, common


def in_one_dtype(self: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of one shape, converted to the dtype in which they are compared."""
    if self.dtype is target.dtype:
        return self, target
    common = dtypes.promote_types(dtypes.of_array(self), dtypes.of_array(target)).np
    return converted(self, common), converted(target, common)


def require_float(torch_kernel: str, have: dtypes.dtype) -> None:
    """Refuse other numbers than real ones, in the words of PyTorch's kernel."""
    if have.category != dtypes.FLOAT:
        raise errors.no_kernel(torch_kernel, have)


def check_factor(function: str, factor: Tensor, input: Tensor) -> None:
    """Refuse weights that would broadcast the losses to another shape than the input's."""
    have, wanted = factor._array.shape, input._array.shape
    mismatch = errors.broadcast_mismatch(function, have, wanted)
    if mismatch is not None:
        raise mismatch
    result = np.broadcast_shapes(have, wanted)
    if result != wanted:
        raise errors.in_place_shape(wanted, result)
