"""segment_reduce: sums, means, ... of consecutive parts of a dimension."""

from __future__ import annotations

import math

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.backend.layout import contiguous_format
from clew.core.interception import one_by_one
from clew.core.public import FUNCTIONS, public
from clew.core.state import local
from clew.core.tensor import Tensor, wrap
from clew.kernels import numpy as kernels
from clew.ops.index.gather_scatter import scatter_reduce
from clew.ops.index.index_select import INDEX_REDUCE

Array = np.ndarray

# The reduction of `scatter_reduce`, and what a reduction of nothing gives.
_KINDS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "max": ("amax", -math.inf),
    "amax": ("amax", -math.inf),
    "min": ("amin", math.inf),
    "amin": ("amin", math.inf),
    "prod": ("prod", 1.0),
}


@public(checked=True, method=False, out=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduces consecutive segments of a dimension, one result for each.

    Args:
        data: the tensor
        reduce: "sum", "mean", "max", "min" or "prod"
        lengths: the lengths of the segments along `axis`; with more dimensions, those of each row
        indices: not supported, in PyTorch neither
        offsets: instead of `lengths`: where segments begin, and at last where the last one ends
        axis: the dimension; it is the last one of `lengths`
        unsafe: do not check that lengths are valid
        initial: what each reduction starts with; without it sums start with 0, and so on

    Example:
        >>> clew.segment_reduce(clew.tensor([1., 2., 3.]), "sum", lengths=clew.tensor([2, 1]))
        tensor([3., 3.])
    """
    if not isinstance(reduce, str):
        raise errors.wrong_argument("segment_reduce", "reduce", 2, "str", reduce)
    if reduce not in _KINDS:
        raise _failure(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if indices is not None:
        raise _failure("segment_reduce(): indices based reduction is not supported yet.")
    given = lengths if lengths is not None else offsets
    if given is None:
        raise _failure("segment_reduce(): Either lengths or offsets must be defined.")
    axis = axis % (data._array.ndim or 1)
    if axis != given._array.ndim - 1:
        which = "lengths" if lengths is not None else "offsets"
        raise _failure(
            f"segment_reduce(): Expected axis to be the last dimension of {which} but got {axis}."
        )
    if given.dtype not in (dtypes.int32, dtypes.int64):
        raise errors.no_kernel("_segment_reduce_lengths_cpu_kernel1", given.dtype)
    if given._is_lifted:
        result: Tensor = one_by_one(
            segment_reduce,
            (data, reduce),
            {
                "lengths": lengths, "offsets": offsets, "axis": axis, "unsafe": unsafe,
                "initial": initial,
            },
            local.state.intercept,
        )  # fmt: skip
        return result
    edges = given._array.astype(np.int64)
    if lengths is not None:
        if not unsafe:
            _check_lengths(edges, data._array.shape[axis])
        edges = np.concatenate([np.zeros_like(edges[..., :1]), edges.cumsum(-1)], -1)
    if data.dtype.category != dtypes.FLOAT:
        raise errors.no_kernel("_segment_reduce_cpu", data.dtype)
    return _reduced(data, reduce, edges, axis, initial)


FUNCTIONS["_segment_reduce"] = segment_reduce


def _check_lengths(lengths: Array, size: int) -> None:
    if (lengths < 0).any():
        raise _failure("lengths contains negative value!")
    if (lengths.sum(-1) != size).any():
        raise _failure(
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            "data.size(lengths.dim()-1) when !unsafe."
        )


def _reduced(data: Tensor, reduce: str, edges: Array, axis: int, initial: float | None) -> Tensor:
    shape = data._array.shape
    count = edges.shape[-1] - 1
    positions = np.arange(shape[axis])
    # For each position, how many segments have ended there; what lies outside goes to one more.
    if edges.ndim == 1 and (np.diff(edges) >= 0).all():
        places = np.searchsorted(edges[1:], positions, "right")
    else:
        places = (positions[:, None] >= edges[..., None, 1:]).sum(-1)
    places = np.where(positions < edges[..., :1], count, places)
    trailing = shape[axis + 1 :]
    kind, identity = _KINDS[reduce]
    first = wrap(
        np.full(
            (*shape[:axis], count + 1, *trailing), identity if initial is None else initial,
            data._array.dtype,
        )
    )  # fmt: skip
    if places.ndim == 1:
        given = first, wrap(places), data
        result = INDEX_REDUCE(*given, dim=axis, reduce=kind, include_self=True)
    else:
        index = np.broadcast_to(places.reshape(*places.shape, *(1,) * len(trailing)), shape)
        if kind == "sum":
            # Not by `scatter_reduce`, which rounds the sums of halves once.
            flat = wrap(kernels.scatter.positions_along(first._array.shape, axis, index))
            result = first.put(flat, data, accumulate=True)
        else:
            result = scatter_reduce(first, axis, wrap(index.copy()), data, kind)
    result = result.narrow(axis, 0, count)
    if reduce != "mean":
        # Its own memory, without the place for what lies outside.
        return result.clone(memory_format=contiguous_format)
    lengths = np.diff(edges, axis=-1).reshape(*edges.shape[:-1], count, *(1,) * len(trailing))
    if initial is not None:
        lengths = np.maximum(lengths, 1)
    return result / wrap(lengths.astype(data._array.dtype))


def _failure(text: str) -> RuntimeError:
    return RuntimeError(text + errors.at_user_line())
