"""Matrices of diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew import errors
from clew.core.tensor import Tensor, wrap
from clew.ops.sparse.pointwise import with_values
from clew.ops.sparse.tensor import COMPRESSED, COO, coo


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix with given diagonals.

    Args:
        diagonals: a row for each diagonal; its element j is in column j
        offsets: which diagonal each row is: 0 the main one, positive numbers those above
        shape: the size of the matrix
        layout: the layout of the result; by default `clew.sparse_coo`

    Example:
        >>> clew.sparse.spdiags(clew.ones(2, 3), clew.tensor([0, 1]), (3, 3)).to_dense()
        tensor([[1., 1., 0.],
                [0., 1., 1.],
                [0., 0., 1.]])
    """
    rows = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    wanted = offsets._array.reshape(-1)
    count, width = rows.shape
    if count != wanted.size:
        raise RuntimeError(
            f"Number of diagonals ({count}) does not match the number of offsets ({wanted.size})"
            + errors.at_user_line()
        )
    if np.unique(wanted).size != wanted.size:
        raise RuntimeError("Offset tensor contains duplicate values" + errors.at_user_line())
    if layout is not None and layout is not COO and layout not in COMPRESSED[:2]:
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsr, SparseCsc) are supported, got {layout}"
            + errors.at_user_line()
        )
    height, columns = shape
    places, chosen = [], []
    for number, offset in enumerate(wanted):
        column = np.arange(max(offset, 0), min(width, columns, height + offset))
        places.append(np.stack([column - offset, column]))
        chosen.append(number * width + column)
    picked = wrap(np.concatenate(chosen).astype(np.int64))
    values = rows.reshape(-1)[picked]
    template = coo(np.concatenate(places, 1), values.detach(), (height, columns))
    result = with_values(template, values)
    return result if layout in (None, COO) else result.to_sparse(layout=layout)
