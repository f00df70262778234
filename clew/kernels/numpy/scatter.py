"""Adding values at given positions, where positions may repeat.

`np.add.at` is fast only for one-dimensional targets, so everything is brought to that form: for
4096 rows added into 10000 x 64 floats it takes 1.3 ms instead of 8.7.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from clew.backend.dtypes import LOW_PRECISION
from clew.kernels import compiled
from clew.kernels.codegen.contexts import TYPES
from clew.kernels.numpy.arrays import widened
from clew.kernels.numpy.conversion import converted
from clew.kernels.numpy.strides import memory_of, overlaps_itself
from clew.kernels.runtime import jit

# With so many elements to each position, only those that are added to are converted.
_SPARSE = 16


def flat_positions(shape: tuple[int, ...], key: tuple[Any, ...]) -> np.ndarray:
    """The positions, in a row-major array of that shape, of the elements that `key` picks."""
    if all(type(each) is np.ndarray and each.dtype.kind in "iu" for each in key):
        leading = shape[: len(key)]
        rows: Any = 0
        for each, n in zip(key, leading, strict=True):
            if each.size and (each.min() < -n or each.max() >= n):
                raise IndexError(f"an index is out of bounds for a dimension of size {n}")
            rows = rows * n + np.where(each < 0, each + n, each)
        width = int(np.prod(shape[len(key) :]))
        if len(key) == len(shape):
            return np.asarray(rows)
        within = np.arange(width).reshape(shape[len(key) :])
        rows = np.asarray(rows)
        return rows.reshape(rows.shape + (1,) * within.ndim) * width + within
    return np.arange(int(np.prod(shape))).reshape(shape)[key]


def add_flat(
    target: np.ndarray, positions: np.ndarray, values: np.ndarray, *, wide: bool = False
) -> np.ndarray:
    """`target.flat[positions] += values` with repeated positions counted each time.

    The target is written to and returned; positions count in row-major order, whatever its strides.
    Halves are rounded after each addition, or with `wide` once.
    """
    if not target.flags.c_contiguous and not overlaps_itself(target):
        target[...] = add_flat(np.array(target, order="C"), positions, values, wide=wide)
        return target
    is_half = target.dtype in LOW_PRECISION
    if is_half and wide:
        if positions.size * _SPARSE < target.size:
            return _add_to_few(target, positions, values)
        target[...] = add_flat(target.astype(np.float32), positions, values.astype(np.float32))
        return target
    spread = np.broadcast_to(values, positions.shape)
    if target.dtype != spread.dtype:
        spread = spread.astype(target.dtype)
    _combine_flat(target, positions, spread, "sum")
    return target


def _add_to_few(target: np.ndarray, positions: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Wide `add_flat` that converts only the elements that are added to."""
    touched, which = np.unique(positions, return_inverse=True)
    flat = target.reshape(-1)
    sums = flat[touched].astype(np.float32)
    spread = np.broadcast_to(values, positions.shape).astype(np.float32)
    np.add.at(sums, which.ravel(), spread.ravel())
    flat[touched] = sums
    return target


