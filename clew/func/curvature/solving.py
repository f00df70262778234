"""Linear systems with a curvature matrix, by conjugate gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.func.curvature.operators import Operator
from clew.ops.create.constants import zeros_like


class Solution(NamedTuple):
    """What conjugate gradients found, and how far from it they stopped."""

    x: Tensor
    residual: float
    steps: int


@no_grad()
def solve(
    matrix: Operator, b: Tensor, damping: float = 0.0, tolerance: float = 1e-5, steps: int = 250
) -> Solution:
    """The x for which (matrix + damping · identity) x = b, by conjugate gradients.

    The residual is relative to b: above `tolerance`, the steps were not enough.

    Args:
        matrix: positive definite, at least with damping
        b: the right side
        damping: what is added to the diagonal
        tolerance: the relative residual at which it is done
        steps: at most this many products with the matrix

    Example:
        >>> x, y = clew.tensor([[2., 0.], [0., 1.]]), clew.zeros(2)
        >>> loss = lambda output, target: output.square().mean()
        >>> model = nn.Linear(2, 1, bias=False)
        >>> H = clew.func.curvature.Hessian(model, loss, [(x, y)])
        >>> clew.func.curvature.solve(H, clew.tensor([4., 3.])).x
        tensor([1., 3.])
    """
    x, residual = zeros_like(b), b.clone()
    direction = residual.clone()
    size = float(b.norm())
    squares = float(residual.dot(residual))
    done = 0
    while squares**0.5 > tolerance * size and done < steps:
        product = matrix @ direction + damping * direction
        curvature = float(direction.dot(product))
        if not curvature > 0:
            raise ValueError(
                f"the matrix is not positive definite: a direction has curvature {curvature:.3g}\n"
                "  More damping, or GaussNewton in place of Hessian, makes it so."
                + errors.at_user_line()
            )
        x.add_(direction, alpha=squares / curvature)
        residual.sub_(product, alpha=squares / curvature)
        before, squares = squares, float(residual.dot(residual))
        direction.mul_(squares / before).add_(residual)
        done += 1
    return Solution(x, squares**0.5 / size if size else 0.0, done)


class Inverse(Operator):
    """The inverse of a matrix plus a damping; every product solves a system."""

    def __init__(
        self, matrix: Operator, damping: float, tolerance: float = 1e-5, steps: int = 250
    ) -> None:
        super().__init__(matrix.network)
        self.matrix, self.damping = matrix, damping
        self.tolerance, self.steps = tolerance, steps

    def _products(self, columns: Sequence[Tensor]) -> list[Tensor]:
        solutions = [
            solve(self.matrix, each, self.damping, self.tolerance, self.steps) for each in columns
        ]
        worst = max(each.residual for each in solutions)
        if worst > self.tolerance:
            raise RuntimeError(
                f"conjugate gradients have a residual of {worst:.2g} after {self.steps} steps, and "
                f"{self.tolerance:.2g} is asked for\n  More damping than {self.damping:g} makes "
                "the system easier; Inverse(matrix, damping, tolerance, steps) asks for less, or "
                "for longer." + errors.at_user_line()
            )
        return [each.x for each in solutions]
