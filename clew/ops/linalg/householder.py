"""householder_product, geqrf, ormqr: QR as Householder reflections, and their products."""

from __future__ import annotations

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
from clew.ops.define.out_checks import castable, input_dtype
from clew.ops.define.rows import refuse_complex_history
from clew.ops.linalg.checks import require_kernel
from clew.ops.linalg.solve import in_columns, solve_triangular

# How many reflections are applied at once: more are fewer calls, and more work among themselves.
_REFLECTIONS = 128
HOUSEHOLDER_PRODUCT = in_columns("linalg_householder_product")
ORMQR = in_columns("ormqr")


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
        # No reflection, and nothing that the input could change; the sum is 0, with history.
        none = tau.sum(-1).unsqueeze(-1).unsqueeze(-1)
        product: Tensor = HOUSEHOLDER_PRODUCT(_identity(input, rows, columns) + none)
        return product
    vectors = _vectors(input)[..., :, :count]
    rotated = vectors.mH
    weights = _weights(rotated @ vectors, tau, rotated[..., :, :columns], False)
    product = HOUSEHOLDER_PRODUCT(_identity(input, rows, columns) - vectors @ weights)
    return product


def _vectors(input: Tensor) -> Tensor:
    """What is below the diagonal, and ones on it."""
    return input.tril(-1) + _identity(input, *input._array.shape[-2:])


def _weights(gram: Tensor, tau: Tensor, products: Tensor, adjoint: bool) -> Tensor:
    """T times `products`, for the T with H_1 ... H_k = I - V T V^H; with `adjoint`, T^H times them.

    T^-1 is diag(1 / tau) + the upper triangle of V^H V, which is `gram`; multiplied by tau here, so
    that reflections may be none.
    """
    factors = tau.unsqueeze(-1)
    system = factors * gram.triu(1)
    if adjoint:
        return factors.conj() * solve_triangular(
            system.mH, products, upper=False, unitriangular=True
        )
    return solve_triangular(system, factors * products, upper=True, unitriangular=True)


def _identity(like: Tensor, rows: int, columns: int) -> Tensor:
    result: Tensor = note_constant(wrap(np.eye(rows, columns, dtype=like._array.dtype)))
    return result


def _no_derivative(g: Any) -> Tensor:
    raise NotImplementedError(
        "the derivative for 'geqrf' is not implemented.\n  linalg.qr has one."
        + errors.at_user_line()
    )


