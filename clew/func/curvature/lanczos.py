"""Eigenvalues and spectral density of a matrix that is known by its products, by Lanczos' method.

After m products with a start vector, the matrix is a tridiagonal one of size m in an orthonormal
basis. The ends of its spectrum are those of the matrix, and its eigenvalues, weighted by how much
of the start vector they have, are a quadrature of the spectral density.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.backend.dtypes import float64
from clew.core.tensor import Tensor
from clew.func.curvature.operators import Operator
from clew.func.curvature.traces import signs
from clew.ops.create.constants import empty
from clew.ops.create.from_data import tensor
from clew.ops.create.random import Generator, randn


class Eigenpairs(NamedTuple):
    """Eigenvalues, their eigenvectors as columns, and |Av - λv| of each pair."""

    values: Tensor
    vectors: Tensor
    residuals: Tensor


class SpectralDensity(NamedTuple):
    """Eigenvalues that stand for the spectrum, and the share of it that each stands for."""

    nodes: Tensor
    weights: Tensor

    def at(self, grid: Tensor, width: float) -> Tensor:
        """The density at some places, each node as a normal distribution of the given width."""
        away = (grid.double().unsqueeze(1) - self.nodes) / width
        bumps = (-0.5 * away.square()).exp() / (width * math.sqrt(2 * math.pi))
        density: Tensor = bumps @ self.weights
        return density


class _Krylov:
    """The orthonormal basis of products with a start vector, and the tridiagonal matrix in it."""

    def __init__(self, matrix: Operator, start: Tensor, steps: int) -> None:
        self.matrix = matrix
        self.basis = empty(min(steps, len(start)) + 1, len(start), dtype=start.dtype)
        self.basis[0] = start / start.norm()
        self.diagonal: list[float] = []
        self.off: list[float] = []

    def grow(self) -> bool:
        """One more product; false when the basis holds all that the start vector can reach."""
        count = len(self.diagonal) + 1
        known = self.basis[:count]
        product = self.matrix @ known[-1]
        self.diagonal.append(float(known[-1].dot(product)))
        # Against all of the basis, and twice: in floating point the three-term recurrence alone
        # loses orthogonality, and then finds eigenvalues several times.
        for _ in range(2):
            product = product - (known @ product) @ known
        size = float(product.norm())
        self.off.append(size)
        precision = float(np.finfo(product.numpy().dtype).eps)
        if count == len(product) or size <= 10 * precision * max(map(abs, self.diagonal)):
            return False
        self.basis[count] = product / size
        return True

    def ritz(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of the tridiagonal matrix, ascending."""
        off = self.off[: len(self.diagonal) - 1]
        matrix = np.diag(np.array(self.diagonal, np.float64))
        matrix += np.diag(off, 1) + np.diag(off, -1)
        values, vectors = np.linalg.eigh(matrix)
        return values, vectors


@no_grad()
def eigenpairs(
    matrix: Operator, count: int = 1, which: str = "magnitude", tolerance: float = 1e-3,
    steps: int = 100, generator: Generator | None = None,
) -> Eigenpairs:  # fmt: skip
    """Some eigenvalues at the ends of the spectrum, with eigenvectors.

    It needs the memory of one vector for each step. Of an eigenvalue that occurs several times one
    is found. A residual above `tolerance` times the largest eigenvalue says that the steps were
    not enough.

    Args:
        matrix: the matrix
        count: how many pairs
        which: "magnitude", "largest" or "smallest" first
        tolerance: the residual at which it is done, relative to the largest eigenvalue found
        steps: at most this many products
        generator: of the random start

    Example:
        >>> x, y = clew.tensor([[2., 0.], [0., 1.]]), clew.zeros(2)
        >>> loss = lambda output, target: output.square().mean()
        >>> H = clew.func.curvature.Hessian(nn.Linear(2, 1, bias=False), loss, [(x, y)])
        >>> clew.func.curvature.eigenpairs(H, 2).values
        tensor([4.0000, 1.0000])
    """
    orders = {
        "magnitude": lambda values: np.argsort(-np.abs(values)),
        "largest": lambda values: np.argsort(-values),
        "smallest": np.argsort,
    }
    if which not in orders:
        raise ValueError(f"which must be one of {', '.join(orders)}" + errors.at_user_line())
    if not 1 <= count <= matrix.shape[0]:
        raise ValueError(
            f"count must be from 1 to {matrix.shape[0]}, got {count}" + errors.at_user_line()
        )
    start = randn(matrix.shape[0], generator=generator, dtype=matrix.network.dtype)
    krylov = _Krylov(matrix, start, max(steps, count))
    for step in range(max(steps, count)):
        more = krylov.grow()
        if (step + 1 < 2 * count or step % 3) and more and step + 1 < steps:
            continue  # the small eigenproblem is not free
        values, vectors = krylov.ritz()
        chosen = orders[which](values)[:count]
        residuals = np.abs(krylov.off[-1] * vectors[-1, chosen])
        if not more or residuals.max() <= tolerance * np.abs(values).max():
            break
    dtype = matrix.network.dtype
    kept = tensor(vectors[:, chosen], dtype=dtype)
    return Eigenpairs(
        tensor(values[chosen], dtype=dtype),
        krylov.basis[: len(values)].T @ kept,
        tensor(residuals, dtype=dtype),
    )


@no_grad()
def spectral_density(
    matrix: Operator, steps: int = 40, samples: int = 4, generator: Generator | None = None
) -> SpectralDensity:
    """The spectral density, by stochastic Lanczos quadrature.

    Args:
        matrix: the matrix
        steps: products for each start vector, and so nodes
        samples: how many random start vectors
        generator: of the random numbers

    Example:
        >>> x, y = clew.tensor([[2., 0.], [0., 1.]]), clew.zeros(2)
        >>> loss = lambda output, target: output.square().mean()
        >>> H = clew.func.curvature.Hessian(nn.Linear(2, 1, bias=False), loss, [(x, y)])
        >>> nodes, weights = clew.func.curvature.spectral_density(H, samples=1)
        >>> nodes.float(), weights.float()
        (tensor([1.0000, 4.0000]), tensor([0.5000, 0.5000]))
    """
    nodes: list[float] = []
    weights: list[float] = []
    for values, shares in _quadratures(matrix, steps, samples, generator):
        nodes.extend(values)
        weights.extend(shares / samples)
    return SpectralDensity(tensor(nodes, dtype=float64), tensor(weights, dtype=float64))


def _quadratures(
    matrix: Operator, steps: int, samples: int, generator: Generator | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for _ in range(samples):
        krylov = _Krylov(matrix, signs(matrix, 1, generator).squeeze(1), steps)
        for _ in range(steps):
            if not krylov.grow():
                break
        values, vectors = krylov.ritz()
        yield values, vectors[0] ** 2
