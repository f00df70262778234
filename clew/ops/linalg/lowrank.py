"""svd_lowrank, pca_lowrank: the first singular vectors of a matrix, from random projections."""

from __future__ import annotations

from clew import errors
from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.ops.create.random import randn
from clew.ops.linalg.decompositions import svd
from clew.ops.linalg.qr import qr

Factors = tuple[Tensor, Tensor, Tensor]


def _range_of(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns that span about what A maps to: Halko, Martinsson and Tropp, 4.4."""
    dtype = A.dtype if A.dtype.category >= dtypes.FLOAT else dtypes.float32
    Q = qr(A @ randn(A._array.shape[-1], q, dtype=dtype)).Q
    for _ in range(niter):
        Q = qr(A.mH @ Q).Q
        Q = qr(A @ Q).Q
    return Q


@public(method=False, out=False)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Factors:
    """The singular value decomposition of a matrix that is about of rank q: A ≈ U diag(S) Vᴴ.

    Args:
        A: matrices of shape (..., m, n)
        q: how many singular values; a little more than the rank makes the first ones accurate
        niter: how often the random projection is refined
        M: what to subtract from `A` first, for example its mean; it broadcasts to the shape of `A`

    Returns (U, S, V). The projection is random: `clew.manual_seed` makes results repeat.

    Example:
        >>> A = clew.outer(clew.tensor([3., 4.]), clew.tensor([0., 2., 0.]))
        >>> U, S, V = clew.svd_lowrank(A, q=1)
        >>> S
        tensor([10.])
    """
    rows, columns = A._array.shape[-2:]
    if M is not None:
        A = A - M.expand(A._array.shape)
    wide = rows < columns
    if wide:
        A = A.mH
    Q = _range_of(A, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = svd(Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


@public(method=False, out=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Factors:
    """Principal components: `svd_lowrank` of a matrix whose columns are centred first.

    Args:
        A: matrices of shape (..., m, n): m samples of n features
        q: how many components; without it the least of 6, m and n
        center: whether to subtract the mean of each column
        niter: how often the random projection is refined

    Returns (U, S, V): the columns of V are the principal directions, `A @ V` the components.

    Example:
        >>> A = clew.tensor([[1., 5.], [2., 5.], [3., 5.]])
        >>> U, S, V = clew.pca_lowrank(A, q=1)
        >>> V.abs()
        tensor([[1.],
                [0.]])
    """
    rows, columns = A._array.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(rows, columns)}" + errors.at_user_line()
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer" + errors.at_user_line())
    if center:
        A = A - A.mean(dim=-2, keepdim=True)
    return svd_lowrank(A, q, niter=niter)
