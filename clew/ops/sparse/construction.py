"""Making sparse tensors of their parts, and the checks on these."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.public import public
from clew.core.tensor import Tensor, wrap
from clew.ops.create.from_data import tensor as make_tensor
from clew.ops.define.options import read_dtype, require_grad
from clew.ops.sparse.core_ops import COMPRESSED_SPARSE, SPARSE
from clew.ops.sparse.tensor import (
    BLOCKED,
    BSC,
    BSR,
    BY_ROW,
    COMPRESSED,
    COO,
    CSC,
    CSR,
    TITLES,
    as_part,
    coo,
    of_parts,
)

Dtype = dtypes.dtype | None


class Invariants:
    """Whether constructors look at the order of indices as well, as `sparse.__init__` sets it.

    That all are inside, they make sure of in any case: PyTorch's kernels would read elsewhere.
    """

    enabled = False


def _checked(wanted: bool | None) -> bool:
    return Invariants.enabled if wanted is None else wanted


def _tensor_of(value: Any, dtype: Dtype = None) -> Tensor:
    """An argument that may be a tensor or data for one."""
    if not isinstance(value, Tensor):
        return make_tensor(value, dtype=dtype)
    return value if dtype is None or value.dtype is dtype else value.to(dtype)


def _wanting_grad(result: Tensor, options: dict[str, Any]) -> Tensor:
    if options.get("requires_grad"):
        if result._node is not None:
            result = result.detach()
        require_grad(result)
    return result


# -- COO -------------------------------------------------------------------------------------------


@public(method=False, out=False)
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Dtype = None,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
    **options: Any,
) -> Tensor:
    """A sparse tensor in coordinate format: values, and where they are.

    Args:
        indices: for each sparse dimension a row with the indices of all values
        values: one entry per column of `indices`; further dimensions of it are dense dimensions
        size: the size of the tensor; by default the least that holds all indices
        dtype: the type of the values; by default the one that they have
        check_invariants: accepted; that indices are inside is checked in any case
        is_coalesced: True promises that every index occurs once, and that they are in order
        options: `device`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 5.]])
    """
    dtype = read_dtype("sparse_coo_tensor", dtype)
    if values is None:
        return _wanting_grad(_empty_coo(size if indices is None else indices, dtype), options)
    where = _tensor_of(indices)
    given = _tensor_of(values, dtype)
    if given._layout.ndim == 0:
        given = given.expand(1)
    places = where._array
    if where.dtype is not dtypes.int64:
        places = places.astype(np.int64)
    if places.ndim != 2:
        raise RuntimeError(
            f"indices must be sparse_dim x nnz, but got: {errors.shape_list(places.shape)}"
            + errors.at_user_line()
        )
    shape = _inferred(places, given._layout.shape) if size is None else _read(size)
    _check_coo(places, given._layout.shape, shape)
    check_indices(places, shape)
    count = places.shape[1]
    is_merged = count < 2 if is_coalesced is None else is_coalesced
    template = coo(wrap(places), as_part(given), shape, is_merged)
    if not given.requires_grad:
        return _wanting_grad(template, options)
    result: Tensor = SPARSE(given, places=template)
    return _wanting_grad(result, options)


def _empty_coo(size: Any, dtype: Dtype) -> Tensor:
    shape = _read(size)
    kind = dtype or dtypes.get_default_dtype()
    return empty_coo(shape, kind.np)


def empty_coo(shape: tuple[int, ...], dtype: Any, sparse: int | None = None) -> Tensor:
    """A COO tensor of zeros."""
    count = len(shape) if sparse is None else sparse
    values = np.zeros((0, *shape[count:]), dtype)
    return coo(np.zeros((count, 0), np.int64), wrap(values), shape, True)


def _read(size: Any) -> tuple[int, ...]:
    if isinstance(size, int):
        raise errors.wrong_argument("sparse_coo_tensor", "size", 1, "tuple of ints", size)
    shape = tuple(operator.index(n) for n in size)
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"numel: integer multiplication overflow\n  The size {list(shape)} has a negative "
            "number" + errors.at_user_line()
        )
    return shape


def _inferred(places: np.ndarray, values: tuple[int, ...]) -> tuple[int, ...]:
    """The least shape that holds all indices."""
    if not places.shape[1]:
        return (*(0,) * len(places), *values[1:])
    _refuse_negative(places)
    return (*(int(n) + 1 for n in places.max(1)), *values[1:])


def _refuse_negative(places: np.ndarray) -> None:
    lowest = places.min(1)
    if (lowest < 0).any():
        dim = int(np.argmax(lowest < 0))
        raise RuntimeError(
            f"found negative index {int(lowest[dim])} for dim {dim}" + errors.at_user_line()
        )


def _check_coo(places: np.ndarray, values: tuple[int, ...], shape: tuple[int, ...]) -> None:
    sparse, dense = len(places), len(values) - 1
    if len(shape) != sparse + dense:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {sparse}, dense_dim = {dense}" + errors.at_user_line()
        )
    if places.shape[1] != values[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, "
            f"nnz from values: {values[0]}" + errors.at_user_line()
        )
    wanted = (places.shape[1], *shape[sparse:])
    if values != wanted:
        raise RuntimeError(
            f"values has incorrect size, expected {errors.shape_list(wanted)}, got "
            f"{errors.shape_list(values)}" + errors.at_user_line()
        )


def check_indices(places: np.ndarray, shape: tuple[int, ...]) -> None:
    """Refuse indices outside of a shape."""
    if not places.shape[1]:
        return
    _refuse_negative(places)
    for dim, (highest, n) in enumerate(zip(places.max(1), shape, strict=False)):
        if highest >= n:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {n} but found index "
                f"{int(highest)}" + errors.at_user_line()
            )


# -- compressed ------------------------------------------------------------------------------------


@public(method=False, out=False)
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Dtype = None,
    layout: Any = None,
    check_invariants: bool | None = None,
    **options: Any,
) -> Tensor:
    """A sparse tensor in one of the layouts CSR, CSC, BSR and BSC.

    Args:
        compressed_indices: where the elements of each row (or column) begin, and their number
        plain_indices: the column (or row) of each element
        values: the elements, or blocks of them
        size: the size of the tensor; by default the least that holds all indices
        dtype: the type of the values; by default the one that they have
        layout: `clew.sparse_csr`, `sparse_csc`, `sparse_bsr` or `sparse_bsc`
        check_invariants: whether indices must be in order, besides being inside; None does as is
            set by `clew.sparse.check_sparse_tensor_invariants`
        options: `device`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> x = clew.sparse_compressed_tensor(
        ...     [0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), layout=clew.sparse_csr
        ... )
        >>> x.to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
    if layout not in COMPRESSED:
        got = "none" if layout is None else TITLES[layout]
        raise RuntimeError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got "
            f"{got}" + errors.at_user_line()
        )
    dtype = read_dtype("sparse_compressed_tensor", dtype)
    starts, others = _tensor_of(compressed_indices), _tensor_of(plain_indices)
    given = _tensor_of(values, dtype)
    if size is None:
        size = _inferred_compressed(layout, starts._array, others._array, given._layout.shape)
    shape = tuple(operator.index(n) for n in size)
    checks = _checked(check_invariants)
    check_compressed(layout, starts._array, others._array, given._layout.shape, shape, checks)
    template = of_parts(layout, (as_part(starts), as_part(others), as_part(given)), shape)
    if not given.requires_grad:
        return _wanting_grad(template, options)
    result: Tensor = COMPRESSED_SPARSE(given, places=template)
    return _wanting_grad(result, options)


