"""Decompositions into singular values and eigenvalues: svd, eigh, eig.

Singular vectors and eigenvectors are only determined up to a phase (and, for equal values, up to a
rotation). Gradients are those of losses that do not depend on that choice; for the phase of complex
vectors this is checked, as PyTorch does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.casting import FLOAT32, casts
from clew.core.interception import note_constant
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, of_values, wrap
from clew.kernels import numpy as kernels
from clew.ops import define
from clew.ops.define.out_checks import exact
from clew.ops.linalg.checks import (
    LinAlgError,
    require_inexact,
    require_kernel,
    require_matrices,
    require_square,
)
from clew.ops.linalg.solve import solve

Array = np.ndarray
Grads = tuple[Tensor | None, ...]


def _on_diagonal(size: int) -> Tensor:
    result: Tensor = note_constant(wrap(np.eye(size, dtype=bool)))
    return result


def with_diagonal(matrices: Tensor, diagonal: Tensor | None) -> Tensor:
    """The matrices with another diagonal; None stands for zeros."""
    size = matrices._array.shape[-1]
    off_diagonal = matrices.masked_fill(_on_diagonal(size), 0)
    return off_diagonal if diagonal is None else off_diagonal + diagonal.diag_embed()


def differences(values: Tensor) -> Tensor:
    """The matrix of values[k] - values[j], with ones on its diagonal, to divide by."""
    matrix = values.unsqueeze(-2) - values.unsqueeze(-1)
    return matrix.masked_fill(_on_diagonal(values._array.shape[-1]), 1)


def _check_phase(name: str, kind: str, diagonal: Tensor) -> None:
    """Refuse a loss that depends on the phase of complex vectors."""
    phases = diagonal._array.imag
    if not np.isfinite(phases).all() or (np.absolute(phases) <= 1e-2).all():
        return
    raise RuntimeError(
        f"{name}_backward: The {kind} in the complex case are specified up to multiplication by "
        "e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined."
        + errors.at_user_line()
    )


# -- SVD -----------------------------------------------------------------------------------------


def _svd(self: Array, *, full_matrices: bool) -> tuple[Array, Array, Array]:
    try:
        U, S, Vh = np.linalg.svd(self, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        raise _not_converged(self) from None
    if not np.isfinite(S).all():
        raise _not_converged(self)
    return kernels.lapack.by_columns(U), S, kernels.lapack.by_columns(Vh)


def _not_converged(matrices: Array) -> LinAlgError:
    why = (
        "contained non-finite values." if not np.isfinite(matrices).all()
        else "is ill-conditioned or has too many repeated singular values."
    )  # fmt: skip
    return LinAlgError(
        f"linalg.svd: The algorithm failed to converge because the input matrix {why}"
        + errors.at_user_line()
    )


def _skew(matrix: Tensor) -> Tensor:
    return matrix - matrix.mH


def _svd_grad(
    g: Grads, out0: Tensor, out1: Tensor, out2: Tensor, self_shape: tuple[int, ...]
) -> Tensor | None:
    of_u, of_s, of_vh = g
    size = out1._array.shape[-1]
    U, S, Vh = out0[..., :, :size], out1, out2[..., :size, :]
    if of_u is None and of_vh is None:
        if of_s is None:
            return None
        return (U * of_s.unsqueeze(-2)) @ Vh
    of_u = None if of_u is None else of_u[..., :, :size]
    of_vh = None if of_vh is None else of_vh[..., :size, :]
    inner = _svd_core(of_u, of_s, of_vh, U, S, Vh)
    rows, columns = self_shape[-2:]
    left = U @ inner
    if rows > size and of_u is not None:
        scaled = of_u / S.unsqueeze(-2)
        left = left + scaled - U @ (U.mH @ scaled)
    result = left @ Vh
    if columns > size and of_vh is not None:
        scaled = of_vh / S.unsqueeze(-1)
        result = result + U @ (scaled - (scaled @ Vh.mH) @ Vh)
    return result


def _svd_core(
    of_u: Tensor | None,
    of_s: Tensor | None,
    of_vh: Tensor | None,
    U: Tensor,
    S: Tensor,
    Vh: Tensor,
) -> Tensor:
    """The gradient in the basis of the singular vectors."""
    gaps = differences(S * S)
    inner: Any = None if of_s is None else of_s.diag_embed()
    of_phase: Any = 0
    if of_u is not None:
        turn = _skew(U.mH @ of_u)
        of_phase = turn
        part = (turn / gaps) * S.unsqueeze(-2)
        inner = part if inner is None else inner + part
    if of_vh is not None:
        turn = _skew(Vh @ of_vh.mH)
        if U.dtype.is_complex:
            _check_phase("svd", "singular vectors", (of_phase + turn).diagonal(0, -2, -1))
        part = S.unsqueeze(-1) * (turn / gaps)
        inner = part if inner is None else inner + part
    if U.dtype.is_complex:
        inner = _complex_diagonal(inner, of_u, of_s, of_phase, S)
    return inner


def _complex_diagonal(
    inner: Tensor, of_u: Tensor | None, of_s: Tensor | None, turn: Any, S: Tensor
) -> Tensor:
    """The phases of a pair of complex vectors turn together; U's share stands for both."""
    diagonal = None if of_s is None else of_s.to(inner.dtype)
    if of_u is not None:
        phases = turn.diagonal(0, -2, -1) / (2 * S)
        diagonal = phases if diagonal is None else diagonal + phases
    return with_diagonal(inner, diagonal)


