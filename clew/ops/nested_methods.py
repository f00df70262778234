"""The method of strided tensors that is about nested ones. They have a rule of their own for it."""

from __future__ import annotations

from typing import Any

from clew.core.public import methods
from clew.core.tensor import Tensor
from clew.core.unstrided import could_not_run


def to_padded_tensor(self: Tensor, padding: float, output_size: Any = None) -> Tensor:
    """The components of a nested tensor side by side, filled up to one size.

    Args:
        padding: the number to fill up with
        output_size: the size of the result; None takes the greatest of each dimension

    Example:
        >>> x = clew.nested.nested_tensor([clew.ones(1), clew.ones(2)])
        >>> x.to_padded_tensor(0.0)
        tensor([[1., 0.],
                [1., 1.]])
    """
    raise could_not_run("to_padded_tensor", "CPU")


methods(to_padded_tensor=to_padded_tensor)
