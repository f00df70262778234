"""LDL factors of symmetric matrices that need not be positive-definite, and solving by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.tensor import Tensor, every_value
from clew.kernels import numpy as kernels
from clew.ops import define
from clew.ops.define.out_checks import input_dtype
from clew.ops.linalg.checks import (
    failed_matrix,
    failures,
    require_batches,
    require_inexact,
    require_kernel,
    require_square,
)

Array = np.ndarray


def _no_factor_derivative(g: Any) -> Tensor:
    raise RuntimeError(
        "derivative for aten::linalg_ldl_factor_ex is not implemented\n"
        "  linalg.lu_factor, linalg.cholesky and linalg.eigh have derivatives."
        + errors.at_user_line()
    )


def _no_solve_derivative(g: Any) -> Tensor:
    raise RuntimeError(
        "derivative for aten::linalg_ldl_solve is not implemented\n"
        "  linalg.solve and linalg.lu_solve have derivatives." + errors.at_user_line()
    )


LINALG_LDL_FACTOR_EX = Op(
    "linalg_ldl_factor_ex", lambda self, *, hermitian: kernels.ldl.factor(self, hermitian),
    outputs=3,
    grads={"self": _no_factor_derivative}, node="NotImplemented",
)  # fmt: skip
LINALG_LDL_SOLVE = Op(
    "linalg_ldl_solve",
    lambda LD, pivots, B, *, hermitian: kernels.ldl.solve(LD, pivots, B, hermitian),
    grads={"LD": _no_solve_derivative, "B": _no_solve_derivative}, node="NotImplemented",
)  # fmt: skip


def first_of_input_dtype(args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
    """What `out=` must be: its first tensor, for LD, has the dtype of A."""
    input_dtype(may_alias=True)(args, kwargs, out[0])


def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> define.return_types.linalg_ldl_factor_ex:
    """`ldl_factor` that tells of zero pivots in a third tensor instead of raising.

    Args:
        A: symmetric or Hermitian matrices (..., n, n); only their lower triangles are read
        hermitian: whether complex matrices are Hermitian rather than symmetric
        check_errors: raise for a zero pivot after all

    Returns a named tuple (LD, pivots, info): `info` is 0, or the number of the first zero pivot,
    for each matrix.

    Example:
        >>> clew.linalg.ldl_factor_ex(clew.zeros(2, 2)).info
        tensor(1, dtype=torch.int32)
    """
    name = "torch.linalg.ldl_factor_ex"
    require_square(name, A)
    require_inexact(name, A)
    if A._array.size:
        require_kernel("ldl_factor_kernel_cpu", A)
    result = define.return_types.linalg_ldl_factor_ex(
        *LINALG_LDL_FACTOR_EX(A, hermitian=bool(hermitian))
    )
    if check_errors:
        _refuse_zero_pivot(name, failures(result.info))
    return result


def ldl_factor(A: Tensor, *, hermitian: bool = False) -> define.return_types.linalg_ldl_factor:
    """L and D with P A Pᵀ = L D Lᵀ, for symmetric matrices that need not be positive-definite.

    Args:
        A: symmetric or Hermitian matrices (..., n, n); only their lower triangles are read
        hermitian: whether complex matrices are Hermitian rather than symmetric

    Returns a named tuple (LD, pivots) in LAPACK's compact form, for `ldl_solve`. D has blocks of
    one or two rows; a negative pivot marks a block of two. There is no derivative, as in PyTorch.

    Example:
        >>> A = clew.tensor([[0., 1.], [1., 0.]])
        >>> LD, pivots = clew.linalg.ldl_factor(A)
        >>> pivots
        tensor([-2, -2], dtype=torch.int32)
    """
    result = ldl_factor_ex(A, hermitian=hermitian)
    _refuse_zero_pivot("torch.linalg.ldl_factor", failures(result.info))
    return define.return_types.linalg_ldl_factor(result.LD, result.pivots)


def _refuse_zero_pivot(name: str, info: Array) -> None:
    if info.any():
        which, pivot = failed_matrix(info)
        raise RuntimeError(
            f"false INTERNAL ASSERT FAILED: {name}: {which}Unknown error code: {pivot}.\n"
            f"  D[{pivot},{pivot}] is zero: the matrix is singular, and ldl_solve would divide by "
            "it." + errors.at_user_line()
        )


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, for the A that `ldl_factor` factored.

    Args:
        LD: the factors, shape (..., n, n)
        pivots: the pivots, shape (..., n)
        B: right-hand sides, shape (..., n, k); its batch broadcasts with that of `LD`
        hermitian: whether A is Hermitian rather than symmetric, as told to `ldl_factor`

    Example:
        >>> A = clew.tensor([[0., 1.], [1., 0.]])
        >>> LD, pivots = clew.linalg.ldl_factor(A)
        >>> clew.linalg.ldl_solve(LD, pivots, clew.tensor([[3.], [5.]]))
        tensor([[5.],
                [3.]])
    """
    _check_solve(LD, pivots, B)
    return LINALG_LDL_SOLVE(LD, pivots, B, hermitian=bool(hermitian))


def _check_solve(LD: Tensor, pivots: Tensor, B: Tensor) -> None:
    name = "torch.linalg.ldl_solve"
    require_square(name, LD)
    require_inexact(name, LD)
    if B._array.ndim < 2:
        raise errors.dimension_out_of_range(-2, B._array.ndim)
    expected = LD._array.shape[:-1]
    if expected != pivots._array.shape:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {errors.shape_list(pivots._array.shape)} instead" + errors.at_user_line()
        )
    if pivots.dtype.category != dtypes.INTEGER:
        raise RuntimeError(
            f"{name}: Expected pivots to be integers. Got {pivots.dtype.scalar_name}"
            + errors.at_user_line()
        )
    if LD.dtype is not B.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {B.dtype.scalar_name} "
            f"and A of type {LD.dtype.scalar_name} instead." + errors.at_user_line()
        )
    rows = LD._array.shape[-1]
    if B._array.shape[-2] != rows:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {rows} by {rows} but each b "
            f"matrix is {B._array.shape[-2]} by {B._array.shape[-1]}" + errors.at_user_line()
        )
    require_batches(name, B, LD)
    require_kernel("ldl_solve_kernel_cpu", LD)
    _check_pivots(np.abs(every_value(pivots)), rows)


def _check_pivots(pivots: Array, rows: int) -> None:
    bound = ">= 1" if (pivots < 1).any() else "<= LD.size(-2)" if (pivots > rows).any() else ""
    if bound:
        raise RuntimeError(
            f"Pivots given to ldl_solve must all satisfy |pivot| {bound}. Did you properly pass "
            "the result of ldl_factor?" + errors.at_user_line()
        )
