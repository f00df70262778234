"""Influence functions: what a training example has to do with what the model says of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.autograd.grad_mode import enable_grad, no_grad
from clew.core.tensor import Tensor
from clew.func.curvature.networks import Data, checked
from clew.func.curvature.operators import Operator
from clew.func.jacobians import linearize
from clew.ops.shape.joining import cat, stack


@no_grad()
def influence(inverse: Operator, train: Data, test: Data) -> Tensor:
    """How the loss of each test example changes with the weight of each training example.

    -∇l(test)ᵀ (H + damping)⁻¹ ∇l(train): positive where the training example does harm, negative
    where it helps. Leaving one of n training examples out changes the test loss by about -1/n
    times that. Gradients of training examples are never formed one by one: a column of the result
    is a derivative of their losses in one direction.

    Args:
        inverse: what the Hessian's inverse is taken to be, such as `GaussNewton(...).inverse(d)`
            or `EKFAC(...).inverse(d)`; the model and its loss are those of it
        train: batches of training examples
        test: batches of test examples

    Returns:
        a matrix: test examples × training examples

    Example:
        >>> x, y = clew.tensor([[1.], [2.]]), clew.tensor([[1.], [0.]])
        >>> model = nn.Linear(1, 1, bias=False)
        >>> _ = nn.init.ones_(model.weight)
        >>> G = clew.func.curvature.GaussNewton(model, nn.functional.mse_loss, [(x, y)])
        >>> clew.func.curvature.influence(G.inverse(0.), [(x, y)], [(x, y)])
        tensor([[ -0.0000,  -0.0000],
                [ -0.0000, -12.8000]])
    """
    network = inverse.network
    directions = []
    for inputs, targets in network.batches(checked(test)):
        with enable_grad():
            losses = network.example_losses(network.outputs(inputs), targets).unbind(0)
        for loss in losses:
            slope = network.joined(network.gradients(loss, retain_graph=True))
            directions.append(network.split(inverse @ slope))
    columns = []
    for inputs, targets in network.batches(checked(train)):

        def losses_at(
            parameters: Sequence[Tensor], inputs: Any = inputs, targets: Any = targets
        ) -> Tensor:
            return network.example_losses(network.outputs(inputs, parameters), targets)

        _, push_forward = linearize(losses_at, [each.detach() for each in network.parameters])
        columns.append(stack([-push_forward(direction) for direction in directions]))
    return cat(columns, 1)
