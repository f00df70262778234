"""Matrix products of arrays: compiled GEMM for floats, NumPy's BLAS for small ones and the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clew.interrupts import uninterrupted
from clew.kernels import gemm
from clew.kernels.codegen.ir import F32, F64
from clew.kernels.codegen.ufunc import Kernel
from clew.kernels.gemm.small_products import (
    COMPLEX_LIMIT,
    LIMIT,
    SMALL_COMPLEX_PRODUCT,
    SMALL_PRODUCT,
    VECTOR,
    VECTOR_LIMIT,
)
from clew.kernels.runtime import jit
from clew.kernels.runtime.cpu import HOST

Array = np.ndarray

# Below so many multiplications BLAS is faster; the second number is for few rows or columns. From
# there on BLAS would use threads of its own, which go on spinning where ours should run.
_MIN_WORK, _MIN_WORK_NARROW = 1 << 17, 1 << 18
_NARROW, _VERY_NARROW = 16, 4
# Where the thread pool has no workers, BLAS may have threads, and large products are left to it.
_HAS_WORKERS = HOST.has_workers

# A product with more multiplications than this is not an asynchronous job, because one worker alone
# would take longer than all threads together and the rest of a step. The second number is for the
# only worker: then the calling thread goes on meanwhile, and both are busy either way.
_MAX_ASYNC_WORK, _MAX_ASYNC_WORK_OF_ONE = 1 << 22, 1 << 30
# Asynchronous products that may be pending: they keep their factors' memory alive.
_MAX_PENDING = 8

# The columns of a panel: those of a tile of AVX-512 in float32.
PANEL = 64


class Product(Kernel):
    """A ufunc of matrix products, with a bias or without."""

    def __init__(self, name: str, bias: bool = False) -> None:
        core = "(m,k),(k,n),(n)->(m,n)" if bias else "(m,k),(k,n)->(m,n)"
        types = [([t] * (3 if bias else 2), [t]) for t in (F32, F64)]
        super().__init__(name, np.matmul, types, core)

    def compile(self, index: int) -> int:
        return gemm.gemm.functions(("float", "double")[index])[self.name]


PRODUCT = Product("product")
AFFINE = Product("affine", bias=True)
ASYNC_PRODUCT = Product("async_product")

# The operands and results of asynchronous products, which keeps their memory alive.
PendingProducts = list[tuple[Array, Array, Array]]

# Waits for asynchronous jobs; set by the first product.
_wait: Callable[[], None]


def uses_gemm(m: int, n: int, k: int) -> bool:
    """Whether a product is large enough for the compiled GEMM; BLAS is quicker for others."""
    work = m * n * k
    if work < _MIN_WORK or not _HAS_WORKERS:
        return False
    least = m if m < n else n
    return least >= _NARROW or (work >= _MIN_WORK_NARROW and least >= _VERY_NARROW)


def uses_batched_gemm(count: int, m: int, n: int, k: int) -> bool:
    """The same for products of so many pairs."""
    return _HAS_WORKERS and m >= 4 and n >= 4 and m * n * k * count >= _MIN_WORK


def may_be_async(m: int, n: int, k: int) -> bool:
    """Whether a product is small enough for one worker."""
    return m * n * k <= (_MAX_ASYNC_WORK if jit.threads() > 2 else _MAX_ASYNC_WORK_OF_ONE)


def product(a: Array, b: Array) -> Array:
    """a @ b of matrices or vectors; floats of 32 or 64 bits, or complex."""
    if a.ndim == b.ndim == 2:
        m, k = a.shape
        n = b.shape[1]
        if uses_gemm(m, n, k) and a.dtype is b.dtype:
            kernel = PRODUCT.specialize(a)
            if kernel is not None:
                result: Array = kernel(a, b)
                return result
        is_real = a.dtype.kind == "f"
        if k == 1 and (m == 1 or n == 1 or is_real):
            # BLAS would take 0 times NaN for 0.
            return _outer(a, b)
        if not is_real:
            kernel = _small_complex_kernel(a, b, m, n, k)
            if kernel is not None:
                few: Array = kernel(a, b)
                return few
    elif a.ndim == 2 and b.size == 1:
        return _outer(a, b)[:, 0]
    elif a.ndim == 2 and a.dtype.kind == "c" and a.size <= VECTOR_LIMIT and a.dtype is b.dtype:
        sums: Array = SMALL_PRODUCT.specialize(a)(a, b[:, None])
        return sums[:, 0]
    return np.asarray(a.dot(b))


def _small_complex_kernel(a: Array, b: Array, m: int, n: int, k: int) -> Any:
    """The kernel that sums a product of two complex matrices as PyTorch's BLAS does, or None."""
    if a.dtype.kind != "c" or m * n * k > COMPLEX_LIMIT or a.dtype is not b.dtype:
        return None
    has_vectors = n >= VECTOR and k >= VECTOR
    return (SMALL_COMPLEX_PRODUCT if has_vectors else SMALL_PRODUCT).specialize(a)


def _outer(a: Array, b: Array) -> Array:
    """A column times a row; a number times either is added to 0, as in PyTorch: never -0."""
    products = np.multiply(a, b, order="C")
    if a.size == 1 or b.size == 1:
        products += products.dtype.type(0)
    return products


