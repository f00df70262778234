"""Small networks whose curvature is known in full, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

import clew
from clew import nn
from clew.func import functional_call, hessian, jacrev


def network(kind: str) -> tuple[nn.Module, Any, list[tuple[clew.Tensor, clew.Tensor]]]:
    """A model, its loss, and two batches of 8 and 4 examples."""
    rng = np.random.default_rng(0)
    loss: Any = nn.CrossEntropyLoss()
    if kind == "mlp":
        model = nn.Sequential(
            nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 6), nn.ReLU(), nn.Linear(6, 3)
        )
        x, y = rng.normal(size=(12, 5)), rng.integers(0, 3, 12)
    elif kind == "mse":
        model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
        x, y = rng.normal(size=(12, 5)), rng.normal(size=(12, 3))
        loss = nn.MSELoss()
    else:
        model = nn.Sequential(
            nn.Conv2d(2, 3, 3, padding=1, stride=2), nn.Tanh(), nn.Conv2d(3, 4, 2), nn.ReLU(),
            nn.Flatten(), nn.Linear(16, 3),
        )  # fmt: skip
        x, y = rng.normal(size=(12, 2, 6, 6)), rng.integers(0, 3, 12)
    model = model.double()
    with clew.no_grad():
        for each in model.parameters():
            each.copy_(clew.from_numpy(rng.normal(size=each.shape) * 0.4))
    inputs, targets = clew.from_numpy(x), clew.from_numpy(y)
    return model, loss, [(inputs[:8], targets[:8]), (inputs[8:], targets[8:])]


def whole(data: list[tuple[clew.Tensor, clew.Tensor]]) -> tuple[clew.Tensor, clew.Tensor]:
    return clew.cat([x for x, _ in data]), clew.cat([y for _, y in data])


def as_function(model: nn.Module, x: clew.Tensor) -> tuple[Any, clew.Tensor]:
    """The outputs as a function of the vector of parameters, and that vector."""
    known = dict(model.named_parameters())
    sizes = [each.numel() for each in known.values()]

    def outputs(vector: clew.Tensor) -> clew.Tensor:
        pieces = zip(known, vector.split(sizes))
        return functional_call(model, {n: v.reshape(known[n].shape) for n, v in pieces}, (x,))

    return outputs, nn.utils.parameters_to_vector(known.values()).detach()


def exact_hessian(model: nn.Module, loss: Any, data: Any) -> clew.Tensor:
    x, y = whole(data)
    outputs, vector = as_function(model, x)
    return hessian(lambda v: loss(outputs(v), y))(vector)


def exact_gauss_newton(model: nn.Module, loss: Any, data: Any) -> clew.Tensor:
    x, y = whole(data)
    outputs, vector = as_function(model, x)
    jacobian = jacrev(outputs)(vector).flatten(0, 1)
    count = jacobian.shape[0]
    inner = hessian(lambda z: loss(z, y))(outputs(vector)).reshape(count, count)
    return jacobian.T @ inner @ jacobian


def formed(matrix: Any) -> clew.Tensor:
    """All columns of an operator."""
    return matrix @ clew.eye(matrix.shape[0], dtype=clew.float64)
