"""The methods of strided tensors that are about sparse ones.

What they do is imported when it is first needed. Sparse tensors have rules of their own under the
same names (`ops/sparse/tensor.py: RULES`); only those that begin with `_` are asked for here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.backend import layout as layouts
from clew.core.public import FUNCTIONS, methods
from clew.core.tensor import Tensor
from clew.core.unstrided import could_not_run
from clew.ops.define.options import MAKE_UNSTRIDED


def _conversion() -> Any:
    from clew.ops.sparse import conversion

    return conversion


def _zeros(layout: Any, shape: tuple[int, ...], dtype: Any) -> Tensor:
    from clew.ops.sparse import construction

    result: Tensor = construction.empty_of(layout, shape, dtype)
    return result


MAKE_UNSTRIDED.append(_zeros)


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """A sparse copy that lists the elements other than zero.

    Args:
        sparse_dim: how many dimensions are sparse, in coordinate format; by default all
        layout: another layout than `clew.sparse_coo`
        blocksize: the size of a block, for `clew.sparse_bsr` and `clew.sparse_bsc`
        dense_dim: how many of the last dimensions are dense

    Example:
        >>> clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse()
        tensor(indices=tensor([[0, 1],
                               [1, 0]]),
               values=tensor([3., 4.]),
               size=(2, 2), nnz=2, layout=torch.sparse_coo)
    """
    result: Tensor = _conversion().to_sparse(
        self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim
    )
    return result


def to_sparse_coo(self: Tensor) -> Tensor:
    """A copy in coordinate format.

    Example:
        >>> clew.eye(2).to_sparse_coo().indices()
        tensor([[0, 1],
                [0, 1]])
    """
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """A copy whose elements are listed row by row.

    Args:
        dense_dim: how many of the last dimensions are dense

    Example:
        >>> clew.eye(2).to_sparse_csr().crow_indices()
        tensor([0, 1, 2])
    """
    return _in_layout(self, "sparse_csr", None, dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """A copy whose elements are listed column by column.

    Args:
        dense_dim: how many of the last dimensions are dense

    Example:
        >>> clew.eye(2).to_sparse_csc().ccol_indices()
        tensor([0, 1, 2])
    """
    return _in_layout(self, "sparse_csc", None, dense_dim)


def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """A copy whose blocks are listed row by row.

    Args:
        blocksize: the size of a block
        dense_dim: how many of the last dimensions are dense

    Example:
        >>> clew.eye(4).to_sparse_bsr((2, 2)).values().shape
        torch.Size([2, 2, 2])
    """
    return _in_layout(self, "sparse_bsr", blocksize, dense_dim)


def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """A copy whose blocks are listed column by column.

    Args:
        blocksize: the size of a block
        dense_dim: how many of the last dimensions are dense

    Example:
        >>> clew.eye(4).to_sparse_bsc((2, 2)).values().shape
        torch.Size([2, 2, 2])
    """
    return _in_layout(self, "sparse_bsc", blocksize, dense_dim)


def _in_layout(self: Tensor, name: str, blocksize: Any, dense_dim: int | None) -> Tensor:
    kind = getattr(layouts, name)
    return to_sparse(self, layout=kind, blocksize=blocksize, dense_dim=dense_dim)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places that a sparse tensor lists.

    Args:
        mask: the sparse tensor whose places are taken

    Example:
        >>> mask = clew.tensor([[0.0, 1.0], [0.0, 0.0]]).to_sparse()
        >>> clew.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(mask).to_dense()
        tensor([[0., 2.],
                [0., 0.]])
    """
    result: Tensor = _conversion().sparse_mask(self, mask)
    return result


# -- parts -----------------------------------------------------------------------------------------


def _expected(name: str, what: str) -> RuntimeError:
    return RuntimeError(
        f"{name} expected {what} tensor layout but got Strided" + errors.at_user_line()
    )


def indices(self: Tensor) -> Tensor:
    """The indices of a coalesced COO tensor: a row for each sparse dimension.

    Example:
        >>> clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse().indices()
        tensor([[0, 1],
                [1, 0]])
    """
    raise _expected("indices", "sparse coordinate")


def values(self: Tensor) -> Tensor:
    """The listed elements of a sparse tensor; gradients flow through them.

    Example:
        >>> clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse().values()
        tensor([3., 4.])
    """
    raise _expected("values", "sparse")


def crow_indices(self: Tensor) -> Tensor:
    """Where each row of a compressed tensor begins among its values.

    Example:
        >>> clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse_csr().crow_indices()
        tensor([0, 1, 2])
    """
    raise _expected("crow_indices", "sparse row compressed")


def col_indices(self: Tensor) -> Tensor:
    """The column of each value of a compressed tensor.

    Example:
        >>> clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse_csr().col_indices()
        tensor([1, 0])
    """
    raise _expected("col_indices", "sparse row compressed")


def ccol_indices(self: Tensor) -> Tensor:
    """Where each column of a compressed tensor begins among its values.

    Example:
        >>> clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse_csc().ccol_indices()
        tensor([0, 1, 2])
    """
    raise _expected("ccol_indices", "sparse column compressed")


