"""Order: sort, argsort, topk, kthvalue, median, mode.

Each finds indices first and then takes the elements, so that backward needs the indices only.
NaN is greater than every number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor, sync
from clew.kernels import compiled
from clew.kernels import numpy as kernels
from clew.kernels.numpy.arrays import as_new
from clew.ops import define
from clew.ops.define import out_checks
from clew.ops.define.dims import numpy_names, wrap_dim
from clew.ops.define.memory_layout import in_memory_as
from clew.ops.define.rows import refuse_complex_history
from clew.ops.reduce.choosing import (
    choosing_op,
    chosen,
    found_op,
    orderable,
    require_elements,
)
from clew.ops.reduce.extrema import all_shared_evenly

# -- sort ----------------------------------------------------------------------------------------


def _argsort(self: np.ndarray, *, dim: int, descending: bool, stable: bool = True) -> np.ndarray:
    if not self.ndim:
        return np.zeros((), np.int64)
    values = orderable(self)
    if not stable and values.dtype.kind in "iu" and self.shape[dim] > _INSERTED:
        # Integers are often equal.
        arranged = _arranged(values, dim, descending, compiled.introsort.SORT)
        return in_memory_as(self, arranged)
    found = kernels.argsort.argsort(values, dim, descending)
    if found is None:
        found = _order_along(values, dim, descending)
    if not stable and self.shape[dim] > _INSERTED and _has_equals(values, found, dim):
        found = _arranged(values, dim, descending, compiled.introsort.SORT)
    return in_memory_as(self, found)


# Up to so many elements PyTorch sorts by insertion, which keeps equal elements in order.
_INSERTED = 16


def _has_equals(values: np.ndarray, order: np.ndarray, dim: int) -> bool:
    """Whether elements are equal, next to each other in this order."""
    ordered = np.moveaxis(np.take_along_axis(values, order, dim), dim, -1)
    before, after = ordered[..., :-1], ordered[..., 1:]
    is_equal = before == after
    if values.dtype.kind == "f":
        is_equal |= (before != before) & (after != after)
    return bool(is_equal.any())


def _arranged(
    values: np.ndarray,
    dim: int,
    descending: bool,
    how: str,
    count: int = 0,
    wanted: slice = slice(None),
) -> np.ndarray:
    """The indices along `dim` as PyTorch's algorithms leave them, equal elements included."""
    is_last = dim in (-1, values.ndim - 1)
    rows = values if is_last else np.moveaxis(values, dim, -1)
    items = compiled.introsort.items_of(rows, descending)
    compiled.introsort.arrange(items, how, count)
    found = items[..., wanted, 1]
    return found.copy() if is_last else np.moveaxis(found, -1, dim).copy()


def _order_along(values: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(values, axis=dim, kind="stable")
    # Sorting the reversed array keeps equal elements in order after the result is reversed.
    order = np.argsort(np.flip(values, dim), axis=dim, kind="stable")
    return np.flip(values.shape[dim] - 1 - order, dim)


ARGSORT = found_op("argsort", _argsort)
# PyTorch computes it by operations that have derivatives, and so ask for the history.
ARGSORT.sync = sync


def _sorted(self: np.ndarray, indices: np.ndarray, *, dim: int, keepdim: bool) -> np.ndarray:
    return in_memory_as(self, chosen(self, indices, dim=dim, keepdim=keepdim))


SORT = choosing_op("sort", "SortBackward0", _sorted)
# What a call with `stable=` is in PyTorch: an overload of its own.
SORT_STABLE = choosing_op("sort.stable", "SortBackward1", _sorted)
SORT_STABLE.name = SORT.name


def _order(input: Tensor, dim: int, descending: bool, stable: bool) -> tuple[Tensor, int]:
    dim = wrap_dim(dim, input._array.ndim)
    if input.dtype.is_complex:
        raise RuntimeError(" Sort does not support complex dtypes on CPU" + errors.at_user_line())
    return ARGSORT(input, dim=dim, descending=bool(descending), stable=bool(stable)), dim


@public(checked=True, accept=out_checks.exact)
@numpy_names
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None
) -> define.return_types.sort:
    """The elements in order along a dimension, and where they were.

    Args:
        input: a tensor that is not complex; NaN counts as largest
        dim: the dimension
        descending: largest first
        stable: keep the order of equal elements; else it is the one that PyTorch's sort leaves

    Example:
        >>> values, indices = clew.sort(clew.tensor([3, 1, 2]))
        >>> values, indices
        (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    indices, dim = _order(input, dim, descending, bool(stable))
    op = SORT if stable is None else SORT_STABLE
    return define.return_types.sort(op(input, indices, dim=dim, keepdim=True), indices)


@public(checked=True)
@numpy_names
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort a dimension.

    Args:
        input: a tensor that is not complex; NaN counts as largest
        dim: the dimension
        descending: largest first
        stable: keep the order of equal elements; else it is the one that PyTorch's sort leaves

    Example:
        >>> clew.argsort(clew.tensor([3, 1, 2]), descending=True)
        tensor([0, 2, 1])
    """
    return _order(input, dim, descending, stable)[0]


