"""What losses ask of an input and its target: that they fit each other."""

from __future__ import annotations

import warnings

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.ops.define.rows import require_tensors
from clew.ops.shape.views import broadcast_tensors
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


def paired(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Input and target broadcast to one shape and converted to one dtype."""
    if input._array.shape != target._array.shape:
        input, target = broadcast_tensors(input, target)
    if input.dtype is not target.dtype:
        common = dtypes.promote_types(input.dtype, target.dtype)
        input, target = input.to(common), target.to(common)
    return input, target


def require_float(torch_kernel: str, input: Tensor) -> None:
    """Refuse other numbers than real ones, in the words of PyTorch's kernel."""
    have = input.dtype
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
