"""Determinants and their logarithms: det, slogdet, logdet."""

from __future__ import annotations

import math

import numpy as np

from clew.core.interception import note_constant
from clew.core.op import Op
from clew.core.public import public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.ops import define
from clew.ops.define.out_checks import exact
from clew.ops.linalg.checks import (
    refuse_low_precision,
    require_inexact,
    require_kernel,
    require_square,
)
from clew.ops.linalg.decompositions import svd
from clew.ops.linalg.inverse import inv_ex
from clew.ops.linalg.solve import solve
from clew.ops.pointwise.clamping import where
from clew.ops.shape.joining import cat, stack

Array = np.ndarray


# Inverses with a larger error than this are none.
_POOR = 0.01


def _cofactors(self: Array, g: Array, det: Array) -> Array:
    """g times the conjugate of the matrix of cofactors, which singular matrices have as well.

    That is the determinant times the inverse, where there is a good one.
    """
    with np.errstate(all="ignore"):
        inverse = _inverse_if_regular(self)
        if inverse is None:
            return _cofactors_by_svd(self, g)
        result = np.asarray((g * det.conj())[..., None, None] * kernels.lapack.adjoint(inverse))
        bound = kernels.lapack.condition_bound(self, inverse)
        poor = ~(bound * np.finfo(self.dtype).eps < _POOR)
        if poor.any():
            result[poor] = _cofactors_by_svd(self[poor], np.broadcast_to(g, poor.shape)[poor])
    return result


def _inverse_if_regular(matrices: Array) -> Array | None:
    if not matrices.size:
        return None
    try:
        return np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        return None


def _cofactors_by_svd(self: Array, g: Array) -> Array:
    U, S, Vh = np.linalg.svd(self)
    size = S.shape[-1]
    others = np.stack(
        [np.delete(S, k, -1).prod(-1) for k in range(size)], -1
    ) if size else S  # fmt: skip
    phase = np.linalg.det(U) * np.linalg.det(Vh)
    factor = g * phase.conj()
    return np.asarray((U * (others * factor[..., None])[..., None, :]) @ Vh)


COFACTORS = Op(
    "_linalg_cofactors", _cofactors, non_differentiable="used where no further gradient is wanted"
)


def _det_grad(g: Tensor, self: Tensor, out: Tensor) -> Tensor:
    state = local.state
    if not state.grad_enabled and state.intercept is None and not state.dual:
        return COFACTORS(self, g, out)
    if not self._array.size:
        return self.new_zeros(self._array.shape)
    if self._array.shape[-1] == 1:
        return g.unsqueeze(-1).unsqueeze(-1)
    if state.intercept is not None:
        singular = out.detach().abs() < _smallest(self)
    elif (np.abs(out._array) < _smallest(self)).any():
        singular = wrap(np.abs(out._array) < _smallest(self))
    else:
        return _det_grad_of_regular(g, self, out)
    # Each way gets only matrices that it can take, and harmless ones in place of the others.
    size = self._array.shape[-1]
    chosen = singular.unsqueeze(-1).unsqueeze(-1)
    harmless = note_constant(wrap(np.diag(np.arange(1, size + 1)).astype(self._array.dtype)))
    of_singular = _det_grad_of_singular(g, where(chosen, self, harmless))
    regular = where(chosen, harmless, self)
    return where(chosen, of_singular, _det_grad_of_regular(g, regular, out))


def _smallest(self: Tensor) -> float:
    """Determinants nearer to zero than this are those of singular matrices."""
    return 100 * float(np.finfo(self._array.dtype).eps)


def _det_grad_of_regular(g: Tensor, self: Tensor, out: Tensor) -> Tensor:
    scaled = (g * out.conj()).unsqueeze(-1).unsqueeze(-1)
    identity = note_constant(wrap(np.eye(self._array.shape[-1], dtype=self._array.dtype)))
    return solve(self.mH, scaled * identity)


def _det_grad_of_singular(g: Tensor, self: Tensor) -> Tensor:
    U, S, Vh = svd(self, full_matrices=False)
    size = S._array.shape[-1]
    others = [cat((S[..., :k], S[..., k + 1 :]), -1).prod(-1) for k in range(size)]
    factor = g * (LINALG_DET(U) * LINALG_DET(Vh)).conj()
    return (U * (stack(others, -1) * factor.unsqueeze(-1)).unsqueeze(-2)) @ Vh


def _det(self: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.linalg.det(self)).astype(self.dtype, copy=False)


LINALG_DET = Op("linalg_det", _det, grads={"self": _det_grad})


def _slogdet(self: Array) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        sign, log = np.linalg.slogdet(self)
    return np.asarray(sign), np.asarray(log)


def _slogdet_grad(g: tuple[Tensor | None, ...], self: Tensor, out0: Tensor) -> Tensor | None:
    of_sign, of_log = g
    weight = of_log
    if self.dtype.is_complex and of_sign is not None:
        turn = (of_sign.conj() * out0).imag * -1j
        weight = turn if of_log is None else of_log + turn
    if weight is None:
        return None
    # A singular matrix has no gradient here; inv_ex gives infinities instead of an error.
    inverse = inv_ex(self.mH).inverse
    return weight.unsqueeze(-1).unsqueeze(-1) * inverse


LINALG_SLOGDET = Op("linalg_slogdet", _slogdet, outputs=2, grads={"self": _slogdet_grad})


@public(accept=exact)
def det(A: Tensor) -> Tensor:
    """The determinant of square matrices.

    Args:
        A: (..., n, n)

    Example:
        >>> clew.linalg.det(clew.tensor([[2., 0.], [0., 3.]]))
        tensor(6.)
    """
    require_square("linalg.det", A)
    require_inexact("linalg.det", A)
    require_kernel("lu_cpu", A)
    return LINALG_DET(A)


@public(accept=exact)
def slogdet(A: Tensor) -> define.return_types.linalg_slogdet:
    """The sign (or phase) of the determinant and the logarithm of its absolute value.

    Where the determinant would overflow, this does not.

    Args:
        A: (..., n, n)

    Example:
        >>> sign, logabsdet = clew.linalg.slogdet(1000 * clew.eye(50))
        >>> sign, logabsdet
        (tensor(1.), tensor(345.3878))
    """
    require_square("linalg.slogdet", A)
    require_inexact("linalg.slogdet", A)
    refuse_low_precision("linalg.slogdet", A)
    return define.return_types.linalg_slogdet(*LINALG_SLOGDET(A))


@public(out=False)
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where it is negative.

    Args:
        input: (..., n, n)

    Example:
        >>> clew.logdet(clew.eye(3))
        tensor(0.)
    """
    require_square("logdet", input)
    require_inexact("logdet", input)
    refuse_low_precision("logdet", input)
    sign, log = LINALG_SLOGDET(input)
    if sign.dtype.is_complex:
        return sign.log() + log
    nan: Tensor = note_constant(wrap(np.full((), math.nan, log._array.dtype)))
    return nan.where(sign == -1, log)
