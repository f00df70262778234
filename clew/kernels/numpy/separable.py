"""Linear maps along one axis, given as a short list of sources and weights per output position.

Averaging and interpolation are such maps applied axis by axis. The transpose of a table is a table
too, so that the adjoint of `apply_table` is `apply_table` with the transposed one.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from clew.forking import cached_property
from clew.kernels import compiled, pool
from clew.kernels.numpy.arrays import Array, at, widened

# A product with the dense matrix does more arithmetic than gathering one source after another, but
# faster: up to this many input positions per source on the last axis, where a gather is slow, and
# on other axes, where it copies whole runs.
_DENSE_RATIO_LAST = 32
_DENSE_RATIO_OTHER = 4
# Elements of an adaptive window from which on windows are handled one by one, by whole slices.
LONG_WINDOW = 1 << 11


class AxisTable:
    """Output position i is the sum over t of weights[i, t] * input[indices[i, t]]."""

    def __init__(self, indices: Array, weights: Array, input_size: int) -> None:
        self.indices, self.weights, self.input_size = indices, weights, input_size

    @staticmethod
    @lru_cache(maxsize=16)
    def identity(size: int) -> "AxisTable":
        """The map that changes nothing."""
        return AxisTable(np.arange(size)[:, None], np.ones((size, 1)), size)

    @property
    def output_size(self) -> int:
        """How many positions the map makes."""
        return int(self.indices.shape[0])

    @cached_property
    def transposed(self) -> "AxisTable":
        """The adjoint map; sources that are used less often than others get zero weights."""
        outputs = np.repeat(np.arange(self.output_size), self.indices.shape[1])
        used = self.weights.ravel() != 0
        sources, outputs = self.indices.ravel()[used], outputs[used]
        order = np.argsort(sources, kind="stable")
        sources, outputs = sources[order], outputs[order]
        uses = np.bincount(sources, minlength=self.input_size)
        slot = np.arange(sources.size) - (np.cumsum(uses) - uses)[sources]
        shape = (self.input_size, max(1, int(uses.max(initial=0))))
        indices, weights = np.zeros(shape, np.intp), np.zeros(shape, self.weights.dtype)
        indices[sources, slot] = outputs
        weights[sources, slot] = self.weights.ravel()[used][order]
        return AxisTable(indices, weights, self.output_size)

    @cached_property
    def dense(self) -> Array:
        """The map as a matrix (output size, input size)."""
        matrix = np.zeros((self.output_size, self.input_size), self.weights.dtype)
        rows = np.broadcast_to(np.arange(self.output_size)[:, None], self.indices.shape)
        np.add.at(matrix, (rows, self.indices), self.weights)
        return matrix

    def taps(self, dtype: np.dtype, by_tap: bool) -> tuple[Array, Array]:
        """Indices and weights for a compiled kernel, by tap or by output position."""
        key = dtype.char, by_tap
        if key not in self._taps:
            indices, weights = self.indices.astype(np.int64), self.weights.astype(dtype)
            if by_tap:
                indices, weights = indices.T, weights.T
            self._taps[key] = np.ascontiguousarray(indices), np.ascontiguousarray(weights)
        return self._taps[key]

    @cached_property
    def _taps(self) -> dict[tuple[str, bool], tuple[Array, Array]]:
        return {}

    @cached_property
    def is_selection(self) -> bool:
        """Whether every output is a copy of one input."""
        return self.indices.shape[1] == 1 and bool((self.weights == 1).all())


def pick(array: Array, positions: Array, axis: int) -> Array:
    """The given positions of one axis, as a view where they are evenly spaced."""
    steps = np.diff(positions)
    step = int(steps[0]) if steps.size else 1
    if positions.size and step > 0 and (steps == step).all():
        chosen = slice(int(positions[0]), int(positions[-1]) + 1, step)
        picked: Array = array[at(*(slice(None),) * axis, chosen)]
        return picked
    return np.take(array, positions, axis=axis)


@lru_cache(maxsize=256)
def adaptive_bounds(size: int, count: int) -> tuple[Array, Array]:
    """First and past-the-last input position of `count` nearly equal windows that cover all."""
    steps = np.arange(count)
    return steps * size // count, -(-(steps + 1) * size // count)


def window_slices(place: Sequence[int], bounds: Sequence[tuple[Array, Array]]) -> Any:
    """The index of one adaptive window in (N, C, *spatial)."""
    spans = [slice(int(b[n]), int(e[n])) for n, (b, e) in zip(place, bounds, strict=True)]
    return at(..., *spans)


def check_adaptive(spatial: Sequence[int], sizes: Sequence[int]) -> None:
    """Raise where an adaptive window would be empty."""
    if min(sizes) < 0:
        raise RuntimeError(f"elements of output_size must be greater than or equal to 0 {sizes}")
    if 0 in spatial:
        raise RuntimeError(
            f"Expected input to have non-zero size for non-batch dimensions, but input has "
            f"spatial sizes {list(spatial)}"
        )


def apply_tables(x: Array, tables: Sequence[AxisTable]) -> Array:
    """Map the trailing axes of x, one table for each."""
    # What only copies elements is as quick without a kernel, and as exact in any dtype.
    copies = all(table.is_selection for table in tables)
    wide = x if copies else widened(x)
    axis = -1
    if not copies:
        mapped = _map_last_axes(wide, tables)
        if mapped is not None:
            wide, tables, axis = mapped, tables[:-2], -3
    for table in reversed(tables):
        wide = apply_table(wide, table, axis)
        axis -= 1
    return wide.astype(x.dtype, copy=False)


# So many halves are picked before they are added.
_PICKED = 1 << 20


def add_in_steps(shares: Array, tables: Sequence[AxisTable]) -> Array:
    """Add each half to the sources of its output position; sums are rounded after each addition.

    The adjoint of `apply_tables` where weights are 0 or 1, in PyTorch's order: output by output.
    """
    dims = len(tables)
    leading, spatial = shares.shape[:-dims], tuple(table.input_size for table in tables)
    places: Any = 0
    used: Any = True
    for axis, table in enumerate(tables):
        # All outputs, then all of their sources.
        shape = [1] * (2 * dims)
        shape[axis], shape[dims + axis] = table.indices.shape
        places = places * table.input_size + table.indices.reshape(shape)
        used = used & (table.weights != 0).reshape(shape)
    outputs, kept = used.reshape(prod(shares.shape[-dims:]), -1).nonzero()
    sources = np.ascontiguousarray(places.reshape(used.shape)[used], np.int64)
    rows = shares.reshape(prod(leading), prod(shares.shape[-dims:]))
    out = np.zeros((len(rows), prod(spatial)), shares.dtype)
    step = max(_PICKED // max(kept.size, 1), 1)
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        picked = rows[part].take(outputs, 1)
        compiled.gather_scatter.rows_combined(out[part, :, None], sources, picked[..., None])
    return out.reshape(*leading, *spatial)


def _map_last_axes(x: Array, tables: Sequence[AxisTable]) -> Array | None:
    """Map the last two axes, or the only one, by compiled code; None if there is none."""
    columns = tables[-1].taps(x.dtype, True)
    if len(tables) > 1:
        return pool.separable_maps.separable_map(x, tables[-2].taps(x.dtype, False), columns)
    one_row = AxisTable.identity(1).taps(x.dtype, False)
    mapped = pool.separable_maps.separable_map(x[..., None, :], one_row, columns)
    return None if mapped is None else mapped[..., 0, :]


def apply_table(x: Array, table: AxisTable, axis: int) -> Array:
    """Map one axis of x; a real or complex floating dtype, which the result keeps."""
    axis %= x.ndim
    if table.is_selection:
        return np.take(x, table.indices[:, 0], axis=axis)
    wide = widened(x)
    # A zero weight must drop its source, but times an infinite one it would be NaN.
    finite = x.size == 0 or bool(np.isfinite(wide.sum()))
    ratio = _DENSE_RATIO_LAST if axis == x.ndim - 1 else _DENSE_RATIO_OTHER
    if finite and table.input_size <= ratio * table.indices.shape[1]:
        out = _product(wide, table, axis)
    else:
        out = _gather(wide, table, axis, drop_zero_weights=not finite)
    return out.astype(x.dtype, copy=False)


def _product(x: Array, table: AxisTable, axis: int) -> Array:
    matrix = table.dense.astype(x.dtype)
    if axis == x.ndim - 1:
        along_last: Array = np.matmul(x, matrix.T)
        return along_last
    folded = np.ascontiguousarray(x).reshape(*x.shape[: axis + 1], prod(x.shape[axis + 1 :]))
    out: Array = np.matmul(matrix, folded)
    return out.reshape(*x.shape[:axis], table.output_size, *x.shape[axis + 1 :])


def _gather(x: Array, table: AxisTable, axis: int, drop_zero_weights: bool) -> Array:
    spread = at(slice(None), *(None,) * (x.ndim - 1 - axis))
    weights = table.weights.astype(x.dtype)
    out = np.zeros((*x.shape[:axis], table.output_size, *x.shape[axis + 1 :]), x.dtype)
    for tap in range(table.indices.shape[1]):
        source = pick(x, table.indices[:, tap], axis)
        factor = weights[:, tap][spread]
        if drop_zero_weights:
            source = np.where(factor == 0, 0, source)
        out += source * factor
    return out
