"""Batching rules of matrix products and linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clew.core.elementwise import NO_PARAMS
from clew.core.interception import note_constant
from clew.core.op import OPS
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import gemm
from clew.ops.batching.rules import (
    Call,
    declare,
    decomposed,
    front,
    mechanical,
    pad_rank,
    rules,
    together,
)
from clew.ops.linalg.matmul import BMM, MM, matmul
from clew.ops.shape.views import UNSAFE_RESHAPE

declare(
    together, "linalg_inv_ex", "linalg_cholesky_ex", "cholesky", "cholesky_inverse", "linalg_qr",
    "linalg_svd", "_linalg_svdvals", "linalg_eigh", "linalg_eig", "linalg_det", "linalg_slogdet",
    "linalg_matrix_exp", "linalg_lu", "linalg_lu_factor_ex", "lu_unpack", "_linalg_cofactors",
    "_linalg_matrix_rank", "_lu_permutation", "linalg_ldl_factor_ex", "geqrf",
    "lobpcg", "triangular_solve", "linalg_householder_product", "ormqr",
)  # fmt: skip


# -- products ----------------------------------------------------------------------------------


def _product(a: Tensor, a_batched: bool, b: Tensor, b_batched: bool) -> Tensor:
    """The products of the examples' matrices."""
    if a_batched and not b_batched and b._array.ndim == 2:
        return _by_rows(a, b, MM)
    state, first, second = local.state, a._array, b._array
    is_outer = a_batched and b_batched and first.shape[2] == 1 and first.dtype is second.dtype
    if is_outer and state.intercept is None and gemm.outer_product.are_large(first, second):
        # What each example gives for the gradient of a weight.
        return BMM.output(
            state, (a, b), NO_PARAMS, gemm.outer_product.outer_products(first, second)
        )
    product: Tensor = BMM(a, b)
    return product


