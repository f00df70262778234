"""householder_product: products of Householder reflections."""

from __future__ import annotations

import numpy as np

from clew import errors
from clew.core.casting import FLOAT32, casts
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.ops.define.out_checks import castable
from clew.ops.linalg.checks import require_kernel
from clew.ops.linalg.solve import solve_triangular


@public(aliases=("orgqr",), accept=castable("torch.linalg.householder_product"))
@casts(FLOAT32)
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections I - tau_i v_i v_i^H.

    Each v_i has a 1 on the diagonal of `input`, its column of `input` below that, and zeros above.

    Args:
        input: (..., m, n) with m >= n
        tau: (..., k) with k <= n

    Example:
        >>> vectors, tau = clew.tensor([[1., 0.], [1., 1.]]), clew.tensor([1., 0.])
        >>> clew.linalg.householder_product(vectors, tau)
        tensor([[ 0., -1.],
                [-1.,  0.]])
    """
    name = "torch.linalg.householder_product"
    if input._array.ndim < 2:
        raise RuntimeError(
            f"{name}: input must have at least 2 dimensions." + errors.at_user_line()
        )
    rows, columns = input._array.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]"
            + errors.at_user_line()
        )
    count = tau._array.shape[-1]
    if columns < count:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
            + errors.at_user_line()
        )
    batch = input._array.shape[:-2]
    if tau._array.ndim != len(batch) + 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal "
            f"to {tau._array.ndim} and input.ndim is equal to {len(batch) + 2}"
            + errors.at_user_line()
        )
    if tau._array.shape[:-1] != batch:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{errors.shape_list(tau._array.shape[:-1])}" + errors.at_user_line()
        )
    if tau.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {tau.dtype.scalar_name} does not match input dtype "
            f"{input.dtype.scalar_name}" + errors.at_user_line()
        )
    require_kernel("orgqr_cpu", input)
    if not count:
        return _identity(input, rows, columns).expand(*batch, rows, columns).contiguous()
    # H_1 ... H_k = I - V T V^H, with T^-1 = diag(1 / tau) + the upper triangle of V^H V; multiplied
    # by tau, so that reflections may be none.
    vectors = (input.tril(-1) + _identity(input, rows, columns))[..., :, :count]
    factors = tau.unsqueeze(-1)
    system = factors * (vectors.mH @ vectors).triu(1)
    top = vectors[..., :columns, :].mH
    turned = solve_triangular(system, factors * top, upper=True, unitriangular=True)
    return _identity(input, rows, columns) - vectors @ turned


def _identity(like: Tensor, rows: int, columns: int) -> Tensor:
    return wrap(np.eye(rows, columns, dtype=like._array.dtype))