def _maker(name: str, kind: Any, compressed: str, plain: str) -> Any:
    rows = kind in BY_ROW
    blocks = " of blocks" if kind in BLOCKED else ""
    values = "[[[1.0]], [[2.0]]]" if blocks else "[1.0, 2.0]"

    def make(
        compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, **options: Any
    ) -> Tensor:
        given = options.pop("layout", None)
        if given not in (None, kind):
            raise RuntimeError(
                f"{name} expected layout {kind!r}, got {given!r}" + errors.at_user_line()
            )
        return sparse_compressed_tensor(
            compressed_indices, plain_indices, values, size, layout=kind, **options
        )

    def by_names(*args: Any, **kwargs: Any) -> Tensor:
        for own, general in ((compressed, "compressed_indices"), (plain, "plain_indices")):
            if own in kwargs:
                kwargs[general] = kwargs.pop(own)
        return make(*args, **kwargs)

    by_names.__name__ = by_names.__qualname__ = name
    major, minor = ("row", "column") if rows else ("column", "row")
    by_names.__doc__ = f"""A sparse tensor that lists its elements{blocks} {major} by {major}.

    Args:
        {compressed}: where the elements of each {major} begin, and their number
        {plain}: the {minor} of each element
        values: the elements{blocks}
        size: the size of the tensor; by default the least that holds all indices
        dtype: the type of the values; by default the one that they have
        check_invariants: whether indices must be in order, besides being inside
        options: `device`, `requires_grad`, as in `clew.tensor`

    Example:
        >>> clew.{name}([0, 1, 2], [0, 1], {values}).to_dense()
        tensor([[1., 0.],
                [0., 2.]])
    """
    return public(method=False, out=False, name=name)(by_names)