def row_indices(self: Tensor) -> Tensor:
    """The row of each value of a compressed tensor.

    Example:
        >>> clew.tensor([[0.0, 3.0], [4.0, 0.0]]).to_sparse_csc().row_indices()
        tensor([1, 0])
    """
    raise _expected("row_indices", "sparse column compressed")


def is_coalesced(self: Tensor) -> bool:
    """Whether no index of a COO tensor occurs twice, and they are in order.

    Example:
        >>> clew.sparse_coo_tensor([[0, 0]], [1.0, 2.0]).is_coalesced()
        False
    """
    raise _expected("is_coalesced", "sparse coordinate")


def coalesce(self: Tensor) -> Tensor:
    """The same COO tensor with every index once, in order; values of equal ones are added.

    Example:
        >>> clew.sparse_coo_tensor([[0, 0]], [1.0, 2.0]).coalesce().values()
        tensor([3.])
    """
    raise _expected("coalesce", "sparse coordinate")


def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse.

    Example:
        >>> clew.eye(2).to_sparse().sparse_dim(), clew.eye(2).to_sparse(1).sparse_dim()
        (2, 1)
    """
    return 0


def dense_dim(self: Tensor) -> int:
    """How many dimensions are dense: those of each value.

    Example:
        >>> clew.eye(2).to_sparse().dense_dim(), clew.eye(2).to_sparse(1).dense_dim()
        (0, 1)
    """
    return self._layout.ndim


def _refused(name: str, doc: str) -> Callable[..., Any]:
    """A method that only sparse tensors have."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise could_not_run(name, "CPU")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    return method


def _part(name: str, read: Callable[[Any], Any]) -> Callable[[Tensor], Any]:
    """A method without a rule: private names are called as they are."""

    def method(self: Tensor) -> Any:
        kind = getattr(self, "_kind", None)
        is_coo = kind is not None and kind.name == "sparse_coo"
        if is_coo or (kind is not None and name == "_nnz"):
            return read(self)
        raise could_not_run(name, "CPU" if kind is None else "SparseCsrCPU")

    method.__name__ = method.__qualname__ = name
    return method


def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Say that a COO tensor is coalesced."""
    self._is_merged = coalesced  # type: ignore[attr-defined]  # sparse tensors have it
    return self


_RESIZE = """Change the size of a COO tensor, keeping the listed elements.

    Args:
        size: the new size; it must not shrink while elements are listed
        sparse_dim: how many dimensions are sparse
        dense_dim: how many are dense

    Example:
        >>> clew.eye(2).to_sparse().sparse_resize_((3, 3), 2, 0).shape
        torch.Size([3, 3])
    """
_CLEAR = """Change the size of a COO tensor and forget all elements.

    Args:
        size: the new size
        sparse_dim: how many dimensions are sparse
        dense_dim: how many are dense

    Example:
        >>> clew.eye(2).to_sparse().sparse_resize_and_clear_((3,), 1, 0)._nnz()
        0
    """
_SMM = """The product of a sparse and a strided matrix, as a sparse one.

    Args:
        mat: the strided matrix

    Example:
        >>> clew.eye(2).to_sparse().smm(clew.ones(2, 2)).to_dense()
        tensor([[1., 1.],
                [1., 1.]])
    """
_SSPADDMM = """beta · input + alpha · mat1 · mat2, as a sparse matrix.

    Args:
        mat1: a sparse matrix
        mat2: a strided matrix
        beta: the factor of the tensor itself
        alpha: the factor of the product

    Example:
        >>> x = clew.eye(2).to_sparse()
        >>> x.sspaddmm(x, clew.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
    """
_HSPMM = """The product of a sparse and a strided matrix: sparse in rows, dense in columns.

    Args:
        mat1: a sparse matrix
        mat2: a strided matrix

    Example:
        >>> clew.hspmm(clew.eye(2).to_sparse(), clew.ones(2, 2)).values()
        tensor([[1., 1.],
                [1., 1.]])
    """

methods(
    to_sparse=to_sparse, to_sparse_coo=to_sparse_coo, to_sparse_csr=to_sparse_csr,
    to_sparse_csc=to_sparse_csc, to_sparse_bsr=to_sparse_bsr, to_sparse_bsc=to_sparse_bsc,
    sparse_mask=sparse_mask, indices=indices, values=values, crow_indices=crow_indices,
    col_indices=col_indices, ccol_indices=ccol_indices, row_indices=row_indices,
    is_coalesced=is_coalesced, coalesce=coalesce, sparse_dim=sparse_dim, dense_dim=dense_dim,
    sparse_resize_=_refused("sparse_resize_", _RESIZE),
    sparse_resize_and_clear_=_refused("sparse_resize_and_clear_", _CLEAR),
    smm=_refused("smm", _SMM), sspaddmm=_refused("sspaddmm", _SSPADDMM),
    _coalesced_=_coalesced_,
    _indices=_part("_indices", lambda self: self._parts[0].detach()),
    _values=_part("_values", lambda self: self._parts[1].detach()),
    _nnz=_part("_nnz", lambda self: self._parts[-2]._array.shape[-1]),
)  # fmt: skip
for _name, _doc in (("smm", _SMM), ("sspaddmm", _SSPADDMM), ("hspmm", _HSPMM)):
    FUNCTIONS[_name] = _refused(_name, _doc)
