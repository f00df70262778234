"""The QR decomposition."""

from __future__ import annotations

import numpy as np

from clew import errors
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.ops import define
from clew.ops.define.out_checks import exact
from clew.ops.linalg.checks import (
    require_inexact,
    require_kernel,
    require_matrices,
    warn_of_newer,
)
from clew.ops.linalg.decompositions import Array, Grads, with_diagonal
from clew.ops.linalg.solve import solve_triangular
from clew.ops.shape.joining import cat


def _qr(self: Array, *, mode: str) -> tuple[Array, Array]:
    rows, columns = self.shape[-2:]
    if mode == "r":
        return np.empty(0, self.dtype), _qr(self, mode="reduced")[1]
    if not self.size:
        size = rows if mode == "complete" else min(rows, columns)
        Q = np.broadcast_to(np.eye(rows, size, dtype=self.dtype), (*self.shape[:-2], rows, size))
        return Q.copy(), np.zeros((*self.shape[:-2], size, columns), self.dtype)
    Q, R = np.linalg.qr(self, mode=mode)  # type: ignore[call-overload]  # mode is one of two here
    return kernels.lapack.by_columns(Q), kernels.lapack.by_columns(R)


def _qr_grad(g: Grads, out0: Tensor, out1: Tensor, mode: str) -> Tensor | None:
    of_q, of_r = g
    if of_q is None and of_r is None:
        return None
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to require gradients on A."
            + errors.at_user_line()
        )
    rows, columns = out0._array.shape[-2], out1._array.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
            + errors.at_user_line()
        )
    of_q = wrap(np.zeros_like(out0._array)) if of_q is None else of_q
    of_r = wrap(np.zeros_like(out1._array)) if of_r is None else of_r
    if columns <= rows:
        return _square_qr_grad(of_q, of_r, out0, out1)
    # Only the left block is decomposed; the right one is Q^H times that part of A.
    right, of_right = out1[..., :, rows:], of_r[..., :, rows:]
    of_q = of_q + (out0 @ right) @ of_right.mH
    left = _square_qr_grad(of_q, of_r[..., :, :rows], out0, out1[..., :, :rows])
    return cat([left, out0 @ of_right], -1)


def _square_qr_grad(of_q: Tensor, of_r: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    product = (of_r @ R.mH - Q.mH @ of_q).triu()
    mirrored = product + product.mH
    diagonal = product.diagonal(0, -2, -1)
    # The diagonal of R is real: only the real part of what reaches it counts, once.
    real = diagonal.real.to(product.dtype) if product.dtype.is_complex else diagonal
    symmetric = with_diagonal(mirrored, real)
    return solve_triangular(R.mH, of_q + Q @ symmetric, upper=False, left=False)


LINALG_QR = Op("linalg_qr", _qr, outputs=2, grads={"self": _qr_grad})


@casts(FLOAT32)
def qr(A: Tensor, mode: str = "reduced") -> define.return_types.linalg_qr:
    """`A = Q R` with orthonormal columns in Q and an upper triangle R.

    Args:
        A: (..., m, n)
        mode: "reduced": Q is (m, min(m, n)); "complete": Q is (m, m); "r": Q is empty

    Example:
        >>> A = clew.tensor([[3., 1.], [4., 2.]])
        >>> Q, R = clew.linalg.qr(A)
        >>> clew.allclose(Q @ R, A), R[1, 0]
        (True, tensor(0.))
    """
    require_matrices("linalg.qr", A)
    require_inexact("linalg.qr", A)
    require_kernel("geqrf_cpu", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'" + errors.at_user_line()
        )
    return define.return_types.linalg_qr(*LINALG_QR(A, mode=mode))


@public(name="qr", accept=exact)
def _old_qr(input: Tensor, some: bool = True) -> define.return_types.qr:
    """The QR decomposition; `linalg.qr` is its newer form.

    Args:
        input: (..., m, n)
        some: True for the reduced form, False for the complete one

    Example:
        >>> Q, R = clew.qr(clew.eye(3, 2))
        >>> Q.shape, R.shape
        (torch.Size([3, 2]), torch.Size([2, 2]))
    """
    warn_of_newer("qr", "qr")
    return define.return_types.qr(*qr(input, mode="reduced" if some else "complete"))
