"""Sums, means and maxima of bags of embeddings."""

from __future__ import annotations

import warnings

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.op import Op
from clew.core.tensor import Tensor, every_value, wrap
from clew.kernels import compiled
from clew.kernels.numpy.arrays import widened
from clew.ops.nn.embedding import (
    EMBEDDING,
    check_indices,
    gradient_of_table,
    padding_index,
    renormalize_rows,
)
from clew.source import user_stacklevel

Array = np.ndarray


def _bag_ids(indices: Array, offsets: Array) -> Array:
    """The number of the bag that each index is in; offsets say where bags begin."""
    ends = np.append(offsets[1:], indices.size)
    return np.repeat(np.arange(offsets.size), ends - offsets)


def _bag_counts(indices: Array, offsets: Array, padding_idx: int) -> Array:
    """How many indices of each bag count."""
    counted = (indices != padding_idx).astype(np.int64)
    return np.bincount(_bag_ids(indices, offsets), counted, minlength=offsets.size)


BAG_IDS = Op("_embedding_bag_ids", _bag_ids, non_differentiable="integer output")
BAG_COUNTS = Op(
    "_embedding_bag_counts",
    lambda indices, offsets, *, padding_idx: _bag_counts(indices, offsets, padding_idx),
    non_differentiable="integers",
)


def _embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    per_sample_weights: Array | None,
    *,
    mode: str,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool = False,
) -> tuple[Array, Array]:
    bags, width = offsets.size, weight.shape[1]
    ids = _bag_ids(indices, offsets)
    keep = indices != padding_idx
    rows, ids = indices[keep], ids[keep]
    table = widened(weight)
    factors = None if per_sample_weights is None else widened(per_sample_weights)[keep][:, None]
    result = np.zeros((bags, width), table.dtype)
    # Which rows the maxima came from; sums have no use for it.
    chosen = np.full((bags, width if mode == "max" else 0), -1, np.int64)
    if rows.size and mode == "max":
        vectors = table[rows]
        present, starts = np.unique(ids, return_index=True)
        result[present] = np.maximum.reduceat(vectors, starts, axis=0)
        chosen = _first_maxima(vectors, rows, ids, result, chosen)
    elif rows.size:
        ids = np.ascontiguousarray(ids, np.int64)
        if factors is None:
            table = np.ascontiguousarray(table)
            compiled.gather_scatter.add_rows(
                result[None], ids, table[None], np.ascontiguousarray(rows, np.int64)
            )
        else:
            compiled.gather_scatter.rows_combined(result[None], ids, (table[rows] * factors)[None])
    if mode == "mean":
        counts = np.bincount(ids, minlength=bags)
        result /= np.maximum(counts, 1)[:, None].astype(result.dtype)
    return result.astype(weight.dtype, copy=False), chosen


def _first_maxima(vectors: Array, rows: Array, ids: Array, result: Array, chosen: Array) -> Array:
    """For each bag and column, the row of the table that the maximum came from."""
    at_maximum = vectors == result[ids]
    # Written from the last to the first, so that the first of equals stays.
    place, column = np.nonzero(at_maximum)
    chosen[ids[place][::-1], column[::-1]] = rows[place][::-1]
    return chosen


def _bag_gradients(
    g: tuple[Tensor | None, ...],
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    per_sample_weights: Tensor | None,
    out1: Tensor,
    mode: str,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool | None,
    needs: tuple[bool, ...],
) -> tuple[Tensor | None, ...]:
    grad = g[0]
    if grad is None:
        return None, None, None, None
    rows, width = weight._array.shape
    if mode == "max":
        target = grad.new_zeros((rows, width))
        values = grad.masked_fill(out1 < 0, 0)
        return target.scatter_add(0, out1.clamp_min(0), values), None, None, None
    bags = BAG_IDS(indices, offsets)
    each = grad.index_select(0, bags)
    of_weight = of_samples = None
    if needs[0]:
        factors = per_sample_weights
        if mode == "mean":
            counts = BAG_COUNTS(indices, offsets, padding_idx=padding_idx).clamp_min(1)
            factors = counts.reciprocal().to(grad.dtype).index_select(0, bags)
        scaled = each if factors is None else each * factors.unsqueeze(-1)
        # Halves are rounded after each addition: in the order in which PyTorch sorts the indices.
        rows_of = indices
        if grad._array.dtype in dtypes.HALVES:
            rows_of, order = indices.sort()
            scaled = scaled.index_select(0, order)
        of_weight = gradient_of_table(
            scaled, rows_of, padding_idx, scale_grad_by_freq, (rows, width), sparse
        )
    if needs[3]:
        vectors = EMBEDDING(weight, indices, padding_idx=-1, scale_grad_by_freq=False)
        products = each.unsqueeze(-2) @ vectors.unsqueeze(-1)
        of_samples = products.reshape(-1).masked_fill(indices == padding_idx, 0)
    return of_weight, None, None, of_samples


EMBEDDING_BAG = Op("embedding_bag", _embedding_bag, joint=_bag_gradients, outputs=2)