def in_memory(target: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An array's memory as a vector, and where in it the elements at row-major positions lie."""
    if target.flags.c_contiguous:
        return target.reshape(-1), positions
    memory, places = memory_of(target)
    return memory, places.reshape(-1)[positions]


def put_flat(target: np.ndarray, positions: np.ndarray, values: np.ndarray) -> None:
    """`target.flat[positions] = values`."""
    memory, places = in_memory(target, positions)
    memory[places] = values


def add_at(target: np.ndarray, key: tuple[Any, ...], values: np.ndarray) -> np.ndarray:
    """`target[key] += values` with repeated indices counted each time; returns the target."""
    first = key[0]
    if len(key) == 1 and first.dtype.kind in "iu" and first.ndim == 1:
        n = target.shape[0]
        if first.size and (first.min() < -n or first.max() >= n):
            raise IndexError(f"an index is out of bounds for a dimension of size {n}")
        index = np.where(first < 0, first + n, first)
        rows = np.broadcast_to(values, index.shape + target.shape[1:])
        return add_rows(target, index, rows, wide=False)
    return add_flat(target, flat_positions(target.shape, key), values)


# From this many elements per row on, adding whole rows is faster than adding elements.
WIDE_ROW = 256


def add_rows(
    target: np.ndarray, index: np.ndarray, rows: np.ndarray, dim: int = 0, *, wide: bool
) -> np.ndarray:
    """`target[index] += rows`, with row numbers along `dim` that may repeat; returns the target.

    Halves are rounded after each addition, or with `wide` once.
    """
    if not rows.size:
        return target
    if target.dtype in LOW_PRECISION and wide:
        if rows.size * _SPARSE < target.size:
            return _add_to_few(target, positions_of_rows(target.shape, dim, index), rows)
        given = widened(target), index, widened(rows)
        target[...] = converted(add_rows(*given, dim, wide=True), target.dtype)
        return target
    if _combined_rows(target, index, rows, dim, "add"):
        return target
    if dim or math.prod(target.shape[1:]) < WIDE_ROW or target.dtype in LOW_PRECISION:
        return add_flat(target, positions_of_rows(target.shape, dim, index), rows, wide=wide)
    order = np.argsort(index, kind="stable")
    place = index[order]
    # Round k adds the k-th occurrence of each row number, so no round names a row twice.
    first = np.flatnonzero(np.diff(place, prepend=-1))
    counts = np.diff(first, append=index.size)
    done = 0
    while first.size:
        target[place[first + done]] += rows[order[first + done]]
        done += 1
        more = counts > done
        first, counts = first[more], counts[more]
    return target


def _combined_rows(
    target: np.ndarray, index: np.ndarray, rows: np.ndarray, dim: int, how: str
) -> bool:
    """Combine rows with those of the target by a kernel, if there is one for these arrays."""
    if (
        target.dtype not in compiled.gather_scatter.KINDS
        or target.dtype is not rows.dtype
        or not target.flags.c_contiguous
    ):
        return False
    shape = target.shape
    outer, width = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    values = np.ascontiguousarray(rows).reshape(outer, index.size, width)
    places = np.ascontiguousarray(index, np.int64)
    whole = target.reshape(outer, shape[dim], width)
    compiled.gather_scatter.rows_combined(whole, places, values, how)
    return True


# So many elements NumPy takes more quickly than a kernel is called.
_FEW = 1 << 12


def take_few(source: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """`source[..., index]` along the last dimension by NumPy, if that is the quickest way."""
    if index.size >= _FEW or not source.size or index.shape[:-1] != source.shape[:-1]:
        return None
    if not source.flags.c_contiguous:
        return None
    width = source.shape[-1]
    rows = source.size // width
    places = index.reshape(rows, -1) + _starts_of_rows(rows, width)
    return source.reshape(-1).take(places).reshape(index.shape)


# So many elements NumPy copies more quickly than a second thread wakes up.
_MANY = 1 << 18


def take_rows(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """`table[index]`, for an index of any shape that is known to be in bounds."""
    if (
        index.size * math.prod(table.shape[1:]) < _MANY
        or table.dtype not in TYPES
        or table.ndim != 2
        or not table.flags.c_contiguous
        or jit.threads() == 1
    ):
        return table.take(index, axis=0)
    rows = compiled.gather_scatter.take_rows(
        table, np.ascontiguousarray(index, np.int64).reshape(-1)
    )
    return rows.reshape(*index.shape, table.shape[1])


@functools.lru_cache(maxsize=64)
def _starts_of_rows(rows: int, width: int) -> np.ndarray:
    return np.arange(0, rows * width, width)[:, None]


def in_blocks(
    target: np.ndarray, index: np.ndarray, dim: int, *values: np.ndarray
) -> list[np.ndarray] | None:
    """Target, index and values as (outer, length, inner), the same memory where it may be written.

    None unless there is a kernel: for one dtype, in row-major order, and an index that goes with
    all the target has beside `dim`.
    """
    shape = target.shape
    has_kernel = target.dtype in compiled.gather_scatter.KINDS and target.flags.c_contiguous
    if not has_kernel or not index.size:
        return None
    if index.shape[:dim] != shape[:dim] or index.shape[dim + 1 :] != shape[dim + 1 :]:
        return None
    if any(each.dtype is not target.dtype or each.shape != index.shape for each in values):
        return None
    outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    whole_index = np.ascontiguousarray(index, np.int64)
    return [
        target.reshape(outer, shape[dim], inner),
        *(
            np.ascontiguousarray(each).reshape(outer, index.shape[dim], inner)
            for each in (whole_index, *values)
        ),
    ]


def add_along(target: np.ndarray, index: np.ndarray, values: np.ndarray, dim: int) -> None:
    """Add values along `dim`, each at an index of its own; halves are rounded once."""
    if target.dtype in LOW_PRECISION and values.size * _SPARSE >= target.size:
        floats = widened(target)
        _combine_along(floats, index, widened(values), dim, "sum")
        target[...] = converted(floats, target.dtype)
    elif target.dtype in LOW_PRECISION:
        _add_to_few(target, positions_along(target.shape, dim, index), values)
    else:
        _combine_along(target, index, values, dim, "sum")


def positions_along(shape: tuple[int, ...], dim: int, index: np.ndarray) -> np.ndarray:
    """Flat positions of `x[..., index[place], ...]`; other coordinates are the place's own."""
    positions: Any = index
    stride = 1
    for each in reversed(range(len(shape))):
        if each == dim:
            positions = positions + index * (stride - 1) if stride != 1 else positions
        else:
            steps = np.arange(index.shape[each]) * stride
            positions = positions + steps.reshape((-1,) + (1,) * (len(shape) - 1 - each))
        stride *= shape[each]
    return np.asarray(positions)


def positions_of_rows(shape: tuple[int, ...], dim: int, index: np.ndarray) -> np.ndarray:
    """Flat positions of `x.take(index, axis=dim)`, in its shape."""
    inner = int(np.prod(shape[dim + 1 :]))
    outer = int(np.prod(shape[:dim]))
    rows = index.reshape(1, -1, 1) * inner + np.arange(inner)
    rows = rows + (np.arange(outer) * (shape[dim] * inner)).reshape(-1, 1, 1)
    return rows.reshape(shape[:dim] + (index.size,) + shape[dim + 1 :])


_IDENTITY: dict[str, Any] = {"sum": 0, "mean": 0, "prod": 1}
_REDUCE: dict[str, Any] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip


def _identity(reduce: str, dtype: np.dtype) -> Any:
    if reduce in _IDENTITY:
        return _IDENTITY[reduce]
    sign = -1 if reduce == "amax" else 1
    if dtype.kind == "f" or dtype in LOW_PRECISION:
        return sign * np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max


def _multiply_complex(flat: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """`np.multiply.at`, which rounds products of complex numbers otherwise than `np.multiply`."""
    by_place = np.argsort(places, kind="stable")
    ordered = places[by_place]
    # The first values of all places are multiplied at once, then the second ones.
    is_first = np.diff(ordered, prepend=-1) != 0
    numbers = np.arange(ordered.size)
    turn = numbers - np.maximum.accumulate(np.where(is_first, numbers, 0))
    by_turn = by_place[np.argsort(turn, kind="stable")]
    for part in np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]):
        # Not `*=`, which NumPy takes for a reduction where there is one value.
        flat[places[part]] = flat[places[part]] * values[part]


# What the kernels call it.
_HOW = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _combine_along(
    target: np.ndarray, index: np.ndarray, values: np.ndarray, dim: int, reduce: str
) -> None:
    """Combine values along `dim` with what is there, each at an index of its own."""
    blocks = in_blocks(target, index, dim, values)
    if blocks is not None:
        whole, places, given = blocks
        compiled.gather_scatter.scatter_combined(whole, places, given, _HOW[reduce])
    else:
        _combine_flat(target, positions_along(target.shape, dim, index), values, reduce)


def _combine_flat(
    target: np.ndarray, positions: np.ndarray, values: np.ndarray, reduce: str
) -> None:
    """The same at positions that count in row-major order, in an array of any dtype."""
    flat, positions = in_memory(target, positions)
    places = positions.astype(np.int64, copy=False).ravel()
    given = np.ascontiguousarray(values, target.dtype).ravel()
    if target.dtype in compiled.gather_scatter.KINDS:
        blocks = flat.reshape(1, -1, 1), places, given.reshape(1, -1, 1)
        compiled.gather_scatter.rows_combined(*blocks, _HOW[reduce])
    elif reduce == "prod" and target.dtype.kind in "cW":
        _multiply_complex(flat, places, given)
    else:
        _REDUCE[reduce].at(flat, places, given)


def reduce_along(
    target: np.ndarray, index: np.ndarray, values: np.ndarray, dim: int, reduce: str,
    include_self: bool,
) -> np.ndarray:  # fmt: skip
    """Reduce values along `dim` into a row-major copy, each at an index of its own.

    The result is returned. Halves are rounded once.
    """
    if target.dtype in LOW_PRECISION:
        floats = widened(target), index, widened(values)
        return converted(reduce_along(*floats, dim, reduce, include_self), target.dtype)
    if not include_self:
        positions = positions_along(target.shape, dim, index)
        target.reshape(-1)[positions] = _identity(reduce, target.dtype)
    _combine_along(target, index, values, dim, reduce)
    if reduce == "mean":
        counts = np.full(target.shape, int(include_self), np.int64)
        _combine_along(counts, index, np.ones(index.shape, np.int64), dim, "sum")
        _divide(target, counts)
    return target


def reduce_rows(
    target: np.ndarray, index: np.ndarray, rows: np.ndarray, dim: int, reduce: str,
    include_self: bool,
) -> np.ndarray:  # fmt: skip
    """Reduce rows along `dim` into those of a row-major copy that a vector of indices names.

    The result is returned. Halves are rounded after each step.
    """
    if not include_self:
        target[(slice(None),) * dim + (index,)] = _identity(reduce, target.dtype)
    if not _combined_rows(target, index, rows, dim, _HOW[reduce]):
        _combine_flat(target, positions_of_rows(target.shape, dim, index), rows, reduce)
    if reduce == "mean" and index.size:
        counts = np.bincount(index, minlength=target.shape[dim]) + int(include_self)
        _divide(target, counts.reshape((-1,) + (1,) * (target.ndim - 1 - dim)))
    return target


def _divide(sums: np.ndarray, counts: np.ndarray) -> None:
    """Divide sums by counts, in place, where there are any; integers are rounded down."""
    counts = np.maximum(counts, 1).astype(sums.dtype)
    if sums.dtype.kind in "iu":
        np.floor_divide(sums, counts, sums)
    elif sums.dtype in LOW_PRECISION:
        sums[...] = converted(widened(sums) / widened(counts), sums.dtype)
    else:
        np.divide(sums, counts, sums)
