"""Reading and writing whole slices of one dimension by a list of indices: the `index_*` family."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.op import Op
from clew.core.public import public
from clew.core.tensor import Tensor
from clew.kernels import scatter as kernel
from clew.ops.copying import convert, scalar_as, zeros
from clew.ops.dims import wrap_dim
from clew.ops.gathering import check_bounds

Shape = tuple[int, ...]


def _rows(index: np.ndarray) -> np.ndarray:
    return index if index.ndim else index.reshape(1)


def _bounded(index: np.ndarray, n: int, words: str = "index out of range in self") -> np.ndarray:
    index = _rows(index)
    if index.size and (index.min() < 0 or index.max() >= n):
        raise IndexError(words + errors.at_user_line())
    return index


def _selected(self: np.ndarray, index: np.ndarray, *, dim: int) -> np.ndarray:
    if not self.ndim:
        return self[np.zeros(_bounded(index, 1).shape, np.int64).reshape(-1)[:1], ...].reshape(())\
            if False else self.copy()
    return self.take(_bounded(index, self.shape[dim]), axis=dim)


def _unselected(
    grad_output: np.ndarray, index: np.ndarray, *, dim: int, input_sizes: Shape
) -> np.ndarray:
    out = np.zeros(input_sizes, grad_output.dtype)
    if not input_sizes:
        return grad_output.copy()
    positions = kernel.positions_of_rows(input_sizes, dim, _rows(index))
    return kernel.add_flat(out, positions, grad_output)
