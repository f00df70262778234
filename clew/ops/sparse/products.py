"""Products with sparse matrices.

`mm` and `matmul` give a sparse factor the gradient that any factor has; `sparse.mm` and
`sparse.addmm` only its elements at the places that the factor lists, which are computed alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp
from clew.kernels import compiled
from clew.ops.sparse.conversion import as_coo, dense, sparse_mask, to_layout
from clew.ops.sparse.inspection import write
from clew.ops.sparse.pointwise import with_values
from clew.ops.sparse.tensor import (
    COO,
    CSR,
    coo,
    coordinates,
    is_coo,
    is_sparse,
    merged,
    of_parts,
    rule,
    summed,
)

Array = np.ndarray
# Elements of products that are formed at once, before they are summed.
_AT_ONCE = 1 << 22


# -- over arrays -----------------------------------------------------------------------------------


def rows_of(tensor: Tensor) -> tuple[Array, Array, Array]:
    """A sparse matrix as CSR: where rows begin, columns, values. Indices may repeat."""
    shape = tensor._layout.shape
    if tensor._kind is CSR:
        starts, columns, values = (part._array for part in tensor._parts)
    else:
        coords = as_coo(tensor)
        (row, columns), values = coords._parts[0]._array, coords._parts[1]._array
        if not coords._is_merged:
            order = np.argsort(row, kind="stable")
            row, columns, values = row[order], columns[order], values[order]
        starts = np.zeros(shape[0] + 1, np.int64)
        _check_range(row, shape[0])
        np.cumsum(np.bincount(row, minlength=shape[0]), out=starts[1:])
    _check_range(columns, shape[1])
    if (
        len(starts) != shape[0] + 1
        or starts[0]
        or starts[-1] != len(columns)
        or np.any(starts[1:] < starts[:-1])
    ):
        raise RuntimeError(
            "the compressed indices of a sparse matrix must rise from 0 to nnz"
            + errors.at_user_line()
        )
    return (
        np.ascontiguousarray(starts, np.int64),
        np.ascontiguousarray(columns, np.int64),
        np.ascontiguousarray(values),
    )


def _check_range(indices: Array, size: int) -> None:
    """Nothing outside is read, whatever a tensor lists."""
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        raise RuntimeError(
            f"a sparse matrix lists an index outside of its size {size}" + errors.at_user_line()
        )


def csr_times(parts: tuple[Array, Array, Array], matrix: Array) -> Array:
    """CSR times a strided matrix."""
    starts, columns, values = parts
    if matrix.dtype in compiled.sparse_products.KINDS:
        values = np.ascontiguousarray(values, matrix.dtype)
        matrix = np.ascontiguousarray(matrix)
        return compiled.sparse_products.product(starts, columns, values, matrix)
    out = np.zeros((len(starts) - 1, matrix.shape[1]), matrix.dtype)
    row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    wide = wrap(values)[:, None] * wrap(matrix[columns])
    return out if not len(row) else summed(wide._array, row, len(out))


def _both_sparse(one: Tensor, two: Tensor) -> Tensor:
    """The product of two sparse matrices, in coordinates."""
    starts, columns, values = rows_of(one)
    others, other_columns, other_values = rows_of(two)
    shape = one._layout.shape[0], two._layout.shape[1]
    row = np.repeat(np.arange(shape[0]), np.diff(starts))
    number = np.diff(others)[columns]
    entry = np.repeat(np.arange(len(columns)), number)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(number) - number, number)
    partner = others[columns[entry]] + within
    products = wrap(values[entry]) * wrap(other_values[partner])
    places = np.stack([row[entry], other_columns[partner]])
    return merged(coo(places, products, shape))


def _product(self: Tensor, mat2: Tensor) -> Tensor:
    if is_sparse(self) and is_sparse(mat2):
        result = _both_sparse(self, mat2)
        return result if is_coo(self) else to_layout(result, CSR)
    if is_sparse(self):
        return wrap(csr_times(rows_of(self), mat2._array))
    turned = wrap_transposed(mat2)
    return wrap(np.ascontiguousarray(csr_times(rows_of(turned), self._array.T).T))


def wrap_transposed(tensor: Tensor) -> Tensor:
    """The transpose, without history."""
    coords = as_coo(tensor)
    places, values = coords._parts
    return of_parts(COO, (wrap(places._array[::-1]), values), tensor._layout.shape[::-1])


def sampled_products(one: Array, two: Array, rows: Array, columns: Array) -> Array:
    """one[rows[k]] times two[columns[k]], for each k."""
    out = np.empty(len(rows), np.result_type(one, two))
    step = max(_AT_ONCE // max(one.shape[1], 1), 1)
    for begin in range(0, len(rows), step):
        part = slice(begin, begin + step)
        pair = one[rows[part]], two[columns[part]]
        if out.dtype.kind == "V":
            pair = pair[0].astype(np.float32), pair[1].astype(np.float32)
        out[part] = np.einsum("ij,ij->i", *pair)
    return out


# -- operations ------------------------------------------------------------------------------------


def _turned(tensor: Tensor) -> Tensor:
    """The conjugate transpose."""
    result: Tensor = tensor.t()
    return result.conj() if result.dtype.is_complex else result


MM = LayoutOp(
    "sparse_mm", _product, node="MmBackward0",
    grads={
        "self": lambda g, mat2: g.mm(_turned(mat2)),
        "mat2": lambda g, self: _turned(self).mm(g),
    },
)  # fmt: skip


def _sample(one: Tensor, two: Tensor, *, places: Tensor) -> Tensor:
    rows, columns = np.broadcast_arrays(*coordinates(places))
    if rows.ndim > 1:
        return wrap(np.matmul(one._array, two._array.T)[rows, columns])
    return wrap(sampled_products(one._array, two._array, rows, columns))


def _conj(tensor: Tensor) -> Tensor:
    return tensor.conj() if tensor.dtype.is_complex else tensor


# one[row] times two[column] at the places of a sparse matrix: its values.
SAMPLE = LayoutOp(
    "sparse_sampled_products", _sample,
    grads={
        "one": lambda g, two, places: with_values(places, g) @ _conj(two),
        "two": lambda g, one, places: with_values(places, g).t() @ _conj(one),
    },
)  # fmt: skip


def _masked_gradient(g: Tensor, self: Tensor, mat2: Tensor) -> Tensor:
    """The gradient of a sparse factor at the places that it lists."""
    if not is_sparse(self):
        result: Tensor = g.mm(_turned(mat2))
        return result
    if is_sparse(mat2) or is_sparse(g):
        return sparse_mask(g.mm(_turned(mat2)), self)
    places = self.without_history()
    return with_values(places, SAMPLE(g, _conj(mat2), places=places))


def _other_gradient(g: Tensor, self: Tensor, mat2: Tensor) -> Tensor:
    result: Tensor = _turned(self).mm(g)
    if not is_sparse(mat2):
        return dense(result)
    return sparse_mask(result, mat2)


MASKED_MM = LayoutOp(
    "sparse_addmm", _product, node="SparseAddmmBackward0",
    grads={"self": _masked_gradient, "mat2": _other_gradient},
)  # fmt: skip


def check_factors(mat1: Tensor, mat2: Tensor) -> None:
    for name, each in (("mat1", mat1), ("mat2", mat2)):
        if each._layout.ndim != 2:
            raise RuntimeError(
                f"{name} must be a matrix, got {each._layout.ndim}-D tensor" + errors.at_user_line()
            )
    rows, columns = mat1._layout.shape, mat2._layout.shape
    if rows[1] != columns[0]:
        if is_coo(mat1):
            raise RuntimeError(
                f"addmm: Argument #3 (dense): Expected dim 0 size {rows[1]}, got {columns[0]}"
                + errors.at_user_line()
            )
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows[0]}x{rows[1]} and "
            f"{columns[0]}x{columns[1]})" + errors.at_user_line()
        )
    if mat1.dtype is not mat2.dtype:
        raise RuntimeError(
            f"addmm: expected mat1 and mat2 to have the same dtype, but got: {mat1.dtype.c_name} "
            f"!= {mat2.dtype.c_name}" + errors.at_user_line()
        )


def _stored(result: Tensor, out: Tensor | None) -> Tensor:
    if out is None:
        return result
    return write(out, result, "out=") if is_sparse(out) else out.copy_(dense(result))


@rule("mm")
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices; strided unless both are sparse."""
    check_factors(input, mat2)
    return _stored(MM(input, mat2), out)


