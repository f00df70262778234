"""Inverses of square matrices: inv, inv_ex."""

from __future__ import annotations

from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels import numpy as kernels
from clew.ops import define
from clew.ops.define.out_checks import exact
from clew.ops.define.rows import require_tensors
from clew.ops.linalg.checks import (
    failures,
    refuse_low_precision,
    refuse_singular,
    require_inexact,
    require_square,
)


def _inverse_grad(g: tuple[Tensor | None, ...], out0: Tensor) -> Tensor | None:
    if g[0] is None:
        return None
    transposed = out0.mH
    return -(transposed @ g[0] @ transposed)


LINALG_INV_EX = Op(
    "linalg_inv_ex",
    lambda self: kernels.lapack.inverse(self),
    outputs=2,
    grads={"self": _inverse_grad},
)


@casts(FLOAT32)
def inv_ex(A: Tensor, *, check_errors: bool = False) -> define.return_types.linalg_inv_ex:
    """The inverse, and for each matrix 0 or the number of its zero pivot.

    Args:
        A: (..., n, n)
        check_errors: raise where a matrix is singular

    Example:
        >>> inverse, info = clew.linalg.inv_ex(clew.zeros(2, 2))
        >>> info
        tensor(1, dtype=torch.int32)
    """
    require_tensors("linalg_inv_ex", A=A)
    require_square("linalg.inv", A)
    require_inexact("linalg.inv", A)
    refuse_low_precision("linalg.inv", A)
    result = define.return_types.linalg_inv_ex(*LINALG_INV_EX(A))
    if check_errors:
        refuse_singular("linalg.inv_ex", failures(result.info))
    return result


@casts(FLOAT32)
def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices; raises where one is singular.

    Args:
        A: (..., n, n)

    Example:
        >>> clew.linalg.inv(clew.tensor([[2., 0.], [0., 4.]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    result = inv_ex(A)
    refuse_singular("linalg.inv", failures(result.info))
    return result.inverse


@public(accept=exact)
@casts(FLOAT32)
def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices; `linalg.inv` is its newer name.

    Args:
        input: (..., n, n)

    Example:
        >>> clew.inverse(clew.tensor([[2., 0.], [0., 4.]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return inv(input)
