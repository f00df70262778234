"""Matrix products of arrays: compiled ones for floats, NumPy's BLAS for small ones and the rest."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from clew.interrupts import uninterrupted
from clew.kernels.gemm.gemm import Product
from clew.kernels.gemm.inline_gemm import pack
from clew.kernels.runtime import jit

Array = np.ndarray

# Below so many multiplications BLAS is quicker; with few rows or columns it is so for longer. From
# the second size on BLAS would use threads of its own, which go on spinning where ours should run.
_WORTH_IT, _WORTH_IT_ANYWAY = 1 << 17, 1 << 18
_FEW, _VERY_FEW = 16, 4

# A product with more multiplications than this for each worker is not left to one of them.
_MOST_FOR_ONE = 1 << 30
# Late products that may be unfinished: the memory of their factors is not free until then.
_MOST_LATE = 8

# The columns of a panel: as many as the widest registers' tiles have.
PANEL = 64

_PRODUCT = Product("product")
_AFFINE = Product("affine")
_LATE_PRODUCT = Product("late_product")

# What late products read and write, so that its memory stays.
Late = list[tuple[Array, Array, Array]]

# Waits for late products; set by the first of them.
_wait: Callable[[], None]


def _is_worth_it(m: int, n: int, k: int) -> bool:
    work = m * n * k
    if work < _WORTH_IT:
        return False
    least = m if m < n else n
    return least >= _FEW or (work >= _WORTH_IT_ANYWAY and least >= _VERY_FEW)


def product(a: Array, b: Array) -> Array:
    """a @ b of matrices or vectors; floats of 32 or 64 bits, or complex."""
    if a.ndim == b.ndim == 2:
        m, k = a.shape
        n = b.shape[1]
        if _is_worth_it(m, n, k) and a.dtype is b.dtype:
            kernel = _PRODUCT.when(a)
            if kernel is not None:
                result: Array = kernel(a, b)
                return result
    return np.asarray(a.dot(b))


def late_product(a: Array, b: Array, late: Late) -> Array:
    """a @ b of matrices, of which a worker may still make the elements: see `finish`."""
    global _wait
    m, k = a.shape
    n = b.shape[1]
    if _is_worth_it(m, n, k) and a.dtype is b.dtype:
        kernel = _LATE_PRODUCT.when(a)
        if kernel is not None and m * n * k * (jit.threads() - 1) <= _MOST_FOR_ONE:
            pool = jit.machine().thread_pool
            if not pool.pending_jobs.value:
                late.clear()
            elif len(late) >= _MOST_LATE:
                finish(late)
            _wait = pool.wait_for_jobs
            result = np.empty((m, n), a.dtype)
            # Before it begins: an interrupt after that must not free what a worker writes to.
            late.append((a, b, result))
            kernel(a, b, result)
            return result
    return product(a, b)


@uninterrupted
def finish(late: Late) -> None:
    """See to it that these late products are there, also if the wait for them is interrupted."""
    if late:
        try:
            # A C function: signals are looked for when it has returned.
            _wait()
        finally:
            late.clear()


def affine(a: Array, b: Array, row: Array) -> Array:
    """a @ b + row, all of one dtype: float32 or float64."""
    m, k = a.shape
    n = b.shape[1]
    if _is_worth_it(m, n, k):
        kernel = _AFFINE.when(a)
        if kernel is not None:
            result: Array = kernel(a, b, row)
            return result
    made = a.dot(b)
    made += row
    return made


def batch_product(a: Array, b: Array, out: Array | None = None) -> Array:
    """a @ b of batches of matrices of one dtype, which broadcast."""
    m, k = a.shape[-2:]
    n = b.shape[-1]
    if m >= 4 and n >= 4 and m * n * k * math.prod(a.shape[:-2]) >= _WORTH_IT:
        kernel = _PRODUCT.when(a) if a.dtype is b.dtype else None
        if kernel is not None:
            result: Array = kernel(a, b, out)
            return result
    return np.matmul(_for_blas(a), _for_blas(b), out)


def batch_affine(a: Array, b: Array, row: Array | None) -> Array:
    """a @ b + row, with a row for each matrix of a batch of floats, or none."""
    kernel = _AFFINE.when(a) if row is not None and a.dtype is b.dtype else None
    if row is None or kernel is None or a.shape[-2] * b.size < _WORTH_IT:
        product = batch_product(a, b)
        return product if row is None else product + row[..., None, :]
    result: Array = kernel(a, b, row)
    return result


def _for_blas(array: Array) -> Array:
    """The matrices with unit stride along rows or columns; NumPy's own loop is far slower."""
    if array.ndim < 2 or not array.size:
        return array
    row, column = array.strides[-2:]
    item = array.itemsize
    if (column == item and row >= item) or (row == item and column >= item):
        return array
    return np.ascontiguousarray(array)


class Panels:
    """The right factor of many products: cut, if that is of use, into panels of columns that lie
    together."""

    def __init__(self, matrix: Array) -> None:
        rows, columns = matrix.shape
        self.matrix = matrix
        self.panels: Array | None = None
        if columns % PANEL == 0 and rows * columns >= _WORTH_IT // _VERY_FEW:
            self.panels = panels = np.empty((columns // PANEL, rows, PANEL), matrix.dtype)
            if not pack(matrix, panels):
                # Both a matrix and a transposed one are cut without an array in between.
                panels.swapaxes(0, 1)[...] = matrix.T.reshape(-1, PANEL, rows).transpose(2, 0, 1)

    def times(self, rows: Array, out: Array) -> Array:
        """rows @ matrix, into `out`."""
        is_cut = self.panels is not None and len(rows) >= _VERY_FEW and out.flags.c_contiguous
        kernel = _PRODUCT.when(rows) if is_cut else None
        if kernel is None:
            return batch_product(rows, self.matrix, out)
        apart = out.reshape(len(rows), -1, PANEL).swapaxes(0, 1)
        kernel(rows, self.panels, apart)
        return out

    def times_in_groups(self, rows: Array, out: Array) -> Array:
        """rows @ matrix, cut into groups of columns: `out` has the shape (group, row, column)."""
        groups, count, size = out.shape
        panels = self.panels if count >= _VERY_FEW and size % PANEL == 0 else None
        kernel = None if panels is None else _PRODUCT.when(rows)
        if panels is None or kernel is None:
            out[...] = batch_product(rows, self.matrix).reshape(count, groups, size).swapaxes(0, 1)
            return out
        apart = out.reshape(groups, count, -1, PANEL).swapaxes(1, 2)
        kernel(rows, panels.reshape(groups, size // PANEL, -1, PANEL), apart)
        return out
