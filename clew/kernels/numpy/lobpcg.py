"""LOBPCG: a few extreme eigenpairs of A x = λ B x, for one symmetric A and positive-definite B.

Knyazev's method: each step takes the best approximations from the span of the present ones, the
preconditioned residuals, and the directions of the step before. The span has an orthonormal basis,
so that the small problem stays well conditioned.
"""

from typing import NamedTuple

import numpy as np

from clew.kernels.numpy.arrays import Array


class Problem(NamedTuple):
    """What stays the same in all steps."""

    A: Array
    B: Array | None
    inverse: Array | None  # of A, roughly: the preconditioner
    largest: bool

    def times_b(self, x: Array) -> Array:
        return x if self.B is None else self.B @ x


def solve(
    problem: Problem, start: Array, count: int, steps: int, tolerance: float
) -> tuple[Array, Array]:
    """The first `count` eigenvalues and their vectors, from a guess of at least as many columns."""
    values, x = _ritz(problem, _orthonormal(problem, start))
    before = np.empty((len(x), 0), x.dtype)
    width = start.shape[1]
    for _ in range(steps):
        residual = problem.A @ x - problem.times_b(x) * values
        if _has_converged(problem, values, x, residual, count, tolerance):
            break
        preconditioned = residual if problem.inverse is None else problem.inverse @ residual
        values, found = _step(problem, x, before, preconditioned, width)
        # The part of the step that leads out of the span of x.
        before = found - x @ (x.T @ problem.times_b(found))
        x = found
    return values[:count], x[:, :count]


def _step(
    problem: Problem, x: Array, before: Array, residual: Array, width: int
) -> tuple[Array, Array]:
    others = np.concatenate([residual, before], 1)
    # Twice: what is left of directions almost in the span of x is mostly rounding.
    for _ in range(2):
        others = others - x @ (x.T @ problem.times_b(others))
        others = _orthonormal(problem, others)
    values, found = _ritz(problem, np.concatenate([x, others], 1))
    return values[:width], found[:, :width]


def _orthonormal(problem: Problem, basis: Array) -> Array:
    """A basis of the same span, orthonormal in the product of B, without dependent directions."""
    sizes = np.sqrt(np.maximum((basis * problem.times_b(basis)).sum(0), 0))
    basis = basis[:, sizes > 0] / sizes[sizes > 0]
    weights, vectors = np.linalg.eigh(basis.T @ problem.times_b(basis))
    kept = weights > 10 * np.finfo(basis.dtype).eps * weights.max(initial=0)
    return basis @ (vectors[:, kept] / np.sqrt(weights[kept]))


def _ritz(problem: Problem, basis: Array) -> tuple[Array, Array]:
    """The best approximations in a span, the wanted ones first."""
    small = basis.T @ (problem.A @ basis)
    values, vectors = np.linalg.eigh((small + small.T) / 2)
    if problem.largest:
        values, vectors = values[::-1], vectors[:, ::-1]
    return values, basis @ vectors


def _has_converged(
    problem: Problem, values: Array, x: Array, residual: Array, count: int, tolerance: float
) -> bool:
    of_b = 1.0 if problem.B is None else float(np.linalg.norm(problem.B))
    scale = np.linalg.norm(x, axis=0) * (np.linalg.norm(problem.A) + np.absolute(values) * of_b)
    errors = np.linalg.norm(residual, axis=0)[:count] / scale[:count]
    return bool((errors < tolerance).all())
