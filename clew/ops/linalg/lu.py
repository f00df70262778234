"""LU factors with partial pivoting: lu, lu_factor, lu_unpack, lu_solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.core.casting import FLOAT32, casts
from clew.core.interception import note_constant
from clew.core.op import Op
from clew.core.public import deliver, public
from clew.core.tensor import Tensor, every_value, wrap
from clew.kernels import numpy as kernels
from clew.kernels.numpy.arrays import as_new
from clew.ops import define
from clew.ops.define.out_checks import exact
from clew.ops.linalg.checks import (
    failed_matrix,
    failures,
    require_batches,
    require_kernel,
    require_matrices,
    require_square,
    warn_of_newer,
)
from clew.ops.linalg.solve import solve_triangular
from clew.ops.shape.joining import cat

Array = np.ndarray
Grads = tuple[Tensor | None, ...]


# -- the gradient of a factorization -------------------------------------------------------------


def _zeros(like: Tensor) -> Tensor:
    return wrap(np.zeros_like(like._array))


def _inverse_from_left(lower: Tensor, value: Tensor) -> Tensor:
    return solve_triangular(lower.mH, value, upper=True, unitriangular=True)


def _inverse_from_right(upper: Tensor, value: Tensor) -> Tensor:
    return solve_triangular(upper.mH, value, upper=False, left=False)


def _factor_grad(
    of_lower: Tensor | None, of_upper: Tensor | None, P: Tensor, L: Tensor, U: Tensor
) -> Tensor:
    """The gradient of A = P L U from those of L and U.

    Where A is not square, the part of L below (or of U to the right of) the square block is a
    function of the block's factors, and passes its gradient on to them.
    """
    of_lower = _zeros(L) if of_lower is None else of_lower
    of_upper = _zeros(U) if of_upper is None else of_upper
    rows, columns = L._array.shape[-2], U._array.shape[-1]
    size = min(rows, columns)
    lower, upper = L[..., :size, :], U[..., :, :size]
    below = lower.mH @ of_lower[..., :size, :]
    above = of_upper[..., :, :size] @ upper.mH
    if columns > size:
        below = below - of_upper[..., :, size:] @ U[..., :, size:].mH
    if rows > size:
        above = above - L[..., size:, :].mH @ of_lower[..., size:, :]
    core = below.tril(-1) + above.triu()
    of_matrix = _inverse_from_left(lower, _inverse_from_right(upper, core))
    if columns > size:
        rest = _inverse_from_left(lower, of_upper[..., :, size:])
        of_matrix = cat([of_matrix, rest], -1)
    if rows > size:
        rest = _inverse_from_right(upper, of_lower[..., size:, :])
        of_matrix = cat([of_matrix, rest], -2)
    return P @ of_matrix


# -- lu ------------------------------------------------------------------------------------------


def _unit_lower(lu: Array) -> Array:
    size = min(lu.shape[-2:])
    lower = np.tril(lu[..., :, :size], -1)
    np.einsum("...ii->...i", lower[..., :size, :])[...] = 1
    return lower


def _upper(lu: Array) -> Array:
    return np.triu(lu[..., : min(lu.shape[-2:]), :])


def _lu(self: Array) -> tuple[Array, Array, Array]:
    factors, pivots, _ = kernels.lapack.lu_factor(self)
    P = kernels.lapack.permutation_matrix(pivots, self.shape[-2], self.dtype)
    return P, _unit_lower(factors), _upper(factors)


def _lu_grad(g: Grads, out0: Tensor, out1: Tensor, out2: Tensor) -> Tensor | None:
    if g[1] is None and g[2] is None:
        return None
    return _factor_grad(g[1], g[2], out0.detach(), out1, out2)


LINALG_LU = Op("linalg_lu", _lu, outputs=3, grads={"self": _lu_grad})


def _check_lu(name: str, A: Tensor, pivot: bool) -> None:
    if A._array.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: "
            f"{errors.shape_list(A._array.shape)} instead" + errors.at_user_line()
        )
    require_kernel("lu_cpu", A)
    if not pivot:
        raise RuntimeError(
            "linalg.lu_factor: LU without pivoting is not implemented on the CPU"
            + errors.at_user_line()
        )


def lu(A: Tensor, *, pivot: bool = True) -> define.return_types.linalg_lu:
    """P, L, U with `A = P L U`: a permutation, a unit lower and an upper triangle.

    Args:
        A: (..., m, n)
        pivot: must be True; factoring without exchanging rows is not implemented

    Example:
        >>> P, L, U = clew.linalg.lu(clew.tensor([[1., 2.], [2., 2.]]))
        >>> L
        tensor([[1.0000, 0.0000],
                [0.5000, 1.0000]])
        >>> U
        tensor([[2., 2.],
                [0., 1.]])
    """
    _check_lu("linalg.lu", A, pivot)
    P, L, U = LINALG_LU(A)
    return define.return_types.linalg_lu(P.detach(), L, U)


PERMUTATION = Op(
    "_lu_permutation",
    lambda pivots, *, rows, dtype: kernels.lapack.permutation_matrix(pivots, rows, dtype),
    non_differentiable="made of integers",
)


# -- lu_factor -----------------------------------------------------------------------------------


def _split(lu_factors: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U of compact factors, with the history of the factors."""
    rows, columns = lu_factors._array.shape[-2:]
    size = min(rows, columns)
    dtype = lu_factors._array.dtype
    P = PERMUTATION(pivots, rows=rows, dtype=dtype)
    identity = note_constant(wrap(np.eye(rows, size, dtype=dtype)))
    lower = lu_factors[..., :, :size].tril(-1) + identity
    return P, lower, lu_factors[..., :size, :].triu()