LINALG_SVD = Op("linalg_svd", _svd, outputs=3, grads={"self": _svd_grad})
SINGULAR_VALUES = Op(
    "_linalg_svdvals", lambda self: _svd_values(self),
    non_differentiable="computed without singular vectors",
)  # fmt: skip


def _svd_values(matrices: Array) -> Array:
    try:
        values = np.linalg.svd(matrices, compute_uv=False)
    except np.linalg.LinAlgError:
        raise _not_converged(matrices) from None
    if not np.isfinite(values).all():
        raise _not_converged(matrices)
    return values


def _check_svd(A: Tensor) -> None:
    require_matrices("linalg.svd", A)
    require_inexact("linalg.svd", A)
    require_kernel("linalg_svd_cpu", A)


@casts(FLOAT32)
def svd(
    A: Tensor, full_matrices: bool = True, *, driver: str | None = None
) -> define.return_types.linalg_svd:
    """`A = U diag(S) Vh` with orthonormal U and Vh and falling S >= 0.

    Args:
        A: (..., m, n)
        full_matrices: U is (m, m) and Vh (n, n); else they have min(m, n) columns and rows
        driver: for CUDA only; must be None

    Example:
        >>> A = clew.tensor([[3., 0.], [0., -2.], [0., 0.]])
        >>> U, S, Vh = clew.linalg.svd(A, full_matrices=False)
        >>> S
        tensor([3., 2.])
        >>> clew.allclose(U @ clew.diag(S) @ Vh, A)
        True
    """
    _check_svd(A)
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend." + errors.at_user_line()
        )
    return define.return_types.linalg_svd(*LINALG_SVD(A, full_matrices=bool(full_matrices)))


@casts(FLOAT32)
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of matrices, falling.

    Args:
        A: (..., m, n)
        driver: for CUDA only

    Example:
        >>> clew.linalg.svdvals(clew.tensor([[3., 0.], [0., -2.]]))
        tensor([3., 2.])
    """
    _check_svd(A)
    if (A.requires_grad and local.state.grad_enabled) or local.state.intercept is not None:
        return svd(A, full_matrices=False, driver=driver).S
    return SINGULAR_VALUES(A)


@public(name="svd", accept=exact)
def _old_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> define.return_types.svd:
    """The singular value decomposition with V instead of Vh; `linalg.svd` is its newer form.

    Args:
        input: (..., m, n)
        some: False for the full U and V
        compute_uv: False for S only; U and V are zeros then

    Example:
        >>> U, S, V = clew.svd(clew.tensor([[3., 0.], [0., -2.]]))
        >>> S
        tensor([3., 2.])
    """
    ndim = input._array.ndim
    if ndim < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {ndim} dimensions "
            "instead" + errors.at_user_line()
        )
    if compute_uv:
        U, S, Vh = svd(input, full_matrices=not some)
        return define.return_types.svd(U, S, Vh.mH)
    rows, columns = input._array.shape[-2:]
    batch, dtype = input._array.shape[:-2], input._array.dtype
    zeros = [wrap(np.zeros((*batch, n, n), dtype)) for n in (rows, columns)]
    return define.return_types.svd(zeros[0], svdvals(input), zeros[1])


# -- eigenvalues ---------------------------------------------------------------------------------


def _eigh(self: Array, *, UPLO: str) -> tuple[Array, Array]:
    try:
        values, vectors = np.linalg.eigh(self, UPLO=UPLO)  # type: ignore[call-overload]  # L or U here
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.eigh: The algorithm failed to converge because the input matrix is "
            "ill-conditioned or has too many repeated eigenvalues" + errors.at_user_line()
        ) from None
    return values, kernels.lapack.by_columns(vectors)


def _eigh_grad(g: Grads, out0: Tensor, out1: Tensor) -> Tensor | None:
    of_values, of_vectors = g
    values, vectors = out0, out1
    if of_vectors is None:
        if of_values is None:
            return None
        return (vectors * of_values.unsqueeze(-2)) @ vectors.mH
    turn = vectors.mH @ of_vectors
    if turn.dtype.is_complex:
        _check_phase("linalg_eigh", "eigenvectors", turn.diagonal(0, -2, -1))
    # The matrix is taken to be Hermitian, so its gradient is.
    inner = 0.5 * _skew(turn) / differences(values)
    diagonal = None if of_values is None else of_values.to(inner.dtype)
    return vectors @ with_diagonal(inner, diagonal) @ vectors.mH


LINALG_EIGH = Op("linalg_eigh", _eigh, outputs=2, grads={"self": _eigh_grad})


@casts(FLOAT32)
def eigh(A: Tensor, UPLO: str = "L") -> define.return_types.linalg_eigh:
    """Eigenvalues (rising) and eigenvectors of symmetric or Hermitian matrices.

    Args:
        A: (..., n, n)
        UPLO: "L" or "U": which triangle is read; the other one is taken to mirror it

    Example:
        >>> values, vectors = clew.linalg.eigh(clew.tensor([[3., 0.], [0., 1.]]))
        >>> values
        tensor([1., 3.])
        >>> vectors.abs()  # in columns, of either sign
        tensor([[0., 1.],
                [1., 0.]])
    """
    require_square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(
            f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}" + errors.at_user_line()
        )
    require_kernel("linalg_eigh_cpu", A)
    return define.return_types.linalg_eigh(*LINALG_EIGH(A, UPLO=UPLO.upper()))


@casts(FLOAT32)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, rising.

    Args:
        A: (..., n, n)
        UPLO: "L" or "U": which triangle is read; the other one is taken to mirror it

    Example:
        >>> clew.linalg.eigvalsh(clew.tensor([[2., 1.], [1., 2.]]))
        tensor([1., 3.])
    """
    return eigh(A, UPLO).eigenvalues


