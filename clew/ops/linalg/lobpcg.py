"""lobpcg: a few extreme eigenpairs of a symmetric matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.ops.create.random import randn
from clew.ops.linalg.decompositions import eigh

Array = np.ndarray
Grads = tuple[Tensor | None, ...]
# Without niter=, a large number: the tolerance ends it.
MOST_STEPS = 1000


def _forward(
    A: Array,
    start: Array,
    *,
    B: Array | None,
    inverse: Array | None,
    count: int,
    steps: int,
    tolerance: float,
    largest: bool,
) -> tuple[Array, Array]:
    *batch, size, _ = A.shape
    symmetric = (A + A.swapaxes(-2, -1)) / 2
    flat, starts = symmetric.reshape(-1, size, size), start.reshape(-1, size, start.shape[-1])
    of_b = _one_for_each(B, batch, size)
    of_inverse = _one_for_each(inverse, batch, size)
    found = [
        kernels.lobpcg.solve(kernels.lobpcg.Problem(a, b, i, largest), x, count, steps, tolerance)
        for a, x, b, i in zip(flat, starts, of_b, of_inverse, strict=True)
    ]
    values = np.stack([each[0] for each in found]).reshape(*batch, count)
    vectors = np.stack([each[1] for each in found]).reshape(*batch, size, count)
    return values, vectors


def _one_for_each(matrices: Array | None, batch: list[int], size: int) -> list[Array | None]:
    if matrices is None:
        return [None] * math.prod(batch)
    return list(np.broadcast_to(matrices, (*batch, size, size)).reshape(-1, size, size))


def _gradient(g: Grads, A: Tensor, out0: Tensor, out1: Tensor, B: Array | None) -> Tensor:
    """The first-order change of each pair, through all eigenvectors of A."""
    if B is not None:
        raise ValueError(
            "lobpcg.backward does not support backward with B != I yet.\n"
            "  Factor B and pass the matrix of the standard problem." + errors.at_user_line()
        )
    of_values, of_vectors = g
    result: Any = 0
    if of_values is not None:
        result = (out1 * of_values.unsqueeze(-2)) @ out1.mT
    if of_vectors is not None:
        all_values, all_vectors = eigh((A + A.mT) / 2)
        apart = out0.unsqueeze(-2) - all_values.unsqueeze(-1)
        # A pair does not change along itself.
        own = wrap(np.absolute(apart._array) == np.absolute(apart._array).min(-2, keepdims=True))
        weights = (1 / apart.masked_fill(own, 1)).masked_fill(own, 0)
        moved = all_vectors @ (weights * (all_vectors.mT @ of_vectors))
        result = result + moved @ out1.mT
    return (result + result.mT) / 2


LOBPCG = Op(
    "lobpcg", _forward, outputs=2, grads={"A": _gradient}, node="LOBPCGAutogradFunctionBackward"
)


@public(method=False, out=False)
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest or smallest eigenvalues of symmetric matrices, and their eigenvectors.

    Args:
        A: symmetric matrices (..., m, m), with m at least 3 k; `A + A.mT` is halved first
        k: how many eigenpairs; without it as many as `X` has columns, or 1
        B: with it, solves A x = λ B x; it must be positive-definite
        X: the first guess, shape (..., m, n); random without it
        n: how many columns the random guess has, at least `k`; more of them may converge sooner
        iK: a preconditioner: roughly the inverse of `A`
        niter: the largest number of steps; -1 means without end
        tol: the residual, relative to the norms of `A` and `B`, that counts as converged; by
            default the root of the dtype's epsilon
        largest: whether to look for the largest eigenvalues (default) or the smallest
        method: "ortho" or "basic", for PyTorch's signature: both are computed alike
        tracker: not supported, must be None
        ortho_iparams: ignored, as are `ortho_fparams` and `ortho_bparams`: parameters of PyTorch's
            orthogonalization

    Returns (eigenvalues, eigenvectors): shapes (..., k) and (..., m, k).

    Example:
        >>> A = clew.diag(clew.tensor([1., 5., 3., 2.]))
        >>> E, X = clew.lobpcg(A, k=1)
        >>> round(E.item(), 4)
        5.0
    """
    if tracker is not None:
        raise NotImplementedError("lobpcg: tracker= is not supported" + errors.at_user_line())
    if A._array.shape[-2] != A._array.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}" + errors.at_user_line())
    size = A._array.shape[-1]
    if k is None:
        k = 1 if X is None else X._array.shape[-1]
    width = (k if n is None else n) if X is None else X._array.shape[-1]
    if size < 3 * width:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller "
            f"than 3 x the number of requested eigenpairs (={width})\n"
            "  linalg.eigh finds all of them." + errors.at_user_line()
        )
    batch = A._array.shape[:-2]
    if X is None:
        guesses = [randn(size, width, dtype=A.dtype)._array for _ in range(math.prod(batch))]
        start = wrap(np.stack(guesses).reshape(*batch, size, width))
    else:
        start = X.detach()
        if X._array.shape[-2:] != (size, width) or X._array.shape[:-2] != batch:
            raise AssertionError(
                f"X shape mismatch: got {X.shape}, expected {(*batch, size, width)}"
                + errors.at_user_line()
            )
    return LOBPCG(
        A,
        start,
        B=None if B is None else B._array,
        inverse=None if iK is None else iK._array,
        count=k,
        steps=MOST_STEPS if niter is None else (2**62 if niter < 0 else niter),
        tolerance=float(np.finfo(A._array.dtype).eps ** 0.5) if tol is None else tol,
        largest=largest is None or largest,
    )
