"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp, could_not_run
from clew.ops.create.constants import zeros
from clew.ops.define.dims import wrap_dim
from clew.ops.sparse.conversion import coalesce, to_sparse
from clew.ops.sparse.inspection import as_dtype
from clew.ops.sparse.pointwise import values_of, with_values
from clew.ops.sparse.tensor import (
    CSR,
    backend_of,
    coo,
    expected,
    flat_places,
    is_coo,
    is_sparse,
    rule,
    sparse_dims,
)

SUM_ALL = LayoutOp(
    "sparse_sum_all", lambda self: self._parts[-1].sum(), node="SumBackward0",
    grads={"self": lambda g, self_shape: g.expand(self_shape)},
)  # fmt: skip


def _as_dims(dim: Any, rank: int) -> tuple[int, ...]:
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    dims = tuple(wrap_dim(d, rank) for d in given)
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(
                f"dim {d} appears multiple times in the list of dims" + errors.at_user_line()
            )
    return dims


@rule("sum")
def sum_(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The sum of all elements, or over dimensions."""
    if dtype is not None:
        input = as_dtype(input, dtype)
    elif not (input.dtype.is_floating_point or input.dtype.is_complex):
        input = as_dtype(input, dtypes.int64)
    if dim is None or dim == () or dim == []:
        result: Tensor = SUM_ALL(input)
        return result
    dims = _as_dims(dim, input._layout.ndim)
    if not is_coo(input):
        if not keepdim:
            raise RuntimeError(
                "reduction operations on CSR tensors with keepdim=False is unsupported"
                + errors.at_user_line()
            )
        kept = sum_(to_sparse(input), dims, True)
        return to_sparse(kept, layout=CSR)
    return sum_over(input, dims, keepdim)


def sum_over(input: Tensor, dims: tuple[int, ...], keepdim: bool = False) -> Tensor:
    """Sums over some dimensions; strided once no sparse dimension is left."""
    source = coalesce(input)
    count = sparse_dims(source)
    shape = source._layout.shape
    values = values_of(source)
    inner = [d - count + 1 for d in dims if d >= count]
    if inner:
        values = values.sum(inner, keepdim=keepdim)
    left = [d for d in range(count) if d not in dims]
    if not left:
        total = values.sum(0) if count else values[0]
        return total.reshape((1,) * count + tuple(total.shape)) if keepdim else total
    places = source._parts[0]._array
    if keepdim:
        rows = np.where(np.isin(np.arange(count), dims)[:, None], 0, places)
        sizes = tuple(1 if d in dims else n for d, n in enumerate(shape))
    else:
        rows = places[left]
        sizes = tuple(n for d, n in enumerate(shape) if d not in dims)
    result = with_values(coo(rows, values.detach(), sizes, len(left) == count), values)
    return coalesce(result)


def sparse_sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor, whose gradient is sparse.

    Args:
        input: a sparse tensor in coordinate format
        dim: the dimensions to sum over; None is all. The result is strided if no sparse dimension
            is left
        dtype: the type of the result

    Example:
        >>> x = clew.tensor([[0.0, 3.0], [4.0, 5.0]]).to_sparse()
        >>> clew.sparse.sum(x, 0).to_dense()
        tensor([4., 8.])
    """
    if not is_coo(input):
        if dim is not None:
            raise could_not_run("_indices", backend_of((input,)) if is_sparse(input) else "CPU")
        raise expected(input, "coalesce", "sparse coordinate")
    if dtype is not None:
        input = as_dtype(input, dtype)
    if dim is None:
        return values_of(coalesce(input)).sum()
    return sum_over(input, _as_dims(dim, input._layout.ndim))


@rule("norm")
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """The norm of all elements."""
    if not is_coo(input):
        raise could_not_run("norm", "SparseCsrCPU")
    if dim not in (None, (), []) and len(_as_dims(dim, input._layout.ndim)) < input._layout.ndim:
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
            "contain all dimensions of the input" + errors.at_user_line()
        )
    return values_of(coalesce(input)).norm(2 if p in (None, "fro") else p)


@rule("vector_norm")
def vector_norm(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """The same, by the name that `clip_grad_norm_` has for it."""
    return norm(x, ord, dim, keepdim)


@rule("any")
def any_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Whether any element is not zero."""
    if not is_coo(input) or args or kwargs:
        raise could_not_run("any", backend_of((input,)))
    return values_of(input.detach()).any()


@rule("dist")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of the difference."""
    return norm(input - other, p)


# -- softmax ---------------------------------------------------------------------------------------


def _softmax(name: str, input: Tensor, dim: int, dtype: Any) -> Tensor:
    if not is_coo(input):
        raise could_not_run(f"_sparse_{name}", backend_of((input,)) if is_sparse(input) else "CPU")
    if dtype is not None:
        input = as_dtype(input, dtype)
    rank = input._layout.ndim
    dim = wrap_dim(dim, rank)
    source = coalesce(input)
    count = sparse_dims(source)
    values = values_of(source)
    if dim >= count:
        return with_values(source.without_history(), getattr(values, name)(dim - count + 1))
    rest = [d for d in range(count) if d != dim]
    places = source._parts[0]._array[rest]
    keys = flat_places(tuple(places), tuple(source._layout.shape[d] for d in rest))
    _, group = np.unique(
        np.broadcast_to(keys, source._parts[0]._array.shape[1:]), return_inverse=True
    )
    pool = wrap(group.reshape(-1).astype(np.int64))
    rows = int(group.max()) + 1 if group.size else 0
    return with_values(source.without_history(), _by_group(name, values, pool, rows))


def _by_group(name: str, values: Tensor, pool: Tensor, rows: int) -> Tensor:
    """The softmax among values of the same group; zeros that are not listed count as -inf."""
    shape = (rows, *values._layout.shape[1:])
    peak = np.full(shape, -np.inf, values._array.dtype)
    np.maximum.at(peak, pool._array, values._array)
    shifted = values - wrap(peak)[pool]
    powers = shifted.exp()
    totals = zeros(shape, dtype=values.dtype).index_add(0, pool, powers)[pool]
    return powers / totals if name == "softmax" else shifted - totals.log()


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax over the listed elements; all others are taken for -inf.

    Args:
        input: a sparse tensor in coordinate format
        dim: the dimension along which the results sum to 1
        dtype: the type to convert to before

    Example:
        >>> x = clew.sparse_coo_tensor([[0, 1, 1], [0, 0, 1]], [5.0, 1.0, 1.0], (2, 2))
        >>> clew.sparse.softmax(x, 1).to_dense()
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])
    """
    return _softmax("softmax", input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `clew.sparse.softmax`.

    Args:
        input: a sparse tensor in coordinate format
        dim: the dimension along which the softmax sums to 1
        dtype: the type to convert to before

    Example:
        >>> x = clew.sparse_coo_tensor([[0, 1, 1], [0, 0, 1]], [5.0, 1.0, 1.0], (2, 2))
        >>> clew.sparse.log_softmax(x, 1).values()
        tensor([ 0.0000, -0.6931, -0.6931])
    """
    return _softmax("log_softmax", input, dim, dtype)