@typed
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of `weight` that each bag lists.

    Args:
        input: the indices: a bag in each row, or all bags in one row
        weight: the table, (number of rows, features)
        offsets: where each bag starts, if all are in one row
        max_norm: shorten the rows that are used to this norm, in place
        norm_type: the order of that norm
        scale_grad_by_freq: divide a row's gradient by how often the input names it
        mode: "sum", "mean" or "max"
        sparse: make the gradient of `weight` a sparse tensor, which lists the rows that are used
        per_sample_weights: a factor for each index, for "sum"
        include_last_offset: whether `offsets` ends with the size of the input
        padding_idx: a row that takes no part

    Example:
        >>> table = clew.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> F.embedding_bag(clew.tensor([0, 1, 2]), table, clew.tensor([0, 2]), mode="sum")
        tensor([[4., 6.],
                [5., 6.]])
    """
    if weight.dtype is dtypes.int64 and input.dtype.category == dtypes.FLOAT:
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
            stacklevel=user_stacklevel(),
        )
        input, weight = weight, input
    _check_samples(input, weight, per_sample_weights, mode)
    padding = -1
    if padding_idx is not None:
        padding = _bag_padding(padding_idx, weight._array.shape[0])
    indices, starts = _bags(input, offsets)
    # The bags of a matrix end where its rows do.
    include_last_offset = include_last_offset and input._array.ndim == 1
    # PyTorch's two kernels differ in where the last bag ends, and in the words of an error.
    fused = mode != "max" and padding_idx is None and weight.dtype is not dtypes.float64
    _check_mode(mode, scale_grad_by_freq, sparse)
    check_indices(indices, "embedding_bag")
    _check_values(indices, starts, weight, include_last_offset, fused)
    # Where the bags of each example of a vmap end at a place of its own, the rest is one bag more.
    has_rest = include_last_offset and starts._is_lifted
    if include_last_offset and not has_rest:
        last = _last_end(starts._array) if fused else indices._array.size
        indices, starts = indices.narrow(0, 0, last), starts.narrow(0, 0, starts._array.size - 1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1).narrow(0, 0, last)
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)
    if max_norm is not None:
        renormalize_rows(weight, indices, max_norm, norm_type)
    result: tuple[Tensor, ...] = EMBEDDING_BAG(
        weight, indices, starts, per_sample_weights, mode=mode, padding_idx=padding,
        scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
    )  # fmt: skip
    bags = result[0]
    return bags.narrow(0, 0, starts._array.size - 1) if has_rest else bags


def _last_end(starts: Array) -> int:
    """Where the last bag ends, by the last of the offsets."""
    last = int(starts[-1])
    if last < starts[-2:][0]:
        raise RuntimeError(
            "Your input appears to be incorrect: the last offset value should be the size of the "
            f"indices tensor, but it seems not to be the case. It is {last}, and the last bag "
            f"starts at {starts[-2]}" + errors.at_user_line()
        )
    return last


def _bag_padding(padding_idx: int, rows: int) -> int:
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but "
            f"got {padding_idx}" + errors.at_user_line()
        )
    return padding_index(padding_idx, rows)


def _bags(input: Tensor, offsets: Tensor | None) -> tuple[Tensor, Tensor]:
    """Indices in one row, and where each bag begins."""
    ndim = input._array.ndim
    if ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences. However, found offsets of type "
                f"{type(offsets)}" + errors.at_user_line()
            )
        rows, columns = input._array.shape
        flat: Tensor = input.reshape(-1)
        return flat, wrap(np.arange(rows, dtype=input._array.dtype) * columns)
    if ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {ndim}"
            + errors.at_user_line()
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None" + errors.at_user_line())
    if offsets._array.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor" + errors.at_user_line())
    return input, offsets


def _check_samples(
    input: Tensor, weight: Tensor, per_sample_weights: Tensor | None, mode: str
) -> None:
    if per_sample_weights is None:
        return
    if per_sample_weights._array.shape != input._array.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})" + errors.at_user_line()
        )
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}').\n"
            "  Use mode='sum'; for a weighted mean, with weights that sum to 1 in each bag."
            + errors.at_user_line()
        )
    if per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type torch.{weight.dtype.scalar_name}Tensor does not "
            f"equal torch.{per_sample_weights.dtype.scalar_name}Tensor (while checking arguments "
            "for embedding_bag)" + errors.at_user_line()
        )


def _check_mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max" + errors.at_user_line())
    if mode == "max" and scale_grad_by_freq:
        raise ValueError(
            "max mode does not support scaling the gradient by the frequency"
            + errors.at_user_line()
        )
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights" + errors.at_user_line())


def _check_values(
    indices: Tensor, offsets: Tensor, weight: Tensor, include_last_offset: bool, fused: bool
) -> None:
    if weight.dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            f"Half, BFloat16, Float, Double; but got torch.{weight.dtype.scalar_name}Tensor "
            "instead (while checking arguments for embedding_bag)" + errors.at_user_line()
        )
    values, rows = every_value(indices).reshape(-1), weight._array.shape[0]
    starts = every_value(offsets)
    bad = np.flatnonzero((values < 0) | (values >= rows))
    if bad.size and not fused:
        raise RuntimeError(
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
            f"{values[bad[0]]}" + errors.at_user_line()
        )
    if bad.size:
        raise RuntimeError(
            f"Index {bad[0]} of input takes value {values[bad[0]]} which is not in the valid range "
            f"[0, {rows})" + errors.at_user_line()
        )
    if not starts.size:
        if include_last_offset:
            raise RuntimeError(
                "include_last_offset: number of offset should be at least 1" + errors.at_user_line()
            )
        return
    first, last, count = starts[..., 0], starts[..., -1], indices._array.size
    if first.any():
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {first[first != 0].ravel()[0]}" + errors.at_user_line()
        )
    if last.max() > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] "
            f"of {last.max()}" + errors.at_user_line()
        )
