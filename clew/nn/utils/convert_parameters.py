"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.shape.joining import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other; gradients flow back.

    Args:
        parameters: an iterable of tensors

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> nn.utils.parameters_to_vector(layer.parameters()).shape
        torch.Size([8])
    """
    return cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let each parameter take its part of the vector; they share its memory from then on.

    Args:
        vec: the vector, as `parameters_to_vector` gives it
        parameters: the tensors to fill, in the same order

    Example:
        >>> layer = nn.Linear(1, 2)
        >>> nn.utils.vector_to_parameters(clew.tensor([1.0, 2, 3, 4]), layer.parameters())
        >>> layer.bias
        Parameter containing:
        tensor([3., 4.], requires_grad=True)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(
            f"expected torch.Tensor, but got: {type(vec).__name__}" + errors.at_user_line()
        )
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
