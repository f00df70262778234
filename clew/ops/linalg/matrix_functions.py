"""Functions of matrices: powers, exp, rank, pseudo-inverse, least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.casting import FLOAT32, casts
from clew.core.interception import note_constant
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.ops import define
from clew.ops.define.out_checks import castable
from clew.ops.define.rows import refuse_gradient
from clew.ops.linalg.checks import (
    failures,
    refuse_singular,
    require_batches,
    require_inexact,
    require_matrices,
    require_square,
)
from clew.ops.linalg.decompositions import eigh, svd, svdvals
from clew.ops.linalg.inverse import inv, inv_ex
from clew.ops.linalg.solve import solve

Array = np.ndarray


# -- pseudo-inverse ------------------------------------------------------------------------------


def _pinv_grad(g: Tensor, self: Tensor, out: Tensor) -> Tensor:
    """Golub and Pereyra's formula, by the shorter of two ways around."""
    adjoint, of_adjoint = out.mH, g.mH
    rows, columns = self._array.shape[-2:]
    if rows <= columns:
        inner = of_adjoint @ out
        right = inner @ adjoint
        return (
            -(out @ inner).mH + right - (self @ out) @ right
            + (adjoint @ out) @ (of_adjoint - inner @ self)
        )  # fmt: skip
    inner = out @ of_adjoint
    left = adjoint @ inner
    return (
        -(inner @ out).mH + (of_adjoint - self @ inner) @ out @ adjoint
        + left - (left @ out) @ self
    )  # fmt: skip


def _tolerance(values: Array, shape: Sequence[int], atol: Any, rtol: Any) -> Array:
    """The size below which singular values count as zero, for each matrix."""
    if rtol is None:
        rtol = 0.0 if atol is not None else max(shape[-2:], default=0) * np.finfo(values.dtype).eps
    absolute = np.asarray(0.0 if atol is None else atol)
    largest = values.max(-1, initial=0)
    return np.maximum(absolute, np.asarray(rtol) * largest)[..., None]


def _pinv(self: Array, *, atol: Any, rtol: Any, hermitian: bool) -> Array:
    rows, columns = self.shape[-2:]
    if not self.size:
        return np.zeros((*self.shape[:-2], columns, rows), self.dtype)
    if hermitian:
        values, vectors = np.linalg.eigh(self)
        keep = np.absolute(values) > _tolerance(np.absolute(values), self.shape, atol, rtol)
        inverted = np.where(keep, 1 / np.where(keep, values, 1), 0)
        return ((vectors * inverted[..., None, :]) @ kernels.lapack.adjoint(vectors)).astype(
            self.dtype
        )
    U, S, Vh = svd(wrap(self), full_matrices=False)
    u, s, vh = U._array, S._array, Vh._array
    keep = s > _tolerance(s, self.shape, atol, rtol)
    inverted = np.where(keep, 1 / np.where(keep, s, 1), 0)
    return (
        (kernels.lapack.adjoint(vh) * inverted[..., None, :]) @ kernels.lapack.adjoint(u)
    ).astype(self.dtype)


LINALG_PINV = Op("linalg_pinv", _pinv, grads={"self": _pinv_grad})