sparse_csr_tensor = _maker("sparse_csr_tensor", CSR, "crow_indices", "col_indices")
sparse_csc_tensor = _maker("sparse_csc_tensor", CSC, "ccol_indices", "row_indices")
sparse_bsr_tensor = _maker("sparse_bsr_tensor", BSR, "crow_indices", "col_indices")
sparse_bsc_tensor = _maker("sparse_bsc_tensor", BSC, "ccol_indices", "row_indices")


def _block(kind: Any, starts: np.ndarray, values: tuple[int, ...]) -> tuple[int, int]:
    if kind not in BLOCKED or len(values) < starts.ndim + 2:
        return 1, 1
    rows, columns = values[starts.ndim : starts.ndim + 2]
    return rows, columns


def _inferred_compressed(
    kind: Any, starts: np.ndarray, others: np.ndarray, values: tuple[int, ...]
) -> tuple[int, ...]:
    height, width = _block(kind, starts, values)
    highest = int(others.max()) + 1 if others.size else 0
    pair = (starts.shape[-1] - 1, highest)
    rows, columns = pair if kind in BY_ROW else pair[::-1]
    first = starts.ndim + 2 * (kind in BLOCKED)
    return (*starts.shape[:-1], rows * height, columns * width, *values[first:])


def check_compressed(
    kind: Any,
    starts: np.ndarray,
    others: np.ndarray,
    values: tuple[int, ...],
    shape: tuple[int, ...],
    thoroughly: bool,
) -> None:
    """Refuse parts that make no compressed tensor; `thoroughly` looks at the order, too."""
    by_row = kind in BY_ROW
    compressed, plain = (
        ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
    )
    for problem in _problems(kind, starts, others, values, shape, compressed, plain):
        raise RuntimeError(problem + errors.at_user_line())
    if thoroughly and not _in_order(starts, others):
        raise RuntimeError(
            f"`{plain}[..., {compressed}[..., i - 1]:{compressed}[..., i]] for all i = 1, ..., "
            f"n{'rows' if by_row else 'cols'} are sorted and distinct along the last dimension "
            "values` is not satisfied." + errors.at_user_line()
        )


