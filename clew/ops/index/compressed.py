"""Rows of sparse matrices, listed one by one or by where each begins."""

from __future__ import annotations

import numpy as np

from clew.core.public import public
from clew.core.tensor import Tensor, wrap


def _kind(out_int32: bool) -> type[np.integer]:
    return np.int32 if out_int32 else np.int64


@public(method=False, name="_convert_indices_from_coo_to_csr")
def starts_of_rows(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each row begins, from the row of every element.

    Args:
        input: the rows, in order
        size: the number of rows
        out_int32: whether the result is int32 instead of int64
    """
    ends = np.cumsum(np.bincount(input._array, minlength=size))
    return wrap(np.concatenate([[0], ends]).astype(_kind(out_int32)))


@public(method=False, name="_convert_indices_from_csr_to_coo")
def rows_of_starts(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The row and the column of every element, from where each row begins.

    Args:
        crow_indices: where the rows begin, and where the last one ends
        col_indices: the column of every element
        out_int32: whether the result is int32 instead of int64
        transpose: whether columns come first
    """
    starts = crow_indices._array
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    pair = (col_indices._array, rows) if transpose else (rows, col_indices._array)
    return wrap(np.stack(pair).astype(_kind(out_int32)))