def _compact_grad(g: Grads, out0: Tensor, out1: Tensor) -> Tensor | None:
    if g[0] is None:
        return None
    size = min(g[0]._array.shape[-2:])
    P, L, U = _split(out0, out1)
    of_lower, of_upper = g[0][..., :, :size].tril(-1), g[0][..., :size, :].triu()
    return _factor_grad(of_lower, of_upper, P, L, U)


LINALG_LU_FACTOR_EX = Op(
    "linalg_lu_factor_ex", lambda self: kernels.lapack.lu_factor(self), outputs=3,
    grads={"self": _compact_grad},
)  # fmt: skip


def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> define.return_types.linalg_lu_factor_ex:
    """L and U in one tensor, the pivots, and for each matrix 0 or the number of its zero pivot.

    Args:
        A: (..., m, n)
        pivot: must be True; factoring without exchanging rows is not implemented
        check_errors: raise where a pivot is zero

    Example:
        >>> LU, pivots, info = clew.linalg.lu_factor_ex(clew.zeros(2, 2))
        >>> info
        tensor(1, dtype=torch.int32)
    """
    _check_lu("torch.lu_factor", A, pivot)
    result = define.return_types.linalg_lu_factor_ex(*LINALG_LU_FACTOR_EX(A))
    if check_errors:
        _refuse_zero_pivot("torch.linalg.lu_factor_ex", failures(result.info))
    return result


def lu_factor(A: Tensor, *, pivot: bool = True) -> define.return_types.linalg_lu_factor:
    """L and U in one tensor, and the pivots, counted from 1.

    Args:
        A: (..., m, n)
        pivot: must be True; factoring without exchanging rows is not implemented

    Example:
        >>> LU, pivots = clew.linalg.lu_factor(clew.tensor([[1., 2.], [2., 2.]]))
        >>> LU
        tensor([[2.0000, 2.0000],
                [0.5000, 1.0000]])
        >>> pivots
        tensor([2, 2], dtype=torch.int32)
    """
    result = lu_factor_ex(A, pivot=pivot)
    _refuse_zero_pivot("torch.linalg.lu_factor", failures(result.info))
    return define.return_types.linalg_lu_factor(result.LU, result.pivots)


def _refuse_zero_pivot(name: str, info: Array) -> None:
    if info.any():
        which, pivot = failed_matrix(info)
        raise RuntimeError(
            f"{name}: {which}U[{pivot},{pivot}] is zero and using it on lu_solve would result in a "
            "division by zero. If you still want to perform the factorization, consider calling "
            "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)" + errors.at_user_line()
        )


