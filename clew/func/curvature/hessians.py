"""The Hessian and the Gauss-Newton matrix of a network's loss, as products with vectors.

A product with the Hessian is the gradient of a gradient in one direction. A product with the
Gauss-Newton matrix JᵀHJ is a push forward by the model's Jacobian J, a product with the Hessian H
of the loss by the model's outputs, and a pull back. Neither matrix is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from clew import errors
from clew.autograd.grad_mode import enable_grad
from clew.core.tensor import Tensor
from clew.func.curvature.networks import Data, Loss, Network, checked, gradients
from clew.func.curvature.operators import Operator
from clew.func.curvature.solving import Inverse
from clew.nn.modules.module import Module
from clew.ops.create.constants import zeros_like

Pieces = Sequence[Tensor]
Product = Callable[[Pieces], Pieces]


class _OfData(Operator):
    """A matrix that is a mean over the examples of some data."""

    def __init__(
        self, model: Module, loss: Loss, data: Data, parameters: Iterable[str] | None = None
    ) -> None:
        super().__init__(Network(model, loss, parameters))
        self.data = checked(data)
        counts = [len(targets) for _, targets in self.data]
        if not sum(counts):
            raise ValueError("there is no data" + errors.at_user_line())
        self.examples = sum(counts)
        # The graph of a single batch serves all products; of many, it is made anew each time.
        self._kept = list(self._linear_maps()) if len(counts) == 1 else None

    def _linear_maps(self) -> Iterator[tuple[float, Product]]:
        """For each batch its share of the examples, and the product with its matrix."""
        for inputs, targets in self.network.batches(self.data):
            with enable_grad():
                product = self._linearized(inputs, targets)
            yield len(targets) / self.examples, product

    def _linearized(self, inputs: Any, targets: Any) -> Product:
        raise NotImplementedError

    def _products(self, columns: Sequence[Tensor]) -> list[Tensor]:
        split = [self.network.split(column) for column in columns]
        sums = [zeros_like(column) for column in columns]
        for share, product in self._kept or self._linear_maps():
            for total, pieces in zip(sums, split):
                total.add_(self.network.joined(product(pieces)), alpha=share)
        return sums

    def inverse(self, damping: float) -> Inverse:
        """The inverse of the matrix plus `damping` times the identity, by conjugate gradients."""
        return Inverse(self, damping)


class Hessian(_OfData):
    """The Hessian of a mean loss over data, at the parameters' present values.

    Args:
        model: the network; dropout and batch norm do as its training mode says
        loss: a function of the model's outputs and the targets, the mean over a batch
        data: batches, pairs of inputs and targets; of one batch the graph is kept
        parameters: names of those that the matrix is about; all that require grad by default

    Example:
        >>> x, y = clew.tensor([[1., 2.]]), clew.tensor([[0.]])
        >>> model = nn.Linear(2, 1, bias=False)
        >>> H = clew.func.curvature.Hessian(model, nn.functional.mse_loss, [(x, y)])
        >>> H @ clew.tensor([1., 0.])
        tensor([2., 4.])
    """

    def _linearized(self, inputs: Any, targets: Any) -> Product:
        network = self.network
        loss = network.loss(network.outputs(inputs), targets)
        slopes = network.gradients(loss, create_graph=True)
        return lambda pieces: gradients(slopes, network.parameters, pieces, retain_graph=True)


class GaussNewton(_OfData):
    """The Gauss-Newton matrix of a mean loss over data, at the parameters' present values.

    It is never indefinite if the loss is convex in the model's outputs, and it is the Fisher
    information if the loss is a negative log-likelihood of the exponential family (cross entropy,
    squared error).

    Args:
        model: the network; dropout and batch norm do as its training mode says
        loss: a function of the model's outputs and the targets, the mean over a batch
        data: batches, pairs of inputs and targets; of one batch the graph is kept
        parameters: names of those that the matrix is about; all that require grad by default

    Example:
        >>> x, y = clew.tensor([[1., 2.]]), clew.tensor([[0.]])
        >>> model = nn.Linear(2, 1, bias=False)
        >>> G = clew.func.curvature.GaussNewton(model, nn.functional.mse_loss, [(x, y)])
        >>> G @ clew.tensor([1., 0.])
        tensor([2., 4.])
    """

    def _linearized(self, inputs: Any, targets: Any) -> Product:
        network = self.network
        outputs = network.outputs(inputs)
        # The pull back is linear in its cotangent: its own gradient by it is the push forward.
        cotangent = zeros_like(outputs).requires_grad_()
        pulled = gradients(outputs, network.parameters, cotangent, create_graph=True)
        given = outputs.detach().requires_grad_()
        (slope,) = gradients(network.loss(given, targets), [given], create_graph=True)

        def product(pieces: Pieces) -> Pieces:
            (pushed,) = gradients(pulled, [cotangent], pieces, retain_graph=True)
            (curved,) = gradients(slope, [given], pushed, retain_graph=True)
            return gradients(outputs, network.parameters, curved, retain_graph=True)

        return product
