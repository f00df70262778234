"""householder_product: products of Householder reflections."""

from __future__ import annotations

import numpy as np

from clew import errors
from clew.core.casting import FLOAT32, casts
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.ops.define.out_checks import castable
from clew.ops.linalg.checks import require_kernel


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
    require_kernel("orgqr_cpu", input)
    dtype = input._array.dtype
    vectors = input.tril(-1) + wrap(np.eye(rows, columns, dtype=dtype))
    shape = (*input._array.shape[:-2], rows, columns)
    result = wrap(np.broadcast_to(np.eye(rows, columns, dtype=dtype), shape).copy())
    for index in range(count - 1, -1, -1):
        vector = vectors[..., :, index : index + 1]
        factor = tau[..., index : index + 1].unsqueeze(-1)
        result = result - factor * (vector @ (vector.mH @ result))
    return result