def _plain(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The pseudo-inverse; singular values up to `max(atol, rtol * largest)` count as zero.

    Args:
        A: (..., m, n)
        rcond: older name of `rtol`
        hermitian: A is symmetric or Hermitian: use its eigenvalues
        atol: the absolute tolerance; 0 unless given
        rtol: the relative one; by default `max(m, n)` times eps, or 0 where `atol` is given

    Example:
        >>> clew.linalg.pinv(clew.tensor([[2., 0.], [0., 0.]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    if A._array.ndim < 2 or A.dtype not in dtypes_of_lapack():
        raise RuntimeError(
            f"linalg.pinv({A.dtype.scalar_name}{{{errors.shape_list(A._array.shape)}}}): expected "
            "a tensor with 2 or more dimensions of float, double, cfloat or cdouble types"
            + errors.at_user_line()
        )
    if hermitian:
        require_square("linalg.pinv", A)
    for name, value in (("rcond", rcond), ("atol", atol), ("rtol", rtol)):
        _refuse_complex("torch.linalg.pinv", name, value)
    rtol = rcond if rtol is None else rtol
    refuse_gradient("linalg_pinv", atol=atol, rtol=rtol)
    return LINALG_PINV(A, atol=_plain(atol), rtol=_plain(rtol), hermitian=bool(hermitian))


def _refuse_complex(function: str, name: str, tolerance: Any) -> None:
    if isinstance(tolerance, Tensor) and tolerance.dtype.is_complex:
        raise RuntimeError(
            f"{function}: {name} tensor of complex type is not supported. Got "
            f"{tolerance.dtype.scalar_name}" + errors.at_user_line()
        )


def dtypes_of_lapack() -> tuple[dtypes.dtype, ...]:
    """What LAPACK computes in."""
    return dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128


@public(out=False)
@casts(FLOAT32)
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse; `linalg.pinv` is its newer form.

    Args:
        input: (..., m, n)
        rcond: singular values up to `rcond` times the largest count as zero

    Example:
        >>> clew.pinverse(clew.tensor([[2., 0.], [0., 0.]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    if not isinstance(rcond, (int, float)):
        raise errors.wrong_argument("pinverse", "rcond", 2, "float", rcond)
    return pinv(input, rcond)


# -- least squares -------------------------------------------------------------------------------


def _lstsq(
    self: Array, b: Array, *, rcond: float | None, driver: str
) -> tuple[Array, Array, Array, Array]:
    rows, columns = self.shape[-2:]
    real = dtypes.BY_NUMPY[self.dtype].to_real().np
    cut = _cutoff(float(np.finfo(real).eps), max(rows, columns), rcond, driver)
    found = _of_full_rank(self, b, cut) if driver in ("gels", "gelsy") else None
    if found is not None:
        x, rank, values = found, np.full(self.shape[:-2], columns), np.zeros(0, real)
    else:
        u, values, vh = np.linalg.svd(self, full_matrices=False)
        keep = values > cut * values.max(-1, initial=0)[..., None]
        rank = keep.sum(-1)
        inverted = np.where(keep, 1 / np.where(keep, values, 1), 0)
        x = kernels.lapack.adjoint(vh) @ (inverted[..., None] * (kernels.lapack.adjoint(u) @ b))
    residuals = np.zeros(0, real)
    if rows > columns and driver != "gelsy" and (rank == columns).all():
        residuals = (np.absolute(self @ x - b) ** 2).sum(-2)
    known_rank = np.zeros(0, np.int64) if driver == "gels" else np.asarray(rank, np.int64)
    shown = values if driver in ("gelsd", "gelss") else np.zeros(0, real)
    return (
        _in_place_of(x.astype(self.dtype), max(rows, columns)),
        residuals.astype(real),
        known_rank,
        shown,
    )


def _in_place_of(x: Array, length: int) -> Array:
    """The solutions as LAPACK leaves them: at the top of columns that held right-hand sides."""
    columns = np.empty((*x.shape[:-2], x.shape[-1], length), x.dtype).swapaxes(-2, -1)
    result = columns[..., : x.shape[-2], :]
    result[...] = x
    return result


# How far an estimate must be from what would be a zero.
_MARGIN = 0.5


def _of_full_rank(self: Array, b: Array, cut: float) -> Array | None:
    """The solutions by QR, if all singular values are well above what counts as zero."""
    rows, columns = self.shape[-2:]
    if rows < columns or not self.size:
        return None
    q, r = np.linalg.qr(self)
    with np.errstate(all="ignore"):
        identity = np.eye(columns, dtype=self.dtype)
        inverse = kernels.lapack.solve_triangular(r, identity, upper=True, unitriangular=False)
        if (
            not (kernels.lapack.condition_bound(r, inverse) * cut < 1).all()
            and not (kernels.lapack.condition_estimate(r, inverse) * cut < _MARGIN).all()
        ):
            return None
    solution: Array = inverse @ (kernels.lapack.adjoint(q) @ b)
    return solution


def _cutoff(eps: float, size: int, rcond: float | None, driver: str) -> float:
    """What counts as zero, relative to the largest singular value, as LAPACK's drivers have it."""
    if rcond is None or driver == "gels":
        return eps * size
    out_of_range = (driver == "gelss" and rcond < 0) or (driver == "gelsd" and not 0 < rcond < 1)
    return eps if out_of_range else rcond


def _lstsq_grads(
    g: tuple[Tensor | None, ...], self: Tensor, b: Tensor, out0: Tensor, needs: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor | None]:
    of_matrix: Any = None
    of_right: Any = None
    if g[0] is not None:
        inverse = pinv(self)
        of_matrix = _pinv_grad(g[0] @ b.mH, self, inverse) if needs[0] else None
        of_right = inverse.mH @ g[0]
    if g[1] is not None and g[1]._array.size:
        # At the minimum, a change of the solution does not change the residuals.
        rest = 2 * (self @ out0 - b) * g[1].unsqueeze(-2)
        along = rest @ out0.mH
        of_matrix = along if of_matrix is None else of_matrix + along
        of_right = -rest if of_right is None else of_right - rest
    return of_matrix, of_right


LINALG_LSTSQ = Op("linalg_lstsq", _lstsq, outputs=4, joint=_lstsq_grads)


@casts(FLOAT32)
def lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> define.return_types.linalg_lstsq:
    """X that minimises the norm of A X - B, with residuals, rank and singular values of A.

    Args:
        A: (..., m, n)
        B: (..., m, k), or (..., m)
        rcond: singular values up to `rcond` times the largest count as zero
        driver: LAPACK's, which says what is returned: "gelsy" (the default), "gels" (no rank),
            "gelsd" or "gelss" (also the singular values)

    Example:
        >>> A = clew.tensor([[1., 0.], [1., 1.], [1., 2.]])
        >>> clew.linalg.lstsq(A, clew.tensor([[1.], [3.], [5.]])).solution
        tensor([[1.0000],
                [2.0000]])
    """
    if A._array.ndim < 2:
        raise RuntimeError(
            "torch.linalg.lstsq: input must have at least 2 dimensions." + errors.at_user_line()
        )
    if B._array.ndim < 1:
        raise RuntimeError(
            "torch.linalg.lstsq: other must have at least 1 dimension." + errors.at_user_line()
        )
    if A.dtype not in dtypes_of_lapack():
        raise RuntimeError(
            "This function doesn't handle types other than float and double" + errors.at_user_line()
        )
    vector = A._array.ndim - 1 == B._array.ndim and B._array.shape == A._array.shape[:-1]
    right = B.unsqueeze(-1) if vector else B
    if right._array.ndim < 2 or A._array.shape[-2] != right._array.shape[-2]:
        place = -1 if B._array.ndim == 1 else -2
        raise RuntimeError(
            f"torch.linalg.lstsq: input.size(-2) should match other.size({place})"
            + errors.at_user_line()
        )
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {A.dtype.scalar_name} and other's dtype {B.dtype.scalar_name}"
            + errors.at_user_line()
        )
    require_batches("lstsq", A, right)
    driver = "gelsy" if driver is None else driver.lower()
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
            + errors.at_user_line()
        )
    found = define.return_types.linalg_lstsq(*LINALG_LSTSQ(A, right, rcond=rcond, driver=driver))
    result = found._replace(singular_values=found.singular_values.detach())
    return result._replace(solution=result.solution.squeeze(-1)) if vector else result


# -- powers, exp, rank ---------------------------------------------------------------------------


@public(accept=castable("matrix_power"))
def matrix_power(A: Tensor, n: int) -> Tensor:
    """The product of n copies of square matrices, or of their inverses.

    Args:
        A: (..., m, m)
        n: how many; 0 gives the identity, a negative number powers of the inverse

    Example:
        >>> clew.linalg.matrix_power(clew.tensor([[1., 1.], [0., 1.]]), 5)
        tensor([[1., 5.],
                [0., 1.]])
    """
    require_square("linalg.matrix_power", A)
    if n == 0:
        shape, dtype = A._array.shape, A._array.dtype
        identity = np.broadcast_to(np.eye(shape[-1], dtype=dtype), shape)
        return A.clone().copy_(note_constant(wrap(identity)))
    if n == 1:
        return A.clone()
    if n < 0:
        return inv(A) if n == -1 else matrix_power(inv(A), -n)
    if n == 3:
        return A @ A @ A
    result, square = None, A
    while n:
        n, odd = divmod(n, 2)
        if odd:
            result = square if result is None else result @ square
        if n:
            square = square @ square
    return result  # type: ignore[return-value]  # n was at least 2


def _exp_grad(g: Tensor, self: Tensor) -> Tensor:
    """The upper right block of exp([[A^H, g], [0, A^H]]) is the derivative of exp along g."""
    size = self._array.shape[-1]
    dtype = self._array.dtype
    identity = np.eye(2 * size, dtype=dtype)
    first, second = wrap(identity[:, :size]), wrap(identity[:, size:])
    adjoint = self.mH
    block = first @ adjoint @ first.mT + second @ adjoint @ second.mT + first @ g @ second.mT
    return LINALG_MATRIX_EXP(block)[..., :size, size:]


def _matrix_exp(self: Array) -> Array:
    # The powers of a large matrix cancel, so that single precision would lose digits.
    wide = np.complex128 if self.dtype.kind in "cW" else np.float64
    return kernels.lapack.matrix_exp(self.astype(wide, copy=False)).astype(self.dtype, copy=False)


LINALG_MATRIX_EXP = Op("linalg_matrix_exp", _matrix_exp, grads={"self": _exp_grad})


@public(out=False)
def matrix_exp(A: Tensor) -> Tensor:
    """The matrix exponential: the sum of `A^k / k!`.

    Args:
        A: (..., n, n)

    Example:
        >>> clew.linalg.matrix_exp(clew.tensor([[0., 1.], [0., 0.]]))
        tensor([[1., 1.],
                [0., 1.]])
    """
    require_square("linalg.matrix_exp", A)
    require_inexact("linalg.matrix_exp", A)
    return LINALG_MATRIX_EXP(A)


COUNT_LARGE = Op(
    "_linalg_matrix_rank",
    lambda self, *, shape, atol, rtol: np.asarray(
        (self > _tolerance(self, shape, atol, rtol)).sum(-1), np.int64
    ),
    non_differentiable="integer output",
)


@casts(FLOAT32)
def matrix_rank(
    A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """How many singular values (or eigenvalues) are larger than `max(atol, rtol * largest)`.

    Args:
        A: (..., m, n)
        tol: older form of `atol`
        hermitian: A is symmetric or Hermitian: use its eigenvalues
        atol: the absolute tolerance; 0 unless given
        rtol: the relative one; by default `max(m, n)` times eps, or 0 where `atol` is given

    Example:
        >>> clew.linalg.matrix_rank(clew.tensor([[1., 2.], [2., 4.]]))
        tensor(1)
    """
    require_matrices("torch.linalg.matrix_rank", A, "input")
    if A.dtype not in dtypes_of_lapack():
        raise RuntimeError(
            "This function doesn't handle types other than float and double" + errors.at_user_line()
        )
    if tol is not None:
        atol, rtol = tol, 0.0
    for name, value in (("atol", atol), ("rtol", rtol)):
        _refuse_complex("torch.linalg.matrix_rank", name, value)
    if not A._array.size:
        return wrap(np.zeros(A._array.shape[:-2], np.int64))
    plain = A.detach()
    values = eigh(plain).eigenvalues.abs() if hermitian else svdvals(plain)
    options = {"shape": A._array.shape, "atol": _plain(atol), "rtol": _plain(rtol)}
    result: Tensor = COUNT_LARGE(values, **options)
    return result


# -- tensors as matrices -------------------------------------------------------------------------


@casts(FLOAT32)
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor, whose first `ind` dimensions are seen as rows.

    Args:
        A: the product of its first `ind` sizes is that of the others
        ind: how many dimensions are rows

    Example:
        >>> clew.linalg.tensorinv(clew.eye(6).reshape(6, 2, 3), ind=1).shape
        torch.Size([2, 3, 6])
    """
    if ind <= 0:
        raise RuntimeError(
            f"Expected a strictly positive integer for 'ind', but got {ind}" + errors.at_user_line()
        )
    shape = A._array.shape
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {columns} != {rows}" + errors.at_user_line()
        )
    result = inv_ex(A.reshape(rows, columns))
    refuse_singular("inv", failures(result.info))
    return result.inverse.reshape(shape[ind:] + shape[:ind])


@casts(FLOAT32)
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with `tensordot(A, X, X.ndim) == B`.

    Args:
        A: its first dimensions are those of B, the others those of X
        B: the right side
        dims: dimensions of A to move to the end first

    Example:
        >>> A = 2 * clew.eye(4).reshape(4, 2, 2)
        >>> clew.linalg.tensorsolve(A, clew.tensor([2., 4., 6., 8.]))
        tensor([[1., 2.],
                [3., 4.]])
    """
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape, ndim = A._array.shape, B._array.ndim
    rows, columns = math.prod(shape[:ndim]), math.prod(shape[ndim:])
    size = B._array.size
    if columns != size:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {columns} != {size}" + errors.at_user_line()
        )
    solution = solve(A.reshape(rows, columns), B.reshape(-1))
    return solution.reshape(shape[ndim:])
