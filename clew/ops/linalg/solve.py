"""Linear systems: solve, triangular systems, Cholesky.

Gradients follow from the defining equations: for A X = B, the gradient of B solves the adjoint
system, and the gradient of A is minus its outer product with X.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.kernels.numpy.arrays import as_new
from clew.ops import define
from clew.ops.define.out_checks import castable, exact
from clew.ops.define.rows import require_tensors
from clew.ops.linalg.checks import (
    failures,
    refuse_indefinite,
    refuse_singular,
    refuse_unsolvable,
    require_batches,
    require_inexact,
    require_kernel,
    require_matrices,
    require_square,
    warn_of_newer,
)

Array = np.ndarray


# -- general systems -----------------------------------------------------------------------------


def _as_matrix(b: Array, vector: bool) -> Array:
    return b[..., None] if vector else b


def _solve(A: Array, B: Array, *, left: bool, vector: bool) -> tuple[Array, Array]:
    right = _as_matrix(B, vector)
    if left:
        x, info = kernels.lapack.solve(A, right)
    else:
        x, info = kernels.lapack.solve(A.swapaxes(-2, -1), right.swapaxes(-2, -1))
        x = x.swapaxes(-2, -1)
    if not vector:
        return x, info
    # As in PyTorch, also several vectors lie as the columns of a matrix do.
    x = x[..., 0]
    return (kernels.lapack.by_columns(x) if left and x.ndim > 1 else as_new(x)), info


def _solve_grads(
    g: tuple[Tensor | None, ...],
    A: Tensor,
    out0: Tensor,
    left: bool,
    vector: bool,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    if g[0] is None:
        return None, None
    right = LINALG_SOLVE_EX(A.mH, g[0], left=left, vector=vector)[0]
    if not needs[0]:
        return None, right
    if vector:
        return -(right.unsqueeze(-1) @ out0.unsqueeze(-2).conj()), right
    return -(right @ out0.mH if left else out0.mH @ right), right


LINALG_SOLVE_EX = Op("linalg_solve_ex", _solve, outputs=2, joint=_solve_grads)


def _is_vector(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


def _check_system(name: str, a: tuple[int, ...], b: tuple[int, ...], left: bool) -> None:
    fits = a[-2] == b[-2] if left else a[-1] == b[-1]
    if not fits:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
            + errors.at_user_line()
        )
    mismatch = errors.broadcast_mismatch(name, b[:-2], a[:-2])
    if mismatch is not None:
        raise mismatch


@casts(FLOAT32)
def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False
) -> define.return_types.linalg_solve_ex:
    """The solution of A X = B, and for each A 0 or the number of its zero pivot.

    Args:
        A: (..., n, n)
        B: (..., n, k), or (..., n)
        left: False to solve X A = B
        check_errors: raise where a matrix is singular

    Example:
        >>> result, info = clew.linalg.solve_ex(clew.eye(2), clew.tensor([1., 2.]))
        >>> result, info
        (tensor([1., 2.]), tensor(0, dtype=torch.int32))
    """
    require_tensors("linalg_solve_ex", A=A, B=B)
    require_inexact("linalg.solve", A)
    require_square("linalg.solve", A)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype.scalar_name} and B of type {B.dtype.scalar_name} instead"
            + errors.at_user_line()
        )
    a, b = A._array.shape, B._array.shape
    vector = _is_vector(a, b)
    # A vector is one column, which cannot be multiplied from the left.
    _check_system("linalg.solve", a, (*b, 1) if vector else b, left)
    require_kernel("lu_cpu", A)
    result = define.return_types.linalg_solve_ex(*LINALG_SOLVE_EX(A, B, left=left, vector=vector))
    if check_errors:
        refuse_unsolvable("torch.linalg.solve_ex", failures(result.info))
    return result


@casts(FLOAT32)
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution X of A X = B, or of X A = B; raises where A is singular.

    Args:
        A: (..., n, n)
        B: (..., n, k), or (..., n)
        left: False to solve X A = B

    Example:
        >>> A = clew.tensor([[2., 1.], [0., 4.]])
        >>> clew.linalg.solve(A, clew.tensor([4., 8.]))
        tensor([1., 2.])
    """
    result = solve_ex(A, B, left=left)
    refuse_unsolvable("torch.linalg.solve", failures(result.info))
    return result.result


# -- triangular systems --------------------------------------------------------------------------


def _solve_triangular(
    self: Array, B: Array, *, upper: bool, left: bool, unitriangular: bool
) -> Array:
    if left:
        return kernels.lapack.by_columns(
            kernels.lapack.solve_triangular(self, B, upper, unitriangular)
        )
    transposed = kernels.lapack.solve_triangular(
        self.swapaxes(-2, -1), B.swapaxes(-2, -1), not upper, unitriangular
    )
    return as_new(transposed).swapaxes(-2, -1)