def _eig(self: Array) -> tuple[Array, Array]:
    values, vectors = np.linalg.eig(self)
    dtype = np.result_type(self.dtype, np.complex64)
    return values.astype(dtype, copy=False), kernels.lapack.by_columns(
        vectors.astype(dtype, copy=False)
    )


def _eig_grad(g: Grads, out0: Tensor, out1: Tensor) -> Tensor | None:
    of_values, of_vectors = g
    values, vectors = out0, out1
    adjoint = vectors.mH
    if of_vectors is None:
        if of_values is None:
            return None
        return solve(adjoint, of_values.unsqueeze(-1) * adjoint)
    turn = adjoint @ of_vectors
    diagonal = turn.diagonal(0, -2, -1)
    _check_phase("linalg_eig", "eigenvectors", diagonal)
    # Vectors have length 1, so a change of their length has no effect on the loss.
    inner = turn - (adjoint @ vectors) * diagonal.real.unsqueeze(-2)
    inner = with_diagonal(inner / differences(values).conj(), of_values)
    return solve(adjoint, inner @ adjoint)


LINALG_EIG = Op("linalg_eig", _eig, outputs=2, grads={"self": _eig_grad})


def _check_eig(name: str, A: Tensor) -> None:
    require_square(name, A)
    if A._array.dtype.kind not in "fcVW":
        raise RuntimeError(
            f"Unknown Complex ScalarType for {A.dtype.scalar_name}" + errors.at_user_line()
        )
    require_kernel("linalg_eig_out_cpu", A)
    if not of_values(lambda values: bool(np.isfinite(values).all()), A):
        raise RuntimeError(
            "torch.linalg.eig: input tensor should not contain infs or NaNs."
            + errors.at_user_line()
        )


@casts(FLOAT32)
def eig(A: Tensor) -> define.return_types.linalg_eig:
    """Eigenvalues and eigenvectors of square matrices, always complex.

    Args:
        A: (..., n, n)

    Example:
        >>> values, vectors = clew.linalg.eig(clew.tensor([[2., 0.], [0., 3.]]))
        >>> values
        tensor([2.+0.j, 3.+0.j])
    """
    _check_eig("linalg.eig", A)
    return define.return_types.linalg_eig(*LINALG_EIG(A))


@casts(FLOAT32)
def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues of square matrices, always complex.

    Args:
        A: (..., n, n)

    Example:
        >>> clew.linalg.eigvals(clew.tensor([[2., 1.], [0., 3.]]))
        tensor([2.+0.j, 3.+0.j])
    """
    _check_eig("linalg.eigvals", A)
    return LINALG_EIG(A)[0]
