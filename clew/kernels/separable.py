"""Linear maps along one axis, given as a short list of sources and weights per output position.

Averaging and interpolation are such maps applied axis by axis. The transpose of a table is a table
too, so that the adjoint of `apply_table` is `apply_table` with the transposed one.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clew.kernels.precision import Array, widened

# Below this many multiply-adds per output value, or this many times the table's own number, a
# product with the dense matrix is faster than gathering one source after another.
_DENSE_SIZE = 64
_DENSE_RATIO = 16


@dataclass(frozen=True, eq=False)
class AxisTable:
    """Output position i is the sum over t of weights[i, t] * input[indices[i, t]]."""

    indices: Array
    weights: Array
    input_size: int

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

    @cached_property
    def is_selection(self) -> bool:
        """Whether every output is a copy of one input."""
        return self.indices.shape[1] == 1 and bool((self.weights == 1).all())


def apply_table(x: Array, table: AxisTable, axis: int) -> Array:
    """Map one axis of x; a real or complex floating dtype, which the result keeps."""
    axis %= x.ndim
    if table.is_selection:
        return np.take(x, table.indices[:, 0], axis=axis)
    wide = widened(x)
    out = _product(wide, table, axis) if _prefers_dense(table) else _gather(wide, table, axis)
    return out.astype(x.dtype, copy=False)


def _prefers_dense(table: AxisTable) -> bool:
    return table.input_size <= max(_DENSE_SIZE, _DENSE_RATIO * table.indices.shape[1])


def _product(x: Array, table: AxisTable, axis: int) -> Array:
    matrix = table.dense.astype(x.dtype)
    if axis == x.ndim - 1:
        return np.matmul(x, matrix.T)
    folded = np.ascontiguousarray(x).reshape(*x.shape[: axis + 1], _size(x.shape[axis + 1 :]))
    out = np.matmul(matrix, folded)
    return out.reshape(*x.shape[:axis], table.output_size, *x.shape[axis + 1 :])


def _gather(x: Array, table: AxisTable, axis: int) -> Array:
    spread = (slice(None), *(None,) * (x.ndim - 1 - axis))
    weights = table.weights.astype(x.dtype)
    out = np.zeros((*x.shape[:axis], table.output_size, *x.shape[axis + 1 :]), x.dtype)
    for tap in range(table.indices.shape[1]):
        part = np.take(x, table.indices[:, tap], axis=axis)
        part *= weights[:, tap][spread]
        out += part
    return out


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