@public(name="lu", out=False)
@casts(FLOAT32)
def _old_lu(
    A: Tensor,
    pivot: bool = True,
    get_infos: bool = False,
    out: Any = None,
) -> Sequence[Tensor]:
    """L and U in one tensor and the pivots (old form of `linalg.lu_factor`).

    Args:
        A: (..., m, n)
        pivot: must be True; factoring without exchanging rows is not implemented
        get_infos: return also, for each matrix, 0 or the number of its zero pivot
        out: the tensors to store the results in, whatever their shapes and dtypes

    Example:
        >>> LU, pivots = clew.tensor([[1., 2.], [2., 2.]]).lu()
        >>> pivots
        tensor([2, 2], dtype=torch.int32)
    """
    warn_of_newer("lu", "lu_factor / torch.linalg.lu_factor_ex")
    found = lu_factor_ex(A, pivot=pivot)
    results = define.return_types._lu_with_info(*found) if get_infos else found[:2]
    if out is None:
        return results
    if not isinstance(out, (tuple, list)):
        raise TypeError(
            f"argument 'out' must be tuple of Tensors, not {type(out).__name__}"
            + errors.at_user_line()
        )
    if len(out) != len(results):
        raise TypeError(
            f"expected tuple of {len(results)} elements but got {len(out)}" + errors.at_user_line()
        )
    for result, into in zip(results, out, strict=True):
        deliver(result.detach().to(into.dtype), into, "lu")
    return out


# -- lu_unpack -----------------------------------------------------------------------------------


def _unpack(LU_data: Array, LU_pivots: Array) -> tuple[Array, Array, Array]:
    P = kernels.lapack.permutation_matrix(LU_pivots, LU_data.shape[-2], LU_data.dtype)
    return P, _unit_lower(LU_data), _upper(LU_data)


def _unpack_grad(g: Grads, LU_data_shape: tuple[int, ...]) -> Tensor | None:
    size = min(LU_data_shape[-2:])
    total = None
    for value, dim in ((g[1], -1), (g[2], -2)):
        if value is None:
            continue
        part = value.tril(-1) if dim == -1 else value.triu()
        if LU_data_shape[dim] > size:
            rest = list(LU_data_shape)
            rest[dim] -= size
            part = cat([part, wrap(np.zeros(rest, part._array.dtype))], dim)
        total = part if total is None else total + part
    return total


LU_UNPACK = Op("lu_unpack", _unpack, outputs=3, grads={"LU_data": _unpack_grad})


@public(method=False, accept=exact)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> define.return_types.lu_unpack:
    """P, L and U from what `lu_factor` gives; parts not asked for are empty.

    Args:
        LU_data: L and U in one tensor
        LU_pivots: the pivots, int32
        unpack_data: whether to return L and U
        unpack_pivots: whether to return P

    Example:
        >>> A = clew.tensor([[1., 2.], [2., 2.]])
        >>> P, L, U = clew.lu_unpack(*clew.linalg.lu_factor(A))
        >>> P @ L @ U
        tensor([[1., 2.],
                [2., 2.]])
    """
    if LU_data._array.ndim < 2:
        raise RuntimeError(
            "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
            f"{errors.shape_list(LU_data._array.shape)} instead" + errors.at_user_line()
        )
    if LU_pivots._array.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\n  It must come from lu_factor." + errors.at_user_line()
        )
    pivots = every_value(LU_pivots) if unpack_pivots else np.empty(0)
    if pivots.size and not 1 <= pivots.min() <= pivots.max() <= LU_data._array.shape[-2]:
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?" + errors.at_user_line()
        )
    if not unpack_pivots:
        # Nobody asks for P: the pivots may be anything.
        LU_pivots = LU_pivots.clamp(1, max(LU_data._array.shape[-2], 1))
    P, L, U = LU_UNPACK(LU_data, LU_pivots)
    empty = np.empty(0, LU_data._array.dtype)
    if not unpack_data:
        L, U = wrap(empty), wrap(empty)
    return define.return_types.lu_unpack(P.detach() if unpack_pivots else wrap(empty), L, U)