def async_product(a: Array, b: Array, pending: PendingProducts) -> Array:
    """a @ b of matrices, which a worker may still be computing: see `finish`."""
    global _wait
    m, k = a.shape
    n = b.shape[1]
    if uses_gemm(m, n, k) and a.dtype is b.dtype:
        kernel = ASYNC_PRODUCT.specialize(a)
        if kernel is not None and may_be_async(m, n, k):
            pool = jit.machine().thread_pool
            if not pool.pending_jobs.value:
                pending.clear()
            elif len(pending) >= _MAX_PENDING:
                finish(pending)
            _wait = pool.wait_for_jobs
            result = np.empty((m, n), a.dtype)
            # Before it begins: an interrupt after that must not free what a worker writes to.
            pending.append((a, b, result))
            kernel(a, b, result)
            return result
    return product(a, b)


@uninterrupted
def finish(pending: PendingProducts) -> None:
    """Wait for asynchronous products; also if that is interrupted, they are complete afterwards."""
    if pending:
        try:
            # A C function: Python runs signal handlers after it has returned.
            _wait()
        finally:
            pending.clear()


def affine(a: Array, b: Array, bias: Array) -> Array:
    """a @ b + bias, all of one dtype: float32 or float64."""
    m, k = a.shape
    n = b.shape[1]
    if uses_gemm(m, n, k):
        kernel = AFFINE.specialize(a)
        if kernel is not None:
            result: Array = kernel(a, b, bias)
            return result
    total = _outer(a, b) if k == 1 else a.dot(b)
    total += bias
    return total


def batch_product(a: Array, b: Array, out: Array | None = None) -> Array:
    """a @ b of batches of matrices of one dtype, which broadcast."""
    m, k = a.shape[-2:]
    n = b.shape[-1]
    work = m * n * k
    kernel = None
    if work < LIMIT:
        kernel = SMALL_PRODUCT.specialize(a) if a.dtype is b.dtype else None
    elif a.dtype.kind == "c":
        kernel = _small_complex_kernel(a, b, m, n, k)
    elif uses_batched_gemm(math.prod(a.shape[:-2]), m, n, k):
        kernel = PRODUCT.specialize(a) if a.dtype is b.dtype else None
    if kernel is not None:
        result: Array = kernel(a, b, out)
        return result
    return np.matmul(_for_blas(a), _for_blas(b), out)


def uses_batch_affine(rows: int, right: int) -> bool:
    """Whether one kernel adds the biases, too; `right` is how many elements the right factors
    have."""
    return _HAS_WORKERS and rows * right >= _MIN_WORK


def batch_affine(a: Array, b: Array, bias: Array | None) -> Array:
    """a @ b + bias for batches of floats, with a bias for each matrix, or none."""
    kernel = AFFINE.specialize(a) if bias is not None and a.dtype is b.dtype else None
    if bias is None or kernel is None or not uses_batch_affine(a.shape[-2], b.size):
        product = batch_product(a, b)
        return product if bias is None else product + bias[..., None, :]
    result: Array = kernel(a, b, bias)
    return result


def _for_blas(array: Array) -> Array:
    """The matrices with unit stride along rows or columns; NumPy's own loop is far slower."""
    if array.ndim < 2 or not array.size:
        return array
    row_stride, column_stride = array.strides[-2:]
    item = array.itemsize
    if (column_stride == item and row_stride >= item) or (
        row_stride == item and column_stride >= item
    ):
        return array
    return np.ascontiguousarray(array)


def packed(matrix: Array, groups: int = 1) -> Array:
    """Groups of columns in panels, each of which has the rows of so many columns: (panel, row,
    column). Where the columns of a group are no multiple, those that the last panel lacks are
    undefined."""
    rows, columns = matrix.shape
    size = columns // groups
    whole, rest = divmod(size, PANEL)
    panels = np.empty((groups * (whole + (rest > 0)), rows, PANEL), matrix.dtype)
    call = gemm.inline_gemm.packing(matrix.dtype, matrix.shape, matrix.strides, PANEL)
    if call is not None and not rest:
        call(matrix, panels)
        return panels
    # Row-major or column-major, without a temporary array.
    source = matrix.T.reshape(groups, size, rows)
    target = panels.reshape(groups, -1, rows, PANEL).swapaxes(2, 3)
    target[:, :whole] = source[:, : size - rest].reshape(groups, whole, PANEL, rows)
    if rest:
        target[:, whole, :rest] = source[:, size - rest :]
    return panels


class Panels:
    """The right factor of many products, packed into panels if that pays."""

    def __init__(self, matrix: Array) -> None:
        rows, columns = matrix.shape
        self.matrix = matrix
        self.panels: Array | None = None
        if columns % PANEL == 0 and rows * columns >= _MIN_WORK // _VERY_NARROW:
            self.panels = packed(matrix)

    def times(self, rows: Array, out: Array) -> Array:
        """rows @ matrix, into `out`."""
        uses_panels = (
            self.panels is not None and len(rows) >= _VERY_NARROW and out.flags.c_contiguous
        )
        kernel = PRODUCT.specialize(rows) if uses_panels else None
        if kernel is None:
            return batch_product(rows, self.matrix, out)
        out_panels = out.reshape(len(rows), -1, PANEL).swapaxes(0, 1)
        kernel(rows, self.panels, out_panels)
        return out

    def times_in_groups(self, rows: Array, out: Array) -> Array:
        """rows @ matrix, in groups of columns: `out` has the shape (group, row, column)."""
        groups, count, size = out.shape
        panels = self.panels if count >= _VERY_NARROW and size % PANEL == 0 else None
        kernel = None if panels is None else PRODUCT.specialize(rows)
        if panels is None or kernel is None:
            out[...] = batch_product(rows, self.matrix).reshape(count, groups, size).swapaxes(0, 1)
            return out
        out_panels = out.reshape(groups, count, -1, PANEL).swapaxes(1, 2)
        kernel(rows, panels.reshape(groups, size // PANEL, -1, PANEL), out_panels)
        return out
