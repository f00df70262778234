"""A symmetric matrix over the parameters of a network that is known by its products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.func.curvature.networks import Network
from clew.ops.create.constants import zeros_like
from clew.ops.shape.joining import stack


class Operator:
    """A symmetric matrix over all parameters of a network, known by its products.

    Vectors have the order of `model.parameters()`, as `nn.utils.parameters_to_vector` gives them.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.shape = (network.size, network.size)

    def __matmul__(self, other: Tensor) -> Tensor:
        """The product with a vector, or with each column of a matrix."""
        if other.dim() not in (1, 2) or other.shape[0] != self.shape[1]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and "
                f"{'x'.join(map(str, other.shape))})\n  The model has {self.shape[0]} parameters "
                "that are asked for." + errors.at_user_line()
            )
        columns = [other] if other.dim() == 1 else list(other.unbind(1))
        with no_grad():
            products = self._products([each.to(self.network.dtype) for each in columns])
            return products[0] if other.dim() == 1 else stack(products, 1)

    def _products(self, columns: Sequence[Tensor]) -> list[Tensor]:
        raise NotImplementedError

    def inverse(self, damping: float) -> Operator:
        """The inverse of the matrix plus `damping` times the identity."""
        raise NotImplementedError

    def precondition_(self) -> None:
        """Replace the gradients of the model's parameters by their product with this matrix."""
        known = dict(self.network.model.named_parameters())
        weights: list[Any] = [known[name] for name in self.network.names]
        found = [zeros_like(each) if each.grad is None else each.grad for each in weights]
        product = self @ self.network.joined(found)
        for weight, piece in zip(weights, self.network.split(product)):
            weight.grad = piece.clone()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]})"