def _geqrf(self: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    *batch, rows, columns = self.shape
    if not self.size:
        return kernels.lapack.by_columns(self.copy()), np.zeros(
            (*batch, min(rows, columns)), self.dtype
        )
    transposed, tau = np.linalg.qr(self, mode="raw")
    factors = transposed.swapaxes(-2, -1).astype(self.dtype, copy=False)
    return kernels.lapack.by_columns(factors), tau.astype(self.dtype, copy=False)


def _ormqr_out_words(want: dtypes.dtype, have: dtypes.dtype) -> str:
    return (
        "torch.ormqr: Expected input and result to have the same dtype, but input has dtype"
        f"{want.scalar_name} and result has dtype {have.scalar_name}"
    )


GEQRF = Op("geqrf", _geqrf, outputs=2, grads={"self": _no_derivative})


@public(checked=True)
@casts(FLOAT32)
def geqrf(input: Tensor) -> define.return_types.geqrf:
    """The QR decomposition in LAPACK's compact form: R, and the reflections whose product is Q.

    Args:
        input: matrices of shape (..., m, n)

    Returns a named tuple (a, tau): R in the upper triangle of `a`, the vectors of the reflections
    below it, their factors in `tau`. `householder_product` and `ormqr` take both. There is no
    derivative, as in PyTorch: `linalg.qr` has one.

    Example:
        >>> a, tau = clew.geqrf(clew.tensor([[3., 1.], [4., 2.]]))
        >>> a.triu()
        tensor([[-5.0000, -2.2000],
                [ 0.0000,  0.4000]])
    """
    if input._array.ndim < 2:
        raise RuntimeError(
            "torch.geqrf: input must have at least 2 dimensions." + errors.at_user_line()
        )
    require_kernel("geqrf_cpu", input)
    if input.dtype.is_complex:
        refuse_complex_history("geqrf", input)
    return define.return_types.geqrf(*GEQRF(input))


@public(checked=True, out=input_dtype(_ormqr_out_words, may_alias=True))
@casts(FLOAT32)
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """Q times `other`, for the Q that reflections describe, without making Q.

    Args:
        input: the vectors of the reflections, below the diagonal, shape (..., m, k); see `geqrf`
        tau: their factors, shape (..., k)
        other: what to multiply, shape (..., m, n), or (..., n, m) on the left of Q
        left: whether Q stands on the left
        transpose: whether Qᴴ takes the place of Q

    Example:
        >>> A = clew.tensor([[3., 1.], [4., 2.]])
        >>> a, tau = clew.geqrf(A)
        >>> clew.ormqr(a, tau, a.triu()).round(decimals=4)
        tensor([[3., 1.],
                [4., 2.]])
    """
    _check_ormqr(input, tau, other, left)
    count = tau._array.shape[-1]
    vectors = _vectors(input)
    # B Q is (Q^H B^H)^H.
    result, adjoint = (other, transpose) if left else (other.mH, not transpose)
    # Q = H_1 H_2 ...: what stands next to `other` comes first.
    # Without any reflection, the empty products still give the result its history.
    starts = range(0, max(count, 1), _REFLECTIONS)
    for start in starts if adjoint else reversed(starts):
        part = slice(start, min(start + _REFLECTIONS, count))
        is_all = count == vectors._array.shape[-1] <= _REFLECTIONS
        some, factors = (vectors, tau) if is_all else (vectors[..., :, part], tau[..., part])
        rotated = some.mH
        weights = _weights(rotated @ some, factors, rotated @ result, adjoint)
        result = result - some @ weights
    product: Tensor = ORMQR(result if left else result.mH)
    return product


def _check_ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    for name, value in (("input", input), ("other", other)):
        if value._array.ndim < 2:
            raise _ormqr_error(f"{name} must have at least 2 dimensions.")
    side = -2 if left else -1
    have = other._array.shape[side]
    rows, columns = input._array.shape[-2:]
    if have < tau._array.shape[-1]:
        raise _ormqr_error(f"other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if have != rows:
        raise _ormqr_error(f"other.shape[{side}] must be equal to input.shape[-2]")
    if tau._array.shape[-1] != min(have, columns):
        raise _ormqr_error(
            f"tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        )
    ndim = input._array.ndim
    if tau._array.ndim != ndim - 1:
        raise _ormqr_error(
            "Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{tau._array.ndim} and input.ndim is equal to {ndim}"
        )
    if other._array.ndim != ndim:
        raise _ormqr_error(
            "Expected other to have the same number of dimensions as input, but got other.ndim "
            f"equal to {other._array.ndim} and input.ndim is equal to {ndim}"
        )
    for name, value in (("tau", tau), ("other", other)):
        lead = slice(None, -1 if name == "tau" else -2)
        if value._array.shape[lead] != input._array.shape[:-2]:
            raise _ormqr_error(
                f"Expected batch dimensions of {name} to be equal to input.shape[:-2], but got "
                f"{errors.shape_list(value._array.shape[lead])}"
            )
        if value.dtype is not input.dtype:
            raise _ormqr_error(
                f"Expected input and {name} to have the same dtype, but input has dtype"
                f"{input.dtype.scalar_name} and {name} has dtype {value.dtype.scalar_name}"
            )
    require_kernel("ormqr_cpu", input)


def _ormqr_error(text: str) -> RuntimeError:
    return RuntimeError(f"torch.ormqr: {text}" + errors.at_user_line())
