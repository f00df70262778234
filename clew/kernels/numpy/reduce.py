"""Reductions of arrays over some dimensions, on all threads.

Long dimensions are reduced in chunks, and then the results of the chunks. The size of a chunk
depends on the shape alone, so that results do not depend on the number of threads; and rounding
errors hardly grow with the number of elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.kernels.codegen.ir import BF16, F16, F32, F64, where
from clew.kernels.codegen.ufunc import Cascade, Columns, Rows, cascade, over_columns, over_rows
from clew.kernels.numpy.arrays import as_new, compute_dtype
from clew.kernels.runtime import jit

Array = np.ndarray
# Its types ask for names, which take longer.
_add_reduce: Any = np.add.reduce
Dims = tuple[int, ...]

# Rows of so many elements (divided by the kernel's cost) are reduced in chunks, to be parallel.
LONG, CHUNK = 1 << 17, 8192
# The same for the rows of a matrix.
ROWS = 1024
# From this many elements on throughput counts, not the overhead of a call.
LARGE = 1 << 12
# Sums of no more elements are added up in PyTorch's order; it splits larger ones among threads.
FEW = 1 << 15

# Low-precision floats are summed in float32, and the result is float32.
_WIDENED = [([F16], [F32]), ([F32], [F32]), ([F64], [F64]), ([BF16], [F32])]

SUM = cascade("sum_rows", "(n)->()", types=_WIDENED)(lambda x: x)
PROD = over_rows("prod_rows", "(n)->()", types=_WIDENED)(lambda x: x.row_prod())
# The mean and the sum of squared deviations; the maximum and the sum of exp(x - maximum).
MOMENTS = over_rows("moments", "(n)->(),()", cost=2)(lambda x: _deviations(x, x.row_mean()))
EXPONENTIALS = over_rows("exponentials", "(n)->(),()", cost=4)(lambda x: _sum_exp(x, x.row_max()))
MAX = over_rows("max_rows", "(n)->()")(lambda x: x.row_max())
MIN = over_rows("min_rows", "(n)->()")(lambda x: x.row_min())
SUM_FEW_COLUMNS = cascade("sum_few_columns", "(m,n)->(n)")(lambda x: x)
SUM_COLUMNS = over_columns("sum_columns", "(m,n)->(n)", types=_WIDENED)(lambda x: x * 1.0)


def _deviations(x: Any, mean: Any) -> Any:
    return mean, ((x - mean) * (x - mean)).row_sum()


def _sum_exp(x: Any, largest: Any) -> Any:
    # An infinity less itself would be NaN.
    shift = where(largest.abs().eq(math.inf), 0.0, largest)
    return largest, (x - shift).exp().row_sum()


_EXTREMES: dict[Any, Rows] = {np.maximum: MAX, np.minimum: MIN}


def sum_few(array: Array, dims: Dims, keepdim: bool) -> Array | None:
    """The sum over `dims` of at most `FEW` floats, in PyTorch's order; None if it is not known."""
    if len(dims) == 1:
        # The usual cases, in which a kernel takes less time than the rest of this.
        flags, last = array.flags, array.ndim - 1
        if dims[0] == last and flags.c_contiguous:
            total = np.asarray(SUM.specialize(array)(array))
            return total.reshape(*array.shape[:last], 1) if keepdim else total
        if keepdim:
            return _sum_few(array, dims, keepdim)
        if last == 1 and flags.forc:
            if flags.c_contiguous:
                return _sum_columns(array)
            turned = array.T
            return _sum_columns(turned) if dims[0] else np.asarray(SUM.specialize(array)(turned))
    return _sum_few(array, dims, keepdim)


def sum_floats(array: Array, dims: Dims, keepdim: bool) -> Array:
    """The sum over `dims` of any number of float32 or float64, which are in memory of their own."""
    size = array.size
    total: Any = sum_few(array, dims, keepdim) if size <= FEW else None
    if total is None:
        if size > LARGE:
            total = sum_over(array, dims, keepdim)
        else:
            total = np.asarray(_add_reduce(array, dims, None, None, keepdim))
    return as_new(total) if keepdim or total.ndim > 1 else total


def _sum_few(array: Array, dims: Dims, keepdim: bool) -> Array | None:
    """The same for any dimensions."""
    shape, ndim = array.shape, array.ndim
    if not array.flags.c_contiguous:
        if not array.flags.f_contiguous:
            return None
        mirrored = sum_few(array.T, tuple([ndim - 1 - dim for dim in dims]), keepdim)
        return None if mirrored is None else as_new(mirrored.T)
    first, last = min(dims), max(dims)
    if last - first + 1 != len(dims) and any(
        shape[k] > 1 for k in range(first, last) if k not in dims
    ):
        total = _sum_apart(array, dims)
    elif last == ndim - 1:
        total = SUM.specialize(array)(array if first == last else array.reshape(*shape[:first], -1))
    elif ndim == 2:
        total = _sum_columns(array)
    else:
        rows, columns = math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])
        total = _sum_columns(array.reshape(*shape[:first], rows, columns))
    if total is None:
        return None
    total = np.asarray(total)
    if total.ndim == ndim - len(dims) and not keepdim:
        return total
    if keepdim:
        return total.reshape([1 if dim in dims else n for dim, n in enumerate(shape)])
    return total.reshape([n for dim, n in enumerate(shape) if dim not in dims])


