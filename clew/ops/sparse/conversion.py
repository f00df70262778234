"""Between layouts: `to_sparse`, `to_dense`, `coalesce`, `sparse_mask`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clew import errors
from clew.backend import layout as layouts
from clew.core.tensor import Tensor, wrap
from clew.core.unstrided import LayoutOp, could_not_run
from clew.ops.sparse.construction import empty_coo
from clew.ops.sparse.core_ops import dense_array, picked
from clew.ops.sparse.tensor import (
    BLOCKED,
    BY_ROW,
    COMPRESSED,
    COO,
    TITLES,
    batch_dims,
    block_size,
    coo,
    coordinates,
    dense_dims,
    expected,
    is_coo,
    is_sparse,
    layout_of,
    like,
    merged,
    of_parts,
    rule,
    sparse_dims,
    title_of,
)

Array = np.ndarray


def to_layout(
    tensor: Tensor, kind: Any, block: tuple[int, int] | None = None, dense: int | None = None
) -> Tensor:
    """A tensor in a layout, without history; the same places where it is sparse already."""
    if kind is layouts.strided:
        return wrap(dense_array(tensor)) if is_sparse(tensor) else tensor.clone()
    if not is_sparse(tensor):
        shape = tensor._array.shape
        if kind is COO:
            return _coo_of_array(tensor._array, len(shape) - (dense or 0))
        return _compressed_of_array(tensor._array, kind, block, dense or 0)
    if kind is COO:
        return as_coo(tensor)
    if tensor._kind is kind and (block is None or block == block_size(tensor)):
        return tensor.without_history()
    return _compressed_of_sparse(tensor, kind, block)


def _coo_of_array(array: Array, sparse: int) -> Tensor:
    shape = array.shape
    flags = array != 0
    if sparse < array.ndim:
        flags = flags.any(tuple(range(sparse, array.ndim)))
    if not sparse:
        count = int(bool(flags)) if not array.ndim else 1
        values = array.reshape(1, *shape)[:count]
        return coo(np.zeros((0, count), np.int64), wrap(values.copy()), shape, True)
    places = np.nonzero(flags)
    return coo(np.stack(places), wrap(np.ascontiguousarray(array[places])), shape, True)


def as_coo(tensor: Tensor) -> Tensor:
    """A sparse tensor in coordinates: the same elements, with zeros among them."""
    if tensor._kind is COO:
        return tensor
    places = np.broadcast_arrays(*coordinates(tensor))
    values = tensor._parts[-1]._array
    tail = values.shape[values.ndim - dense_dims(tensor) :] if dense_dims(tensor) else ()
    indices = np.stack([each.reshape(-1) for each in places]).astype(np.int64, copy=False)
    result = coo(indices, wrap(values.reshape(-1, *tail)), tensor._layout.shape)
    # Those by rows are in order already.
    in_order = tensor._kind in BY_ROW and tensor._kind not in BLOCKED
    return of_parts(COO, result._parts, result._layout.shape, True) if in_order else merged(result)


def _compressed_of_array(
    array: Array, kind: Any, block: tuple[int, int] | None, dense: int
) -> Tensor:
    shape = array.shape
    batch = len(shape) - 2 - dense
    if batch < 0:
        raise IndexError(
            "select(): index 1 out of range for tensor of size "
            f"{errors.shape_list((*shape, 1))} at dimension 1\n  A compressed layout needs "
            "at least two dimensions." + errors.at_user_line()
        )
    flags = array != 0
    if dense:
        flags = flags.any(tuple(range(batch + 2, array.ndim)))
    if block is not None:
        _check_blocks(shape[batch : batch + 2], block, kind)
    count = math.prod(shape[:batch])
    matrices = array.reshape(count, *shape[batch:])
    parts = [
        _compress(matrix, np.nonzero(each), kind, block)
        for matrix, each in zip(
            matrices, flags.reshape(count, *shape[batch : batch + 2]), strict=True
        )
    ]
    return _batched(parts, shape, batch, kind)


def _batched(parts: Sequence[tuple[Array, ...]], shape: Any, batch: int, kind: Any) -> Tensor:
    if len({len(others) for _, others, _ in parts}) > 1:
        raise RuntimeError(
            "Expect the same number of specified elements per batch." + errors.at_user_line()
        )
    leading = shape[:batch]
    if not batch:
        starts, others, values = parts[0]
    else:
        starts, others, values = (
            np.stack(column).reshape(*leading, *column[0].shape)
            for column in zip(*parts, strict=True)
        )
    return of_parts(kind, (wrap(starts), wrap(others), wrap(values)), shape)


def _check_blocks(sizes: tuple[int, ...], block: tuple[int, int], kind: Any) -> None:
    if block[0] <= 0 or block[1] <= 0 or sizes[0] % block[0] or sizes[1] % block[1]:
        name = "dense_to_" + repr(kind).removeprefix("torch.")
        raise RuntimeError(
            f"{name}: tensor sparse size ({sizes[0]},{sizes[1]}) must be divisible by given "
            f"blocksize ({block[0]},{block[1]})" + errors.at_user_line()
        )


def _compress(
    matrix: Array, places: tuple[Array, ...], kind: Any, block: tuple[int, int] | None
) -> tuple[Array, Array, Array]:
    """The parts of a matrix with elements at given places."""
    return _compress_values(matrix[places], places, matrix.shape, kind, block)


def _compress_values(
    values: Array,
    places: tuple[Array, ...],
    shape: tuple[int, ...],
    kind: Any,
    block: tuple[int, int] | None,
) -> tuple[Array, Array, Array]:
    height, width = block or (1, 1)
    rows, columns = places
    block_rows, block_columns = rows // height, columns // width
    by_row = kind in BY_ROW
    major, minor = (block_rows, block_columns) if by_row else (block_columns, block_rows)
    majors = shape[0] // height if by_row else shape[1] // width
    minors = shape[1] // width if by_row else shape[0] // height
    key = major * max(minors, 1) + minor
    if block is None:
        order = np.argsort(key, kind="stable")
        major, minor, values = major[order], minor[order], values[order]
    else:
        unique, which = np.unique(key, return_inverse=True)
        major, minor = unique // max(minors, 1), unique % max(minors, 1)
        blocks = np.zeros((len(unique), height, width, *values.shape[1:]), values.dtype)
        blocks[which, rows % height, columns % width] = values
        values = blocks
    starts = np.zeros(majors + 1, np.int64)
    np.cumsum(np.bincount(major, minlength=majors), out=starts[1:])
    return starts, minor.astype(np.int64, copy=False), np.ascontiguousarray(values)


def _compressed_of_sparse(tensor: Tensor, kind: Any, block: tuple[int, int] | None) -> Tensor:
    shape = tensor._layout.shape
    if tensor._kind is COO:
        tensor = merged(tensor)
        if sparse_dims(tensor) != 2:
            raise RuntimeError(
                f"sparse_coo_to_{repr(kind).removeprefix('torch.')}: conversion from Sparse to "
                f"{TITLES[kind]} for input tensors with sparse_dim()!=2 is not supported"
                + errors.at_user_line()
            )
    batch = batch_dims(tensor)
    if block is not None:
        _check_blocks(shape[batch : batch + 2], block, kind)
    values = tensor._parts[-1]._array
    tail = values.shape[values.ndim - dense_dims(tensor) :] if dense_dims(tensor) else ()
    rows, columns = np.broadcast_arrays(*coordinates(tensor)[-2:])
    count = math.prod(shape[:batch])
    parts = [
        _compress_values(*each, shape[batch:], kind, block)
        for each in zip(
            values.reshape(count, -1, *tail),
            zip(rows.reshape(count, -1), columns.reshape(count, -1), strict=True),
            strict=True,
        )
    ]
    result = _batched(parts, shape, batch, kind)
    starts, others, listed = result._parts
    index = tensor._parts[0]._array.dtype if tensor._kind is not COO else np.dtype(np.int64)
    return of_parts(
        kind, (wrap(starts._array.astype(index)), wrap(others._array.astype(index)), listed), shape
    )


# -- the operations --------------------------------------------------------------------------------


def _back_to_layout(g: Tensor, kind: Any, block: Any) -> Tensor:
    """A gradient in the layout of what was converted."""
    if layout_of(g) is kind:
        return g
    if kind is layouts.strided:
        return dense(g)
    return TO_SPARSE(g, kind=kind, block=block, dense=None, source=layout_of(g), source_block=None)


TO_SPARSE = LayoutOp(
    "to_sparse",
    lambda self, *, kind, block, dense, source, source_block: to_layout(self, kind, block, dense),
    grads={"self": lambda g, source, source_block: _back_to_layout(g, source, source_block)},
    node="ToSparseBackward0",
)  # fmt: skip
TO_DENSE = LayoutOp(
    "to_dense", lambda self, *, masked: wrap(dense_array(self)),
    grads={
        "self": lambda g, self, masked: (
            SPARSE_MASK(g, mask=self) if masked else _back_to_layout(g, self._kind, None)
        )
    },
    node="ToDenseBackward0",
)  # fmt: skip
COALESCE = LayoutOp(
    "coalesce", lambda self: merged(self.without_history()), grads={"self": lambda g: g}
)


def _masked(self: Tensor, *, mask: Tensor) -> Tensor:
    if is_coo(mask) and not mask._is_merged:
        mask = merged(mask)
    return like(mask, picked(self, mask))


def _mask_gradient(g: Tensor, mask: Tensor, self_is_sparse: bool) -> Tensor:
    masked = SPARSE_MASK(g, mask=mask)
    return masked if self_is_sparse else dense(masked)


SPARSE_MASK: LayoutOp = LayoutOp(
    "sparse_mask", lambda self, *, mask, self_is_sparse=True: _masked(self, mask=mask),
    grads={
        "self": lambda g, mask, self_is_sparse: _mask_gradient(
            g, mask, self_is_sparse is not False
        )
    },
)  # fmt: skip


def dense(tensor: Tensor) -> Tensor:
    """A tensor as a strided one."""
    result: Tensor = TO_DENSE(tensor, masked=True) if is_sparse(tensor) else tensor
    return result


def to_sparse(
    self: Tensor,
    sparse_dim: Any = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """A sparse copy that lists the elements other than zero."""
    kind = COO if layout is None else layout
    if isinstance(sparse_dim, layouts.layout):
        kind, sparse_dim = sparse_dim, None
    source, name = layout_of(self), title_of(self)
    block = _block_of(blocksize, kind, name)
    if kind is layouts.strided:
        return dense(self) if is_sparse(self) else self
    if source is kind and (block is None or block == block_size(self)):
        if sparse_dim is not None and sparse_dim != sparse_dims(self):
            raise RuntimeError(
                f"to_sparse: conversion from {name} to {name} with sparse_dim argument "
                "!=self.sparse_dim() is not supported" + errors.at_user_line()
            )
        return self
    dims = self._layout.ndim
    if sparse_dim is not None:
        _check_sparse_dim(sparse_dim, dims, source, name)
        dense_dim = dims - sparse_dim
    made_of = None if source not in BLOCKED else block_size(self)
    result: Tensor = TO_SPARSE(
        self, kind=kind, block=block, dense=dense_dim, source=source, source_block=made_of
    )
    return result


def _check_sparse_dim(sparse_dim: int, dims: int, source: Any, name: str) -> None:
    if source in COMPRESSED:
        if sparse_dim != 2:
            raise RuntimeError(
                f"sparse_compressed_to_sparse: conversion from {name} to Sparse with sparse_dim "
                "argument !=2 is not supported" + errors.at_user_line()
            )
    elif not 0 <= sparse_dim <= dims:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{dims}] range, but {sparse_dim} "
            "is given" + errors.at_user_line()
        )
    elif not sparse_dim and dims:
        raise RuntimeError(
            "dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0"
            + errors.at_user_line()
        )


def _block_of(blocksize: Any, kind: Any, name: str) -> tuple[int, int] | None:
    if (blocksize is None) == (kind in BLOCKED):
        how = "without" if blocksize is None else "with"
        raise RuntimeError(
            f"dense_to_sparse: conversion from {name} to {TITLES[kind]} {how} blocksize argument "
            "given is not supported" + errors.at_user_line()
        )
    if blocksize is None:
        return None
    height, width = blocksize
    return int(height), int(width)


@rule("to_dense")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """All elements of a sparse tensor, as a strided one."""
    result: Tensor = TO_DENSE(self, masked=masked_grad is not False)
    return result if dtype is None else result.to(dtype)


@rule("coalesce")
def coalesce(self: Tensor) -> Tensor:
    """The same COO tensor with every index once."""
    if not is_coo(self):
        raise expected(self, "coalesce", "sparse coordinate")
    if self._is_merged:
        return self
    result: Tensor = COALESCE(self)
    return result


@rule("sparse_mask")
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places that a sparse tensor lists."""
    if not is_sparse(mask):
        raise could_not_run("sparse_mask", "CPU")
    mine, wanted = self._layout.shape, mask._layout.shape
    if mine != wanted:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{errors.shape_list(mine)} but mask has size {errors.shape_list(wanted)}"
            + errors.at_user_line()
        )
    result: Tensor = SPARSE_MASK(self, mask=mask.without_history(), self_is_sparse=is_sparse(self))
    return result


def zeros_like(tensor: Tensor) -> Tensor:
    """No elements at all, with the same dimensions."""
    return empty_coo(tensor._layout.shape, tensor._layout.dtype, sparse_dims(tensor))