def _problems(
    kind: Any,
    starts: np.ndarray,
    others: np.ndarray,
    values: tuple[int, ...],
    shape: tuple[int, ...],
    compressed: str,
    plain: str,
) -> Any:
    """What is wrong with the parts, one after the other."""
    if starts.ndim != others.ndim:
        yield (
            f"{compressed} and {plain} dimensionalities must be equal but got {starts.ndim} and "
            f"{others.ndim}, respectively"
        )
    batch, blocks = starts.ndim - 1, 2 * (kind in BLOCKED)
    dense = len(values) - batch - 1 - blocks
    if len(shape) != batch + 2 + dense:
        yield (
            "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
            f"(={batch} + 2 + {dense}) but got {len(shape)}"
        )
    size = _block(kind, starts, values)
    for axis in range(2):
        if blocks and shape[batch + axis] % size[axis]:
            yield (
                f"tensor shape[{batch + axis}] (={shape[batch + axis]}) must be divisible with "
                f"blocksize[{axis}] (={size[axis]}) as defined by values shape"
            )
    major = 0 if kind in BY_ROW else 1
    count = shape[batch + major] // size[major]
    if starts.shape[-1] != count + 1:
        yield (
            f"{compressed}.shape[-1] must be equal to the number of "
            f"{('rows', 'columns')[major]} + 1 (={count + 1}), but got {starts.shape[-1]}"
        )
    if others.shape[-1] != values[batch]:
        yield (
            f"{plain}.shape[-1] must be equal to nnz (={values[batch]}) as defined by "
            f"values.shape[{batch}], but got {others.shape[-1]}"
        )
    if starts.dtype != others.dtype:
        names = [dtypes.BY_NUMPY[each.dtype].scalar_name for each in (starts, others)]
        yield (
            f"{compressed} and {plain} must have the same dtype, bot got {names[0]} and "
            f"{names[1]}, respectively"
        )
    if starts.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        yield (
            f"{compressed} and {plain} dtype must be Int or Long, but got "
            f"{dtypes.BY_NUMPY[starts.dtype].scalar_name}"
        )
    limit = shape[batch + 1 - major] // size[1 - major]
    yield from _wrong_indices(starts, others, limit, compressed, plain, major)


def _wrong_indices(
    starts: np.ndarray, others: np.ndarray, limit: int, compressed: str, plain: str, major: int
) -> Any:
    columns = "rows" if major else "cols"
    if (starts[..., 0] != 0).any():
        yield f"`{compressed}[..., 0] == 0` is not satisfied."
    if (starts[..., -1] != others.shape[-1]).any():
        yield f"`{compressed}[..., -1] == nnz` is not satisfied."
    steps = np.diff(starts, axis=-1)
    if steps.size and (steps.min() < 0 or steps.max() > limit):
        yield (
            f"`0 <= {compressed}[..., 1:] - {compressed}[..., :-1] <= n{columns}` is not satisfied."
        )
    if others.size and (others.min() < 0 or others.max() >= limit):
        yield f"`0 <= {plain} < n{columns}` is not satisfied."


def _in_order(starts: np.ndarray, others: np.ndarray) -> bool:
    """Whether indices rise within each row."""
    count = math.prod(starts.shape[:-1])
    for pointers, indices in zip(starts.reshape(count, -1), others.reshape(count, -1), strict=True):
        rises = np.diff(indices) > 0
        ends = pointers[1:-1]
        rises[ends[(ends > 0) & (ends < len(indices))] - 1] = True
        if not rises.all():
            return False
    return True


def empty_compressed(kind: Any, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """A compressed tensor of zeros."""
    if len(shape) < 2:
        raise RuntimeError(
            "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but "
            f"got size {errors.shape_list(shape)}" + errors.at_user_line()
        )
    *batch, rows, columns = shape
    major = rows if kind in BY_ROW else columns
    parts = (
        np.zeros((*batch, major + 1), np.int64),
        np.zeros((*batch, 0), np.int64),
        np.zeros((*batch, 0), dtype),
    )
    starts, others, values = (wrap(part) for part in parts)
    return of_parts(kind, (starts, others, values), shape)


def empty_of(kind: Any, shape: tuple[int, ...], dtype: Any) -> Tensor:
    """A sparse tensor of zeros in a layout."""
    return empty_coo(shape, dtype) if kind is COO else empty_compressed(kind, shape, dtype)