def _sum_columns(array: Array) -> Array | None:
    """The sums of the columns of few matrices; None if there is no kernel for the array."""
    if array.shape[-1] == 1:
        return np.asarray(SUM.specialize(array)(array[..., 0])).reshape(*array.shape[:-2], 1)
    kernel = SUM_FEW_COLUMNS.specialize(array)
    return None if kernel is None else np.asarray(kernel(array))


def _sum_apart(array: Array, dims: Dims) -> Array | None:
    """The sum over dimensions with others between them: first along the last ones."""
    last = array.ndim
    while last - 1 in dims:
        last -= 1
    if last == array.ndim:
        return None
    rows = SUM.specialize(array)(array.reshape(*array.shape[:last], -1))
    return np.asarray(np.add.reduce(rows, axis=tuple([dim for dim in dims if dim < last])))


def sum_over(array: Array, dims: Dims, keepdim: bool) -> Array | None:
    """The sum over `dims`; None if there is no kernel for the array."""
    if dims == (0,) and array.ndim == 2 and not keepdim and array.flags.c_contiguous:
        # Gradients of biases: for small matrices the checks below would take longer than the sum.
        kernel = SUM_COLUMNS.specialize(array)
        if kernel is not None and array.shape[0] < 2 * ROWS:
            return np.asarray(kernel(array))
    if array.dtype.kind in "cW":
        # Both are arrays, which the type of `sum_over` does not say.
        parts = [sum_over(part, dims, keepdim) for part in (array.real, array.imag)]
        return np.stack(parts, axis=-1).view(array.dtype)[..., 0]  # type: ignore[arg-type]
    if SUM.specialize(array) is None:
        return None
    total = _sum_adjacent(array, dims) if array.flags.c_contiguous else None
    if total is None:
        total = (
            _sum_of_expanded(array, dims)
            if 0 in array.strides
            else _sum_in_memory_order(array, dims)
        )
    return np.expand_dims(total, dims) if keepdim else total


def _sum_adjacent(array: Array, dims: Dims) -> Array | None:
    """The sum over adjacent dimensions of a contiguous array; None if they are not adjacent."""
    shape, first, last = array.shape, min(dims), max(dims)
    count = last - first + 1
    if count != len(dims):
        return None
    if last == array.ndim - 1:
        return reduce_last(SUM, array if count == 1 else array.reshape(*shape[:first], -1))
    if first or count > 1 or last < array.ndim - 2:
        rows, columns = math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])
        array = array.reshape(*shape[:first], rows, columns)
    total = reduce_rows(SUM_COLUMNS, array)
    return total.reshape(*shape[:first], *shape[last + 1 :])


def _sum_of_expanded(array: Array, dims: Dims) -> Array:
    """The sum of an expanded array: some of its strides are 0."""
    repeated = [dim for dim, step in enumerate(array.strides) if not step and array.shape[dim] > 1]
    once = array[tuple(slice(1) if dim in repeated else slice(None) for dim in range(array.ndim))]
    total = _sum_in_memory_order(once, dims) * math.prod(
        array.shape[dim] for dim in repeated if dim in dims
    )
    shape = [size for dim, size in enumerate(array.shape) if dim not in dims]
    return np.array(np.broadcast_to(total, shape))


def reduce_all(kernel: Rows | Cascade, array: Array) -> Array:
    """All elements of a contiguous array of floats, reduced by a kernel."""
    result = np.empty((), array.dtype)
    ufunc = kernel.specialize(array)
    if array.ndim != 1:
        array = array.reshape(-1)
    ufunc(chunked(ufunc, array)[0] if array.size >= LONG else array, result)
    return result


def prod_over(array: Array, everything: bool, keepdim: bool) -> Array | None:
    """The product of all elements, or along the last dimension; None if there is no kernel."""
    if PROD.specialize(array) is None or not array.flags.c_contiguous or not array.ndim:
        return None
    product = reduce_last(PROD, array.reshape(-1) if everything else array)
    return product[..., None] if keepdim else product


def extreme_of_all(ufunc: Any, array: Array) -> Array:
    """The largest or smallest element of floats (`ufunc` is np.maximum or np.minimum).

    Nothing is rounded, so that NumPy gives the same result; on one thread it is faster for large
    arrays.
    """
    if not array.flags.c_contiguous or (array.size >= LARGE and jit.threads() == 1):
        result = np.empty((), array.dtype)
        ufunc.reduce(array, None, None, result)
        return result
    return reduce_all(_EXTREMES[ufunc], array)


def extreme_of_rows(ufunc: Any, array: Array) -> Array | None:
    """The largest or smallest along the last dimension; None if the array is not contiguous."""
    kernel = _EXTREMES[ufunc]
    if kernel.specialize(array) is None or not array.flags.c_contiguous:
        return None
    return reduce_last(kernel, array)