# -- lu_solve ------------------------------------------------------------------------------------


def _check_pivots(pivots: Array, rows: int) -> None:
    if pivots.size and pivots.min() < 1:
        raise RuntimeError(
            "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the "
            "result of lu_factor?" + errors.at_user_line()
        )
    if pivots.size and pivots.max() > rows:
        raise RuntimeError(
            "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you "
            "properly pass the result of lu_factor?" + errors.at_user_line()
        )


def _solve_forward(LU: Array, pivots: Array, B: Array, *, left: bool, adjoint: bool) -> Array:
    _check_pivots(pivots, LU.shape[-2])
    if left:
        return kernels.lapack.by_columns(kernels.lapack.lu_solve(LU, pivots, B, adjoint))
    # X A = B is A^H X^H = B^H.
    transposed = kernels.lapack.lu_solve(LU, pivots, kernels.lapack.adjoint(B), not adjoint)
    return as_new(kernels.lapack.adjoint(transposed))


def _solve_grads(
    g: Tensor,
    LU: Tensor,
    pivots: Tensor,
    out: Tensor,
    left: bool,
    adjoint: bool,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, None, Tensor]:
    right: Tensor = LINALG_LU_SOLVE(LU, pivots, g, left=left, adjoint=not adjoint)
    if not needs[0]:
        return None, None, right
    of_matrix: Any
    if left:
        of_matrix = -(out @ right.mH if adjoint else right @ out.mH)
    else:
        of_matrix = -(right.mH @ out if adjoint else out.mH @ right)
    P, L, U = _split(LU, pivots)
    transposed = P.mT @ of_matrix
    return (transposed @ U.mH).tril(-1) + (L.mH @ transposed).triu(), None, right


LINALG_LU_SOLVE = Op("linalg_lu_solve", _solve_forward, joint=_solve_grads)


@casts(FLOAT32)
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The solution of A X = B for the A that was factored.

    Args:
        LU: what `lu_factor` gives for A
        pivots: the pivots that it gives
        B: (..., n, k)
        left: False to solve X A = B
        adjoint: solve with A^H instead of A

    Example:
        >>> LU, pivots = clew.linalg.lu_factor(clew.tensor([[2., 0.], [0., 4.]]))
        >>> clew.linalg.lu_solve(LU, pivots, clew.tensor([[2.], [4.]]))
        tensor([[1.],
                [1.]])
    """
    require_kernel("lu_solve_cpu", LU)
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{LU.dtype.scalar_name} and B of type {B.dtype.scalar_name} instead"
            + errors.at_user_line()
        )
    if pivots._array.dtype != np.int32:
        raise RuntimeError(
            "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32\n  It must "
            "come from lu_factor." + errors.at_user_line()
        )
    require_square("torch.linalg.lu_solve", LU)
    require_matrices("linalg.lu_solve", B, "B")
    rows, columns = LU._array.shape[-2:]
    have = B._array.shape[-2 if left else -1]
    if have != rows:
        raise RuntimeError(
            "linalg.lu_solve: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({rows}x{columns} and "
            f"{B._array.shape[-2]}x{B._array.shape[-1]})" + errors.at_user_line()
        )
    if pivots._array.shape != LU._array.shape[:-1]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {errors.shape_list(pivots._array.shape)} instead"
            + errors.at_user_line()
        )
    require_batches("lu_solve", B, LU)
    return LINALG_LU_SOLVE(LU, pivots, B, left=bool(left), adjoint=bool(adjoint))


@public(name="lu_solve", accept=exact)
def _old_lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of A X = b for the A that was factored.

    Args:
        b: (..., n, k)
        LU_data: what `lu_factor` gives for A
        LU_pivots: the pivots that it gives

    Example:
        >>> LU, pivots = clew.linalg.lu_factor(clew.tensor([[2., 0.], [0., 4.]]))
        >>> clew.lu_solve(clew.tensor([[2.], [4.]]), LU, pivots)
        tensor([[1.],
                [1.]])
    """
    warn_of_newer("lu_solve", "lu_solve")
    return lu_solve(LU_data, LU_pivots, b)