@public(accept=out_checks.exact, out=out_checks.same_or_apart)
def msort(input: Tensor) -> Tensor:
    """The elements in ascending order along the first dimension.

    Args:
        input: a tensor that is not complex

    Example:
        >>> clew.msort(clew.tensor([[3, 1], [2, 4]]))
        tensor([[2, 1],
                [3, 4]])
    """
    return sort(input, 0).values


# -- topk and kthvalue -----------------------------------------------------------------------------

# NumPy says of every element where it belongs, in twice the memory of the elements: not of all at
# once, when a few are wanted.
_ELEMENTS_AT_ONCE = 1 << 17


def _part_by_part(find: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Look for indices along `dim` in some of the first dimension's entries after others."""

    @functools.wraps(find)
    def function(self: np.ndarray, *, dim: int, **params: Any) -> np.ndarray:
        count = len(self) if dim and self.ndim else 1
        if count == 1 or self.size <= _ELEMENTS_AT_ONCE:
            return find(self, dim=dim, **params)
        step = max(_ELEMENTS_AT_ONCE * count // self.size, 1)
        parts = [self[start : start + step] for start in range(0, count, step)]
        return np.concatenate([find(part, dim=dim, **params) for part in parts])

    return function


@_part_by_part
def _top(self: np.ndarray, *, k: int, dim: int, largest: bool, in_order: bool) -> np.ndarray:
    if not self.ndim:
        return np.zeros((), np.int64)
    if not k:
        return np.zeros([0 if each == dim else n for each, n in enumerate(self.shape)], np.int64)
    values = orderable(self)
    if values.size == self.shape[dim] and compiled.introsort.is_few(k, values.size):
        return compiled.introsort.first_few(values.reshape(-1), k, largest).reshape(
            [k if each == dim else 1 for each in range(self.ndim)]
        )
    how = compiled.introsort.TOP if in_order else compiled.introsort.TOP_UNORDERED
    return _arranged(values, dim, largest, how, k, slice(0, k))


ARGTOPK = found_op("_argtopk", _top)
TOPK = choosing_op("topk", "TopkBackward0")


@public(checked=True, out=out_checks.own_memory, accept=out_checks.exact)
@numpy_names
def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> define.return_types.topk:
    """The k largest (or smallest) elements along a dimension, in order, and where.

    Args:
        input: a tensor that is not complex; NaN counts as largest
        k: how many
        dim: the dimension
        largest: False for the smallest ones
        sorted: in order; else in the order that PyTorch's selection leaves

    Example:
        >>> values, indices = clew.topk(clew.tensor([1., 4., 2., 3.]), 2)
        >>> values, indices
        (tensor([4., 3.]), tensor([1, 3]))
    """
    dim = wrap_dim(dim, input._array.ndim)
    if not 0 <= k <= (input._array.shape[dim] if input._array.ndim else 1):
        raise RuntimeError("selected index k out of range" + errors.at_user_line())
    if input.dtype.is_complex:
        raise RuntimeError(" topk does not support complex dtypes on CPU" + errors.at_user_line())
    if input.dtype is dtypes.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU" + errors.at_user_line())
    indices = ARGTOPK(input, k=k, dim=dim, largest=bool(largest), in_order=bool(sorted))
    return define.return_types.topk(TOPK(input, indices, dim=dim, keepdim=True), indices)


@_part_by_part
def _ranked(self: np.ndarray, *, k: int, dim: int, keepdim: bool) -> np.ndarray:
    """Where the element of rank k is, as PyTorch's selection finds it."""
    if not self.ndim:
        return np.zeros((), np.int64)
    places = _arranged(orderable(self), dim, False, compiled.introsort.RANK, k, slice(k, k + 1))
    return as_new(places if keepdim else places.squeeze(dim))


ARGKTHVALUE = found_op("_argkthvalue", _ranked)
KTHVALUE = choosing_op("kthvalue", "KthvalueBackward0")


@public(
    checked=True,
    out=out_checks.own_memory,
    accept=out_checks.kthvalue_pair,
)
@numpy_names
def kthvalue(
    input: Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> define.return_types.kthvalue:
    """The k-th smallest element (k counts from 1) along a dimension, and where.

    Args:
        input: a tensor that is not complex; NaN counts as largest
        k: 1 is the smallest
        dim: the dimension
        keepdim: keep `dim`, with size 1

    Example:
        >>> values, indices = clew.kthvalue(clew.tensor([1., 4., 2., 3.]), 2)
        >>> values, indices
        (tensor(2.), tensor(2))
    """
    dim = wrap_dim(dim, input._array.ndim)
    require_elements("kthvalue", input, dim)
    if not 1 <= k <= (input._array.shape[dim] if input._array.ndim else 1):
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {dim}"
            + errors.at_user_line()
        )
    if input._array.ndim and (input.dtype.is_complex or input.dtype is dtypes.bool_):
        raise errors.no_kernel("kthvalue_cpu", input.dtype)
    if input.dtype.is_complex:
        refuse_complex_history("kthvalue", input)
    indices = ARGKTHVALUE(input, k=k - 1, dim=dim, keepdim=keepdim)
    return define.return_types.kthvalue(KTHVALUE(input, indices, dim=dim, keepdim=keepdim), indices)


# -- median ----------------------------------------------------------------------------------------


@_part_by_part
def _middle_place(self: np.ndarray, *, k: int, dim: int, keepdim: bool) -> np.ndarray:
    """Where the element of rank k is in a stable order, without NaN."""
    places = kernels.argsort.argrank(self, k, dim)
    if places is None:
        middle = np.partition(self, k, axis=dim).take([k], axis=dim)
        # Of equal elements the one that as many as are missing come before.
        is_equal = self == middle
        missing = k - (self < middle).sum(dim, keepdims=True)
        places = np.argmax(is_equal.cumsum(dim) > missing, axis=dim, keepdims=True)
    return as_new(places if keepdim else places.squeeze(dim))


def _median_place(self: np.ndarray, *, dim: int, keepdim: bool, skip_nan: bool) -> np.ndarray:
    if not self.ndim:
        return np.zeros((), np.int64)
    values = orderable(self)
    is_nan = np.isnan(values) if values.dtype.kind == "f" else None
    if is_nan is None or not is_nan.any():
        middle = (self.shape[dim] - 1) // 2
        return _middle_place(values, k=middle, dim=dim, keepdim=keepdim)
    order = _argsort(values, dim=dim, descending=False)
    nans = is_nan.sum(axis=dim, keepdims=True)
    numbers = self.shape[dim] - nans
    rank = np.maximum(numbers - 1, 0) // 2
    if not skip_nan:
        # The first NaN in the sorted order stands for all of them.
        rank = np.where(nans > 0, numbers, rank)
    places = np.take_along_axis(order, rank, dim)
    return as_new(places if keepdim else places.squeeze(dim))


def _median_of_all(self: np.ndarray, skip_nan: bool) -> np.ndarray:
    flat = self.reshape(-1)
    if not flat.size:
        # What PyTorch's NaN becomes when it is converted to the dtype.
        is_wide = flat.dtype.kind == "i" and flat.dtype.itemsize >= 4
        fill = np.iinfo(flat.dtype).min if is_wide else 0 if flat.dtype.kind in "iu" else np.nan
        return np.asarray(fill).astype(flat.dtype)
    values = orderable(flat)
    is_nan = np.isnan(values) if values.dtype.kind == "f" else None
    nans = 0 if is_nan is None else int(np.count_nonzero(is_nan))
    if is_nan is not None and nans and (not skip_nan or nans == flat.size):
        return flat[is_nan.argmax()].reshape(())
    rank = (flat.size - nans - 1) // 2
    items = compiled.introsort.items_of(values, False)
    compiled.introsort.arrange(items, compiled.introsort.RANK, rank)
    return flat[items[rank, 1]].reshape(())


ARGMEDIAN = found_op("_argmedian", _median_place)
MEDIAN = Op(
    "median",
    lambda self: _median_of_all(self, skip_nan=False),
    grads={"self": all_shared_evenly},
    kinks="shared evenly among equal elements",
)
NANMEDIAN = Op(
    "nanmedian",
    lambda self: _median_of_all(self, skip_nan=True),
    grads={"self": all_shared_evenly},
    kinks="shared evenly among equal elements",
)
MEDIAN_DIM = choosing_op("median_dim", "MedianBackward1")
NANMEDIAN_DIM = choosing_op("nanmedian_dim", "NanmedianBackward1")


def _median(
    of_all: Op, choose: Op, input: Tensor, dim: int | None, keepdim: bool
) -> Tensor | tuple[Tensor, Tensor]:
    unordered = input.dtype.is_complex or input.dtype is dtypes.bool_
    if dim is None:
        if unordered and input._array.size:
            raise errors.no_kernel("median_cpu", input.dtype)
        if input.dtype.is_complex:
            refuse_complex_history(of_all.name, input)
        return of_all(input)
    dim = wrap_dim(dim, input._array.ndim)
    require_elements("median", input, dim)
    if unordered:
        raise errors.no_kernel("median_out", input.dtype)
    indices = ARGMEDIAN(input, dim=dim, keepdim=keepdim, skip_nan=choose is NANMEDIAN_DIM)
    return choose(input, indices, dim=dim, keepdim=keepdim), indices


@public(
    checked=True,
    out=out_checks.own_memory,
    accept=out_checks.median_pair,
)
@numpy_names
def median(
    input: Tensor, dim: int | None = None, keepdim: bool = False
) -> Tensor | define.return_types.median:
    """The (lower) median of all elements, or along a dimension, then also where it is.

    Args:
        input: a tensor that is not complex; the median is NaN where an element is
        dim: the dimension; by default all elements
        keepdim: keep `dim`, with size 1

    Example:
        >>> clew.median(clew.tensor([4., 1., 3., 2.]))  # of the middle two, the smaller
        tensor(2.)
    """
    found = _median(MEDIAN, MEDIAN_DIM, input, dim, keepdim)
    return define.return_types.median(*found) if isinstance(found, tuple) else found


@public(
    checked=True,
    out=out_checks.own_memory,
    accept=out_checks.median_pair,
)
@numpy_names
def nanmedian(
    input: Tensor, dim: int | None = None, keepdim: bool = False
) -> Tensor | define.return_types.nanmedian:
    """The (lower) median of the elements that are not NaN, and along a dimension also where.

    Args:
        input: a tensor that is not complex
        dim: the dimension; by default all elements
        keepdim: keep `dim`, with size 1

    Example:
        >>> clew.nanmedian(clew.tensor([4., float("nan"), 3., 2.]))
        tensor(3.)
    """
    found = _median(NANMEDIAN, NANMEDIAN_DIM, input, dim, keepdim)
    return define.return_types.nanmedian(*found) if isinstance(found, tuple) else found


# -- mode ------------------------------------------------------------------------------------------


def _mode_place(self: np.ndarray, *, dim: int, keepdim: bool) -> np.ndarray:
    """The last place of the most frequent element, the smallest one among equally frequent."""
    if not self.ndim:
        return np.zeros((), np.int64)
    order = np.moveaxis(_argsort(self, dim=dim, descending=False, stable=False), dim, -1)
    rows = np.moveaxis(self, dim, -1)
    if self.shape[dim] <= _INSERTED:
        for row in np.argwhere((rows != rows).any(-1)):
            order[tuple(row)] = _order_with_nan(rows[tuple(row)])
    ordered = np.take_along_axis(rows, order, -1)
    places = np.arange(self.shape[dim])
    starts = np.zeros(ordered.shape, np.int64)
    starts[..., 1:] = np.where(ordered[..., 1:] != ordered[..., :-1], places[1:], 0)
    run_lengths = places - np.maximum.accumulate(starts, axis=-1)
    last = np.argmax(run_lengths, axis=-1, keepdims=True)
    result = np.moveaxis(np.take_along_axis(order, last, -1), -1, dim)
    return as_new(result if keepdim else result.squeeze(dim))


def _order_with_nan(row: np.ndarray) -> list[int]:
    """The places of a row's elements as PyTorch sorts them here: what comes to NaN stays there."""
    values = row.tolist()
    order: list[int] = []
    for place, value in enumerate(values):
        at = len(order)
        if order and value < values[order[0]]:
            at = 0
        while at and value < values[order[at - 1]]:
            at -= 1
        order.insert(at, place)
    return order


ARGMODE = found_op("_argmode", _mode_place)
MODE = choosing_op("mode", "ModeBackward0")


@public(
    checked=True,
    out=out_checks.own_memory,
    accept=out_checks.mode_pair,
)
@numpy_names
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> define.return_types.mode:
    """The most frequent element along a dimension, and where (the last place).

    Args:
        input: a tensor that is not complex; of several, the smallest is taken
        dim: the dimension
        keepdim: keep `dim`, with size 1

    Example:
        >>> values, indices = clew.mode(clew.tensor([1, 2, 2, 3, 3]))
        >>> values, indices
        (tensor(2), tensor(2))
    """
    dim = wrap_dim(dim, input._array.ndim)
    require_elements("mode", input, dim)
    if input.dtype.is_complex:
        if input._array.ndim and input._array.size:
            raise errors.no_kernel("mode_cpu", input.dtype)
        refuse_complex_history("mode", input)
    indices = ARGMODE(input, dim=dim, keepdim=keepdim)
    return define.return_types.mode(MODE(input, indices, dim=dim, keepdim=keepdim), indices)