def reduce_last(kernel: Rows | Cascade, array: Array) -> Array:
    """The last dimension reduced by a kernel, in chunks if it is long."""
    ufunc = kernel.specialize(array)
    if array.shape[-1] * kernel.cost >= LONG:
        array = chunked(ufunc, array)[0]
        ufunc = kernel.specialize(array)
    return np.asarray(ufunc(array))


def chunked(ufunc: Any, array: Array) -> list[Array]:
    """The results of a kernel for each chunk of the last dimension; the last may be shorter."""
    *outer, size = array.shape
    count, rest = divmod(size, CHUNK)
    whole = size - rest
    dtype = compute_dtype(array.dtype)
    outs = [np.empty((*outer, count + (rest > 0)), dtype) for _ in range(ufunc.nout)]
    ufunc(
        array[..., :whole].reshape(*outer, count, CHUNK),
        out=tuple([out[..., :count] for out in outs]),
    )
    if rest:
        ufunc(array[..., whole:], out=tuple([out[..., count] for out in outs]))
    return outs


def reduce_rows(kernel: Columns, array: Array) -> Array:
    """The last dimension but one reduced by a kernel, in chunks if it is long."""
    ufunc = kernel.specialize(array)
    rows = array.shape[-2]
    if rows < 2 * ROWS:
        return np.asarray(ufunc(array))
    whole = rows // ROWS * ROWS
    *outer, _, columns = array.shape
    parts: Array = ufunc(array[..., :whole, :].reshape(*outer, -1, ROWS, columns))
    if whole < rows:
        parts = np.concatenate([parts, ufunc(array[..., whole:, :])[..., None, :]], axis=-2)
    return reduce_rows(kernel, parts)


def in_rows(array: Array, dims: Dims) -> Array | None:
    """The same memory with the reduced dimensions as the last one, for `moments` and `logsumexp`.

    None if they are not the last dimensions of a contiguous array, or there is no kernel.
    """
    kept = array.ndim - len(dims)
    if not dims or not array.size or min(dims) < kept or not array.flags.c_contiguous:
        return None
    if MOMENTS.specialize(array) is None:
        return None
    return array if len(dims) == 1 else array.reshape(*array.shape[:kept], -1)


def moments(array: Array) -> tuple[Array, Array]:
    """The mean along the last dimension, and the sum of the squares of deviations from it."""
    ufunc = MOMENTS.specialize(array)
    size = array.shape[-1]
    if size * MOMENTS.cost < LONG:
        mean, squares = ufunc(array)
        return np.asarray(mean), np.asarray(squares)
    means, parts = (each.astype(np.float64) for each in chunked(ufunc, array))
    counts = np.full(means.shape[-1], float(CHUNK))
    counts[-1] = size - CHUNK * (len(counts) - 1)
    mean = (means * counts).sum(-1) / size
    between = np.square(means - mean[..., None]) * counts
    squares = parts.sum(-1) + between.sum(-1)
    dtype = array.dtype
    return np.asarray(mean, dtype), np.asarray(squares, dtype)


def logsumexp(array: Array) -> Array:
    """log(sum(exp(x))) along the last dimension."""
    ufunc = EXPONENTIALS.specialize(array)
    if array.shape[-1] * EXPONENTIALS.cost < LONG:
        largest, total = ufunc(array)
        shift = np.where(np.isinf(largest), 0, largest)
    else:
        maxima, sums = chunked(ufunc, array)
        largest = maxima.max(-1, keepdims=True)
        shift = np.where(np.isinf(largest), 0, largest)
        total = (sums * np.exp(maxima - shift)).sum(-1)
        shift = shift[..., 0]
    return np.asarray(np.log(total) + shift)


def _sum_in_memory_order(array: Array, dims: Dims) -> Array:
    """The sum over `dims`, with the dimensions in the order of their strides."""
    order = sorted(range(array.ndim), key=lambda dim: -abs(array.strides[dim]))
    reduced = [dim in dims for dim in order]
    array = array.transpose(order)
    while any(reduced):
        last = _run_length(reduced)
        if reduced[-1]:
            array = reduce_last(SUM, array.reshape(*array.shape[:-last], -1))
            reduced = reduced[:-last]
        else:
            above = _run_length(reduced[:-last])
            outer, kept = array.shape[: -last - above], array.shape[-last:]
            count = math.prod(array.shape[-last - above : -last])
            matrices = array.reshape(*outer, count, math.prod(kept))
            array = reduce_rows(SUM_COLUMNS, matrices).reshape(*outer, *kept)
            reduced = reduced[: -last - above] + [False] * last
    remaining = [dim for dim in order if dim not in dims]
    return array.transpose([remaining.index(dim) for dim in sorted(remaining)])


def _run_length(flags: list[bool]) -> int:
    """The length of the run of equal flags at the end."""
    count = 1
    while count < len(flags) and flags[-count - 1] == flags[-1]:
        count += 1
    return count
