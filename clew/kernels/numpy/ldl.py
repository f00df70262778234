"""LDL factors with the pivots of Bunch and Kaufman, and systems solved by them.

What is stored is what LAPACK's sytrf and hetrf store: D on the diagonal and, for a block of two
rows, beside it; below it the multipliers of L, whose rows later pivots do not exchange.
`pivots[k]` counts from 1. It is positive where D has one row, and twice the same negative number
where D has a block of two: then the second row of the block was exchanged.
"""

from __future__ import annotations

import math

import numpy as np

from clew.kernels.compiled import ldl as compiled_ldl
from clew.kernels.numpy.arrays import Array
from clew.kernels.numpy.lapack import by_columns, solve_triangular


def _mirrored(values: Array, hermitian: bool) -> Array:
    """The transpose; with `hermitian`, the conjugate one."""
    transposed = values.swapaxes(-2, -1)
    return transposed.conj() if hermitian and values.dtype.kind in "cW" else transposed


def factor(matrices: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """LD, pivots, and for each matrix 0 or the number of its first zero pivot."""
    *batch, size, _ = matrices.shape
    count = math.prod(batch)
    factors = np.ascontiguousarray(np.tril(matrices.reshape(count, size, size)))
    if hermitian and factors.dtype.kind == "c":
        np.einsum("bii->bi", factors).imag = 0
    pivots, info = np.empty((count, size), np.int64), np.zeros(count, np.int64)
    if factors.size:
        compiled_ldl.factor(factors, pivots, info, hermitian)
    return (
        by_columns(factors.reshape(matrices.shape)),
        pivots.reshape(*batch, size).astype(np.int32),
        info.reshape(batch).astype(np.int32),
    )


def solve(factors: Array, pivots: Array, values: Array, hermitian: bool) -> Array:
    """X with A X = values for the A that was factored; batches broadcast."""
    batch = np.broadcast_shapes(factors.shape[:-2], values.shape[:-2])
    size, columns = values.shape[-2:]
    count = math.prod(batch)
    factors = np.broadcast_to(factors, (*batch, size, size)).reshape(count, size, size)
    pivots = np.broadcast_to(pivots, (*batch, size)).reshape(count, size)
    value = np.broadcast_to(values, (*batch, size, columns)).reshape(count, size, columns)
    is_first = _first_of_two(pivots)
    lower, order = _in_final_order(factors, pivots, is_first)
    with np.errstate(all="ignore"):
        # P A P^T = L D L^H
        if order is not None:
            value = np.take_along_axis(value, order, 1)
        value = solve_triangular(lower, value, upper=False, unitriangular=True)
        value = _solve_blocks(factors, is_first, value, hermitian)
        value = solve_triangular(_mirrored(lower, hermitian), value, upper=True, unitriangular=True)
    if order is not None:
        ordered, value = value, np.empty_like(value)
        np.put_along_axis(value, order, ordered, 1)
    return by_columns(value.reshape(*batch, size, columns))


def _first_of_two(pivots: Array) -> Array:
    """Where blocks of two rows begin: at every other one of negative pivots in a row."""
    places = np.arange(pivots.shape[-1])
    last_single = np.maximum.accumulate(np.where(pivots > 0, places, -1), axis=-1)
    return (pivots < 0) & ((places - last_single) % 2 == 1)


def _in_final_order(factors: Array, pivots: Array, is_first: Array) -> tuple[Array, Array | None]:
    """L with its rows in their final order, and that order, which later pivots did not apply.

    None stands for the order that they were in.
    """
    count, size = pivots.shape
    exchanged = np.abs(pivots) - 1
    # A block of one row exchanges this row, a block of two its second one.
    is_exchanged = (exchanged != np.arange(size)) & ~is_first
    if not is_exchanged.any() and not is_first.any():
        return factors, None
    lower = np.tril(factors, -1)
    matrices, rows = np.nonzero(is_first)
    lower[matrices, rows + 1, rows] = 0
    order = np.tile(np.arange(size), (count, 1))
    is_second = np.zeros_like(is_first)
    is_second[:, 1:] = is_first[:, :-1]
    for matrix, row in np.argwhere(is_exchanged):
        pair, swapped = [row, exchanged[matrix, row]], [exchanged[matrix, row], row]
        before = row - 1 if is_second[matrix, row] else row
        lower[matrix, pair, :before] = lower[matrix, swapped, :before]
        order[matrix, pair] = order[matrix, swapped]
    return lower, order[..., None]


def _solve_blocks(factors: Array, is_first: Array, value: Array, hermitian: bool) -> Array:
    """D^-1 times value."""
    diagonal = np.diagonal(factors, axis1=1, axis2=2)
    if hermitian:
        diagonal = diagonal.real.astype(factors.dtype)
    result = value / diagonal[..., None]
    matrix, row = np.nonzero(is_first)
    if matrix.size:
        c = factors[matrix, row + 1, row][:, None]
        b = c.conj() if hermitian else c
        # Divided by the largest element first, so that products do not overflow.
        scale = np.absolute(c)
        a, d = (diagonal[matrix, at][:, None] / scale for at in (row, row + 1))
        b, c = b / scale, c / scale
        first, second = value[matrix, row] / scale, value[matrix, row + 1] / scale
        determinant = a * d - b * c
        result[matrix, row] = (d * first - b * second) / determinant
        result[matrix, row + 1] = (a * second - c * first) / determinant
    return result