def _triangular_grads(
    g: Tensor,
    self: Tensor,
    out: Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    right = LINALG_SOLVE_TRIANGULAR(
        self.mH, g, upper=not upper, left=left, unitriangular=unitriangular
    )
    if not needs[0]:
        return None, right
    of_matrix = -(right @ out.mH if left else out.mH @ right)
    off = int(unitriangular)
    return (of_matrix.triu(off) if upper else of_matrix.tril(-off)), right


LINALG_SOLVE_TRIANGULAR = Op("linalg_solve_triangular", _solve_triangular, joint=_triangular_grads)


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The solution of A X = B (or X A = B) for triangular A.

    Args:
        A: (..., n, n); the other triangle is not read
        B: (..., n, k)
        upper: whether A is an upper triangle
        left: False to solve X A = B
        unitriangular: take the diagonal of A to be 1

    Example:
        >>> A = clew.tensor([[2., 1.], [0., 4.]])
        >>> clew.linalg.solve_triangular(A, clew.tensor([[4.], [8.]]), upper=True)
        tensor([[1.],
                [2.]])
    """
    require_tensors("linalg_solve_triangular", A=A, B=B)
    require_square("linalg.solve_triangular", A)
    require_matrices("linalg.solve_triangular", B, "B")
    _check_system("linalg.solve_triangular", A._array.shape, B._array.shape, left)
    require_kernel("triangular_solve_cpu", A)
    if B.dtype is not A.dtype:
        # As in PyTorch, the matrix of the system decides.
        B = B.to(A.dtype)
    return LINALG_SOLVE_TRIANGULAR(A, B, upper=upper, left=left, unitriangular=unitriangular)


def in_columns(name: str) -> Op:
    """An operation that copies matrices column by column, as the one of this name leaves them."""

    def copied(self: Array) -> Array:
        return np.array(self.swapaxes(-2, -1), order="C").swapaxes(-2, -1)

    return Op(name, copied, linear=True, grads={"self": lambda g: g})


TRIANGULAR_SOLVE = in_columns("triangular_solve")


@public(accept=exact)
@casts(FLOAT32)
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> define.return_types.triangular_solve:
    """The solution of A X = b for triangular A, and A itself (old form of `solve_triangular`).

    Args:
        b: (..., n, k)
        A: (..., n, n); the other triangle is not read
        upper: whether A is an upper triangle
        transpose: solve with the transpose of A
        unitriangular: take the diagonal of A to be 1

    Example:
        >>> A = clew.tensor([[2., 1.], [0., 4.]])
        >>> clew.triangular_solve(clew.tensor([[4.], [8.]]), A).solution
        tensor([[1.],
                [2.]])
    """
    for name, each in (("b", b), ("A", A)):
        if each._array.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it "
                f"has {each._array.ndim} dimensions instead" + errors.at_user_line()
            )
    warn_of_newer("triangular_solve", "solve_triangular")
    _require_one_dtype(b, A)
    matrix = A.mT if transpose else A
    solution = solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return define.return_types.triangular_solve(solution, TRIANGULAR_SOLVE(A))


def _require_one_dtype(b: Tensor, A: Tensor) -> None:
    if b.dtype is not A.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{b.dtype.scalar_name} and A of type {A.dtype.scalar_name} instead."
            + errors.at_user_line()
        )


# -- Cholesky ------------------------------------------------------------------------------------


def _cholesky_formula(g: Tensor, factor: Tensor, upper: bool) -> Tensor:
    lower, of_lower = (factor.mH, g.mH) if upper else (factor, g)
    product = (lower.mH @ of_lower).tril()
    # The triangle mirrored, its diagonal once: what a symmetric change of A can bring about.
    symmetric = 0.5 * (product + product.tril(-1).mH)
    half = solve_triangular(lower.mH, symmetric, upper=True)
    return solve_triangular(lower, half, upper=False, left=False)


def _cholesky_grad(g: tuple[Tensor | None, ...], out0: Tensor, upper: bool) -> Tensor | None:
    return None if g[0] is None else _cholesky_formula(g[0], out0, upper)


LINALG_CHOLESKY_EX = Op(
    "linalg_cholesky_ex",
    lambda self, *, upper: kernels.lapack.cholesky(self, upper),
    outputs=2,
    grads={"self": _cholesky_grad},
)


def _checked_cholesky(self: Array, *, upper: bool) -> Array:
    factor, info = kernels.lapack.cholesky(self, upper)
    refuse_indefinite("cholesky", info)
    return factor


CHOLESKY = Op(
    "cholesky", _checked_cholesky,
    grads={"self": lambda g, out, upper: _cholesky_formula(g, out, upper)},
)  # fmt: skip


@casts(FLOAT32)
def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False
) -> define.return_types.linalg_cholesky_ex:
    """The Cholesky factor, and for each matrix 0 or the order of the minor that is at fault.

    Args:
        A: (..., n, n), symmetric or Hermitian
        upper: return the upper factor
        check_errors: raise where a matrix is not positive-definite

    Example:
        >>> L, info = clew.linalg.cholesky_ex(clew.tensor([[1., 2.], [2., 1.]]))
        >>> info
        tensor(2, dtype=torch.int32)
    """
    require_tensors("linalg_cholesky_ex", A=A)
    require_square("linalg.cholesky", A)
    require_inexact("linalg.cholesky", A)
    require_kernel("cholesky_cpu", A)
    result = define.return_types.linalg_cholesky_ex(*LINALG_CHOLESKY_EX(A, upper=bool(upper)))
    if check_errors:
        refuse_indefinite("linalg.cholesky_ex", failures(result.info))
    return result


@casts(FLOAT32)
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangular L with A = L L^H (or A = U^H U), for positive-definite A.

    Args:
        A: (..., n, n), symmetric or Hermitian
        upper: return U

    Example:
        >>> clew.linalg.cholesky(clew.tensor([[4., 2.], [2., 5.]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    result = cholesky_ex(A, upper=upper)
    refuse_indefinite("linalg.cholesky", failures(result.info))
    return result.L


@public(name="cholesky", checked=True, accept=castable("cholesky"))
@casts(FLOAT32)
def _old_cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor; `linalg.cholesky` is its newer form.

    Args:
        input: (..., n, n), symmetric or Hermitian, positive-definite
        upper: return the upper factor

    Example:
        >>> clew.cholesky(clew.tensor([[4., 2.], [2., 5.]]), upper=True)
        tensor([[2., 1.],
                [0., 2.]])
    """
    warn_of_newer("cholesky", "cholesky")
    require_square("cholesky", input)
    require_kernel("cholesky_cpu", input)
    return CHOLESKY(input, upper=bool(upper))


def _cholesky_solve(self: Array, input2: Array, *, upper: bool) -> Array:
    other = kernels.lapack.adjoint(input2)
    first, second = (other, input2) if upper else (input2, other)
    half = kernels.lapack.solve_triangular(first, self, False, False)
    return kernels.lapack.by_columns(kernels.lapack.solve_triangular(second, half, True, False))


def _cholesky_solve_grads(
    g: Tensor, input2: Tensor, out: Tensor, upper: bool, needs: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor | None]:
    right = CHOLESKY_SOLVE(g, input2, upper=upper)
    if not needs[1]:
        return right, None
    common = right @ out.mH
    common = common + common.mH
    return right, -(input2 @ common if upper else common @ input2)


CHOLESKY_SOLVE = Op("cholesky_solve", _cholesky_solve, joint=_cholesky_solve_grads)


@public(checked=True, accept=castable("cholesky_solve"))
@casts(FLOAT32)
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The solution X of A X = B, given the Cholesky factor of A.

    Args:
        B: (..., n, k)
        L: the factor, (..., n, n)
        upper: whether it is the upper one

    Example:
        >>> L = clew.tensor([[2., 0.], [0., 1.]])
        >>> clew.cholesky_solve(clew.tensor([[4.], [3.]]), L)
        tensor([[1.],
                [3.]])
    """
    for name, value in (("b", B), ("u", L)):
        if value._array.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {value._array.ndim} dimensions "
                "instead" + errors.at_user_line()
            )
    _require_one_dtype(B, L)
    rows, columns = L._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {rows} by {columns} matrices"
            + errors.at_user_line()
        )
    if rows != B._array.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {rows} by {columns} "
            f"but each b matrix is {B._array.shape[-2]} by {B._array.shape[-1]}"
            + errors.at_user_line()
        )
    require_batches("cholesky_solve", B, L)
    require_kernel("cholesky_solve_cpu", B)
    return CHOLESKY_SOLVE(B, L, upper=bool(upper))


def _cholesky_inverse(self: Array, *, upper: bool) -> Array:
    if self.size:
        zeros = self.diagonal(axis1=-2, axis2=-1) == 0
        refuse_singular("cholesky_inverse", np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0))
    eye = np.eye(self.shape[-1], dtype=self.dtype)
    inverse = kernels.lapack.solve_triangular(
        kernels.lapack.adjoint(self) if upper else self, eye, False, False
    )
    return kernels.lapack.by_columns(kernels.lapack.adjoint(inverse) @ inverse)


def _cholesky_inverse_grad(g: Tensor, self: Tensor, out: Tensor, upper: bool) -> Tensor:
    common: Any = out @ (g + g.mH) @ out
    return -(self @ common if upper else common @ self)


CHOLESKY_INVERSE = Op("cholesky_inverse", _cholesky_inverse, grads={"self": _cholesky_inverse_grad})


@public(checked=True, accept=castable("cholesky_inverse"))
@casts(FLOAT32)
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, given its Cholesky factor.

    Args:
        L: the factor, (..., n, n)
        upper: whether it is the upper one

    Example:
        >>> L = clew.tensor([[1., 0.], [1., 1.]])
        >>> clew.cholesky_inverse(L)  # of [[1., 1.], [1., 2.]]
        tensor([[ 2., -1.],
                [-1.,  1.]])
    """
    require_square("cholesky_inverse", L)
    require_kernel("cholesky_inverse_out_cpu", L)
    return CHOLESKY_INVERSE(L, upper=bool(upper))