@rule("addmm")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """beta · input + alpha · mat1 · mat2."""
    return _stored(plus(mm(mat1, mat2), input, beta, alpha), out)


def plus(product: Tensor, input: Tensor, beta: Any, alpha: Any) -> Tensor:
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled
    start = input if beta == 1 else input * beta
    if is_sparse(start) != is_sparse(scaled):
        start, scaled = dense(start), dense(scaled)
    return start + scaled


@rule("addmm_")
def addmm_(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`addmm` in place."""
    result = addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return write(self, result, "addmm_") if is_sparse(self) else self.copy_(result)


@rule("mv")
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a sparse matrix and a vector."""
    if input._layout.ndim != 2 or vec._layout.ndim != 1:
        raise RuntimeError(
            f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: "
            f"{input._layout.ndim} Tensor Dim: {vec._layout.ndim}" + errors.at_user_line()
        )
    if input._layout.shape[1] != vec._layout.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)" + errors.at_user_line())
    return _stored(mm(input, vec.unsqueeze(-1)).squeeze(-1), out)


@rule("matmul", "__matmul__")
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product by the number of dimensions."""
    ranks = input._layout.ndim, other._layout.ndim
    if ranks == (2, 2):
        return mm(input, other, out=out)
    if ranks == (2, 1):
        return mv(input, other, out=out)
    if ranks == (1, 2):
        return mv(other.t(), input, out=out)
    if ranks == (3, 3):
        return _stored(bmm(input, other), out)
    raise RuntimeError(
        f"expand is unsupported for {'Sparse' if is_coo(input) else 'SparseCsr'} tensors\n  "
        "matmul of sparse tensors takes vectors, matrices and batches of matrices"
        + errors.at_user_line()
    )


@rule("__rmatmul__")
def rmatmul(self: Tensor, other: Tensor) -> Tensor:
    return matmul(other, self)


@rule("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear` with a sparse weight or input."""
    result = matmul(input, weight.t())
    return result if bias is None else result + bias


