"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.shape.joining import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other; gradients flow back."""
    return cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let each parameter take its part of the vector; they share its memory from then on."""
    if not isinstance(vec, Tensor):
        raise TypeError(
            f"expected torch.Tensor, but got: {type(vec).__name__}" + errors.at_user_line()
        )
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        # `data` is put on the class by the operations, which mypy does not see.
        parameter.data = vec[start:end].view_as(parameter).data  # type: ignore[attr-defined]
        start = end
