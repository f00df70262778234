"""The trace of a matrix that is known by its products: Hutchinson's estimator, and Hutch++."""

from __future__ import annotations

from typing import NamedTuple

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.func.curvature.operators import Operator
from clew.ops.create.random import Generator, randint
from clew.ops.linalg.qr import qr


class Estimate(NamedTuple):
    """A number from random samples, and its standard error."""

    value: float
    error: float


def signs(matrix: Operator, count: int, generator: Generator | None) -> Tensor:
    """Columns of random signs (Rademacher's distribution)."""
    drawn = randint(0, 2, (matrix.shape[0], count), generator=generator)
    return drawn.to(matrix.network.dtype) * 2 - 1


@no_grad()
def trace(
    matrix: Operator, samples: int = 30, method: str = "hutch++",
    generator: Generator | None = None,
) -> Estimate:  # fmt: skip
    """The trace, estimated from products with random vectors.

    Hutchinson: the mean of vᵀAv over vectors v of random signs. Hutch++ spends a third of the
    products on a basis of where the matrix is large, takes the trace there exactly, and estimates
    what is left; with decaying eigenvalues its error falls like 1/samples, Hutchinson's like
    1/√samples.

    Args:
        matrix: the matrix
        samples: how many products with vectors; for Hutch++ at least 6
        method: "hutchinson" or "hutch++"
        generator: of the random numbers

    Example:
        >>> x, y = clew.tensor([[2., 0.], [0., 1.]]), clew.zeros(2)
        >>> loss = lambda output, target: output.square().mean()
        >>> H = clew.func.curvature.Hessian(nn.Linear(2, 1, bias=False), loss, [(x, y)])
        >>> clew.func.curvature.trace(H, method="hutchinson")
        Estimate(value=5.0, error=0.0)
    """
    if method == "hutchinson":
        if samples < 2:
            raise ValueError(f"samples must be at least 2, got {samples}" + errors.at_user_line())
        return _mean(_forms(matrix, signs(matrix, samples, generator)))
    if method != "hutch++":
        raise ValueError(
            f'method must be "hutchinson" or "hutch++", got {method!r}' + errors.at_user_line()
        )
    if samples < 6:
        raise ValueError(f"Hutch++ needs at least 6 samples, got {samples}" + errors.at_user_line())
    third = min(samples // 3, matrix.shape[0])
    basis, _ = qr(matrix @ signs(matrix, third, generator))
    inside = float(_forms(matrix, basis).double().sum())
    probes = signs(matrix, samples - 2 * third, generator)
    outside = _mean(_forms(matrix, probes - basis @ (basis.T @ probes)))
    return Estimate(inside + outside.value, outside.error)


def _forms(matrix: Operator, columns: Tensor) -> Tensor:
    """vᵀAv for each column v."""
    forms: Tensor = (columns * (matrix @ columns)).sum(0)
    return forms


def _mean(values: Tensor) -> Estimate:
    values = values.double()
    return Estimate(float(values.mean()), float(values.std()) / len(values) ** 0.5)