# -- batches ---------------------------------------------------------------------------------------


def _one_matrix(tensor: Tensor) -> Tensor:
    """A batch of matrices as one matrix with them along its diagonal."""
    batch, rows, columns = tensor._layout.shape
    coords = as_coo(tensor)
    which, row, column = coords._parts[0]._array
    places = np.stack([which * rows + row, which * columns + column])
    shape = batch * rows, batch * columns
    return of_parts(COO, (wrap(places), coords._parts[1]), shape, coords._is_merged)


def _batch_product(self: Tensor, mat2: Tensor) -> Tensor:
    batch, rows, _ = self._layout.shape
    flat = mat2._array.reshape(-1, mat2._array.shape[2])
    product = csr_times(rows_of(_one_matrix(self)), np.ascontiguousarray(flat))
    return wrap(product.reshape(batch, rows, -1))


BMM = LayoutOp(
    "sparse_bmm", _batch_product, node="BmmBackward0",
    grads={
        "self": lambda g, mat2: g.bmm(_conj(mat2).transpose(1, 2)),
        "mat2": lambda g, self: _conj(self).transpose(1, 2).bmm(g),
    },
)  # fmt: skip


@rule("bmm")
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products of the matrices of two batches; the first is sparse."""
    if is_sparse(mat2):
        raise RuntimeError("bmm_sparse: Tensor 'mat2' must be dense" + errors.at_user_line())
    if input._layout.ndim != 3 or mat2._layout.ndim != 3:
        raise RuntimeError(
            "bmm_sparse: Tensor 'self' must have 3 dims, but has "
            f"{input._layout.ndim}" + errors.at_user_line()
        )
    if input._layout.shape[0] != mat2._layout.shape[0]:
        raise RuntimeError(
            "bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match" + errors.at_user_line()
        )
    if input._layout.shape[2] != mat2._layout.shape[1]:
        raise RuntimeError(
            "bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match" + errors.at_user_line()
        )
    return _stored(BMM(input, mat2), out)