def _by_rows(a: Tensor, b: Tensor, product: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """A product with one matrix for all: the rows of the examples are the rows of a matrix."""
    size, rows, inner = a._array.shape
    flat = product(a.reshape((size * rows, inner)), b)
    apart: Tensor = UNSAFE_RESHAPE(flat, shape=(size, rows, b._array.shape[1]))
    return apart


@rules("mm")
def _mm(call: Call) -> Tensor:
    return _product(call.inputs[0], call.batched[0], call.inputs[1], call.batched[1])


@rules("_int_mm")
def _int_mm(call: Call) -> Any:
    return OPS["_int_mm"](*call.inputs)


@rules("bmm")
def _bmm(call: Call) -> Any:
    a, b = call.inputs
    rank = max(call.ndim(0), call.ndim(1))
    if call.batched[0]:
        a = pad_rank(a, rank)
    if call.batched[1]:
        b = pad_rank(b, rank)
    return BMM(a, b)


def _mv_product(mat: Tensor, mat_batched: bool, vec: Tensor, vec_batched: bool) -> Tensor:
    if not mat_batched:
        # Examples are the rows of one matrix.
        return matmul(vec, mat.t())
    if not vec_batched:
        return matmul(mat, vec)
    product: Tensor = BMM(mat, vec.unsqueeze(-1)).squeeze(-1)
    return product


@rules("mv")
def _mv(call: Call) -> Tensor:
    return _mv_product(call.inputs[0], call.batched[0], call.inputs[1], call.batched[1])


@rules("dot", "vdot")
def _dot(call: Call) -> Tensor:
    a, b = call.inputs
    if call.op.name == "vdot":
        a = a.conj()
    if not call.batched[0]:
        return matmul(b, a)
    if not call.batched[1]:
        return matmul(a, b)
    product: Tensor = BMM(a.unsqueeze(1), b.unsqueeze(2))
    return product.reshape(call.size)


def _added(call: Call, product: Tensor) -> Tensor:
    """`beta * self + alpha * product`, where self broadcasts to one example's product."""
    if not any(call.batched[1:]):
        product = front(product, call.size)
    alpha, beta = call.params.get("alpha", 1), call.params.get("beta", 1)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    added = call.inputs[0]
    if call.batched[0]:
        added = pad_rank(added, product._array.ndim - 1)
    return product + (added if beta == 1 else added * beta)


@rules("addmm", "addmm.scaled", "baddbmm")
def _addmm(call: Call) -> Tensor:
    added, a, b = call.inputs
    if not any(call.batched[1:]):
        return _added(call, matmul(a, b))
    if call.batched == (False, True, False) and added._array.ndim == 1 and a._array.ndim == 3:
        return _by_rows(a, b, lambda rows, b: call.op(added, rows, b, **call.params))
    return _added(call, _product(a, call.batched[1], b, call.batched[2]))


@rules("addmv")
def _addmv(call: Call) -> Tensor:
    mat, vec = call.inputs[1:]
    if not any(call.batched[1:]):
        return _added(call, matmul(mat, vec))
    return _added(call, _mv_product(mat, call.batched[1], vec, call.batched[2]))


@rules("addr")
def _addr(call: Call) -> Tensor:
    first, second = call.inputs[1:]
    return _added(call, first.unsqueeze(-1) * second.unsqueeze(-2))


@rules("addbmm")
def _addbmm(call: Call) -> Tensor:
    return _added(call, BMM(*call.inputs[1:]).sum(-3))


@rules("trace")
def _trace(call: Call) -> Tensor:
    total: Tensor = call.inputs[0].diagonal(0, 1, 2).sum(-1)
    return total


@rules("linalg_cross")
def _cross(call: Call) -> Any:
    rank = max(call.ndim(0), call.ndim(1))
    a, b = (pad_rank(value, rank) for value in call.all_batched())
    dim = call.params["dim"] % rank + 1
    shape = [max(m, n) for m, n in zip(a._array.shape, b._array.shape, strict=True)]
    return call.op(a.expand(shape), b.expand(shape), dim=dim)


# -- systems -----------------------------------------------------------------------------------


def _aligned_matrices(call: Call, positions: tuple[int, ...]) -> list[Any]:
    """Matrices whose leading dimensions broadcast, with the examples in front of all."""
    rank = max(call.ndim(position) for position in positions)
    values = call.all_batched()
    return [
        pad_rank(value, rank) if position in positions else value
        for position, value in enumerate(values)
    ]


@rules("linalg_solve_triangular", "cholesky_solve")
def _triangular(call: Call) -> Any:
    return call.op(*_aligned_matrices(call, (0, 1)), **call.params)


@rules("linalg_solve_ex")
def _solve(call: Call) -> Any:
    a, b = call.all_batched()
    if not call.params["vector"]:
        return call.op(*_aligned_matrices(call, (0, 1)), **call.params)
    columns = b.unsqueeze(-1)
    rank = max(a._array.ndim, columns._array.ndim) - 1
    params = dict(call.params, vector=False)
    if not call.params["left"]:
        params["left"] = True
    result, info = call.op(pad_rank(a, rank), pad_rank(columns, rank), **params)
    return result.squeeze(-1), info


@rules("linalg_lu_solve", "linalg_ldl_solve")
def _lu_solve(call: Call) -> Any:
    factors, pivots, b = call.all_batched()
    rank = max(call.ndim(0), call.ndim(2))
    factors, b = pad_rank(factors, rank), pad_rank(b, rank)
    return call.op(factors, pad_rank(pivots, rank - 1), b, **call.params)


@rules("linalg_pinv")
def _pinv(call: Call) -> Any:
    params = dict(call.params)
    for name in ("atol", "rtol"):
        value = params[name]
        if isinstance(value, Tensor) and call.level.is_batched(value):
            params[name] = call.level.lower(value)
    return call.op(call.inputs[0], **params)


@rules("linalg_lstsq")
def _lstsq(call: Call) -> Any:
    a, b = call.all_batched()
    is_vector = call.ndim(1) < call.ndim(0)
    if is_vector:
        b = b.unsqueeze(-1)
    rank = max(a._array.ndim, b._array.ndim) - 1
    solution, *others = call.op(pad_rank(a, rank), pad_rank(b, rank), **call.params)
    # What a driver does not compute is empty, without the dimensions of a batch.
    others = [each if each._array.size else front(each, call.size) for each in others]
    return (solution.squeeze(-1) if is_vector else solution), *others


# -- distances ---------------------------------------------------------------------------------


@rules("cdist")
def _cdist(call: Call) -> Any:
    return call.op(*_aligned_matrices(call, (0, 1)), **call.params)


@decomposed("pdist")
def _pdist(self: Tensor, *, p: float) -> Tensor:
    n = self._array.shape[0]
    rows, columns = np.triu_indices(n, 1)
    first, second = (note_constant(wrap(each)) for each in (rows, columns))
    difference = self.index_select(0, first) - self.index_select(0, second)
    norm: Tensor = OPS["linalg_vector_norm"](
        difference, ord=p, dims=(1,), keepdim=False, dtype=self._array.dtype
    )
    return norm


declare(mechanical(dims=("dims",)), "_fft_c2c", "_fft_r2c", "_fft_c2r")
