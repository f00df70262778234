"""The products that `clew.sparse` has, and PyTorch's older ones with sparse results."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend.dtypes import complex64, complex128, float32, float64
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp, could_not_run
from clew.ops.create.constants import zeros
from clew.ops.sparse.core_ops import PICK
from clew.ops.sparse.inspection import write
from clew.ops.sparse.pointwise import values_of, with_values
from clew.ops.sparse.products import MASKED_MM, SAMPLE, check_factors, mm, plus, rows_of
from clew.ops.sparse.tensor import CSR, TITLES, backend_of, batch_dims, coo, is_coo, is_sparse, rule


def sparse_mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices, with a sparse gradient for a sparse factor.

    Args:
        mat1: a sparse matrix
        mat2: a sparse or strided matrix
        reduce: for CSR, what is done with the products of a row and a column: "sum", "mean",
            "amax" or "amin"

    Example:
        >>> a = clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse().requires_grad_()
        >>> y = clew.sparse.mm(a, clew.ones(2, 1))
        >>> y.tolist()
        [[3.0], [4.0]]
        >>> y.sum().backward()
        >>> a.grad.values()
        tensor([1., 1.])
    """
    if reduce is not None:
        return _reduced(mat1, mat2, reduce)
    if not is_sparse(mat1) and not is_sparse(mat2):
        result: Tensor = mat1.mm(mat2)
        return result
    check_factors(mat1, mat2)
    product: Tensor = MASKED_MM(mat1, mat2)
    return product


SINGLE_OR_DOUBLE = (float32, float64, complex64, complex128)
_REDUCE = ("sum", "mean", "amax", "amin", "prod")


def _reduced(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    if reduce not in _REDUCE:
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got "
            f"{reduce}" + errors.at_user_line()
        )
    if not is_sparse(mat1) or mat1._kind is not CSR:
        raise could_not_run(
            "_sparse_mm_reduce_impl", backend_of((mat1,)) if is_sparse(mat1) else "CPU"
        )
    check_factors(mat1, mat2)
    starts, columns, _ = rows_of(mat1)
    if len(columns) and not mat1.dtype.is_floating_point:
        raise errors.no_kernel("spmm_reduce_kernel", mat1.dtype)
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    products = values_of(mat1).unsqueeze(1) * mat2.index_select(0, wrap(columns))
    width = mat2._layout.shape[1]
    target = zeros(len(starts) - 1, width, dtype=products.dtype)
    index = wrap(row.astype(np.int64)).unsqueeze(1).expand(len(row), width)
    result: Tensor = target.scatter_reduce(0, index, products, reduce, include_self=False)
    return result


def sparse_addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> Tensor:
    """beta · mat + alpha · mat1 · mat2, with a sparse gradient for a sparse factor.

    Args:
        mat: a strided matrix
        mat1: a sparse matrix
        mat2: a strided matrix
        beta: the factor of `mat`
        alpha: the factor of the product

    Example:
        >>> a = clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse()
        >>> clew.sparse.addmm(clew.ones(2, 1), a, clew.ones(2, 1))
        tensor([[4.],
                [5.]])
    """
    return plus(sparse_mm(mat1, mat2), mat, beta, alpha)


def _conjugate(factor: Any) -> Any:
    return factor.conjugate() if isinstance(factor, complex) else factor


# The gradient of the sparse matrix has the layout of the one that comes in.
SAMPLED_ADDMM = LayoutOp(
    "sparse_sampled_addmm",
    lambda self, products, *, places, beta, alpha: with_values(
        places, values_of(self) * beta + products * alpha
    ),
    grads={
        "self": lambda g, beta: g * _conjugate(beta),
        "products": lambda g, places, alpha: PICK(g, places=places) * _conjugate(alpha),
    },
)  # fmt: skip


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """beta · input + alpha · (mat1 · mat2), at the places that `input` lists.

    Args:
        input: a sparse matrix in CSR
        mat1: a strided matrix
        mat2: a strided matrix
        beta: the factor of `input`
        alpha: the factor of the product
        out: the tensor to store the result in; None makes a new one

    Example:
        >>> places = clew.eye(2).to_sparse_csr()
        >>> clew.sparse.sampled_addmm(places, clew.ones(2, 3), clew.ones(3, 2)).values()
        tensor([4., 4.])
    """
    if not is_sparse(input) or input._kind is not CSR:
        raise could_not_run(
            "sparse_sampled_addmm", backend_of((input,)) if is_sparse(input) else "CPU"
        )
    one, two, shape = mat1._layout.shape, mat2._layout.shape, input._layout.shape
    if one[-1] != two[-2]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({one[-2]}x{one[-1]} and "
            f"{two[-2]}x{two[-1]})" + errors.at_user_line()
        )
    for mine, theirs, name in ((shape[-2], one[-2], "mat1"), (shape[-1], two[-1], "mat2")):
        if mine != theirs:
            raise RuntimeError(
                f"sampled_addmm: self.shape[{-2 if name == 'mat1' else -1}] must match "
                f"{name}.shape[{-2 if name == 'mat1' else -1}]" + errors.at_user_line()
            )
    if input.dtype not in SINGLE_OR_DOUBLE:
        raise RuntimeError(
            "sparse_sampled_addmm: Expected self to be a floating-point or complex tensor, but got "
            f"{input.dtype.scalar_name}" + errors.at_user_line()
        )
    if out is not None and not (is_sparse(out) and out._kind is CSR):
        raise RuntimeError(
            "sampled_addmm: Expected result to have sparse csr layout, but got "
            f"{TITLES[out.layout]}" + errors.at_user_line()
        )
    places = input.without_history()
    if batch_dims(input):
        products = PICK(mat1 @ mat2, places=places)
    else:
        products = SAMPLE(mat1, mat2.t(), places=places)
    result: Tensor = SAMPLED_ADDMM(input, products, places=places, beta=beta, alpha=alpha)
    return result if out is None else write(out, result, "out=")


@rule("smm")
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse and a strided matrix, as a sparse one."""
    product = sparse_mm(input, mat)
    return product if is_sparse(product) else product.to_sparse()


@rule("hspmm")
def hspmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same with sparse rows and dense columns."""
    if not is_coo(mat1):
        raise could_not_run("hspmm", "SparseCsrCPU")
    rows = wrap(np.unique(mat1._parts[0]._array[0]))
    product = mm(mat1, mat2)[rows]
    shape = mat1._layout.shape[0], mat2._layout.shape[1]
    return with_values(coo(rows._array[None], product.detach(), shape, True), product)


@rule("sspaddmm")
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """beta · input + alpha · mat1 · mat2, as a sparse matrix."""
    if not is_coo(mat1):
        raise could_not_run("sspaddmm", "SparseCsrCPU")
    return input * beta + smm(mat1, mat2) * alpha
