"""Rules for products, copies, masks and reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import FLOATS, INT64, forward, require
from clew.kernels.codegen.ir import BOOL, F32, F64, I64, Expr, where
from clew.kernels.codegen.ufunc import Elementwise, elementwise
from clew.kernels.compiled import copies, threaded_ufuncs
from clew.kernels.gemm import products, small_products
from clew.kernels.numpy import reduce
from clew.kernels.runtime import jit

# -- products and copies ---------------------------------------------------------------------------


def product(c: Calls, outs: list[Layout], a: Layout, b: Layout, may_wait: bool = False) -> None:
    (out,) = outs
    require(len(a.shape) == len(b.shape) == 2 and a.dtype in FLOATS, "no matrices of floats")
    (m, k), n = a.shape, b.shape[1]
    if not products.uses_gemm(m, n, k):
        _small_product(c, a, b, out)
    elif may_wait and products.may_be_async(m, n, k):
        c.call(products.ASYNC_PRODUCT, a, b, out, is_async=True)
    else:
        c.call(products.PRODUCT, a, b, out)


def _small_product(c: Calls, a: Layout, b: Layout, out: Layout) -> None:
    # Of a column and a row BLAS would take 0 times NaN for 0.
    c.call(np.multiply if a.shape[1] == 1 else np.matmul, a, b, out)


@forward("mm")
def _mm(c: Calls, outs: list[Layout], a: Layout, b: Layout) -> None:
    product(c, outs, a, b)


@forward("mv")
def _mv(c: Calls, outs: list[Layout], a: Layout, b: Layout) -> None:
    (out,) = outs
    require(a.dtype in FLOATS and a.dtype is b.dtype and b.size > 1, "no matrix of floats")
    column, result = (
        each._replace(shape=(*each.shape, 1), strides=(*each.strides, each.dtype.itemsize))
        for each in (b, out)
    )
    c.call(np.matmul, a, column, result)


@forward("bmm")
def _bmm(c: Calls, outs: list[Layout], a: Layout, b: Layout) -> None:
    require(a.shape[-1] > 1, "columns and rows")
    batch_product(c, a, b, outs[0])


def batch_product(c: Calls, a: Layout, b: Layout, out: Layout) -> None:
    """The products of corresponding matrices."""
    require(len(a.shape) == len(b.shape), "other dimensions")
    *batch, m, k = a.shape
    require(a.dtype in FLOATS and a.dtype is b.dtype, "no matrices of floats")
    n = b.shape[-1]
    if m * n * k < small_products.LIMIT:
        c.call(small_products.SMALL_PRODUCT, a, b, out)
    elif products.uses_batched_gemm(math.prod(batch), m, n, k):
        c.call(products.PRODUCT, a, b, out)
    else:
        require(_suits_blas(a) and _suits_blas(b), "matrices with gaps")
        c.call(np.matmul, a, b, out)


def _suits_blas(x: Layout) -> bool:
    """Whether the rows or the columns of matrices have no gaps."""
    row, column = x.strides[-2:]
    item = x.dtype.itemsize
    return (column == item and row >= item) or (row == item and column >= item)


@forward("addmm")
def _addmm(
    c: Calls, outs: list[Layout], bias: Layout, a: Layout, b: Layout, beta: Any = 1, alpha: Any = 1
) -> None:
    (out,) = outs
    require(beta == 1 and alpha == 1, "factors")
    require(bias.shape == b.shape[1:], "a bias that broadcasts")
    (m, k), n = a.shape, b.shape[1]
    if products.uses_gemm(m, n, k):
        c.call(products.AFFINE, a, b, bias, out)
    else:
        _small_product(c, a, b, out)
        c.call(np.add, out, bias, out)


@forward("clone", "contiguous")
def _clone(c: Calls, outs: list[Layout], source: Layout, memory_format: Any = None) -> None:
    copy(c, outs, source)


def _to_float(kind: str) -> Elementwise:
    one, zero = Expr("const", kind, (), 1.0), Expr("const", kind, (), 0.0)
    sources = [each for each in (F32, F64, I64, BOOL) if each != kind]

    @elementwise(f"to_{kind}", 1, types=[([each], [kind]) for each in sources])
    def convert(x: Any) -> Any:
        return where(x, one, zero) if x.dtype == BOOL else x.convert(kind)

    return convert


_TO_FLOAT = {dtype: _to_float(kind) for dtype, kind in zip(FLOATS, (F32, F64), strict=True)}


@forward("_to_copy")
def _to_copy(
    c: Calls, outs: list[Layout], source: Layout, dtype: Any, memory_format: Any = None
) -> None:
    (out,) = outs
    if source.dtype is out.dtype:
        copy(c, outs, source)
        return
    require(out.dtype in FLOATS, "no floats")
    c.call(_TO_FLOAT[out.dtype], source, out)


def copy(c: Calls, outs: list[Layout], source: Layout) -> None:
    (out,) = outs
    require(source.dtype.kind in "fi" and source.dtype is out.dtype, "no numbers of one type")
    if source.size < copies.THRESHOLD:
        c.call(np.positive, source, out)
        return
    # On all threads.
    same = source.strides == out.strides and source.dtype in FLOATS
    require(same or jit.threads() == 1, "a copy for all threads")
    c.call(copies.MOVE if same else np.positive, source, out)


def in_order(c: Calls, x: Layout) -> Layout:
    """An operand row by row in memory: a copy, if it is not."""
    if x.is_contiguous:
        return x
    made = c.temporary(x.shape, x.dtype)
    copy(c, [made], x)
    return made


def add_to(c: Calls, total: Layout, x: Layout) -> None:
    """A sum that goes on."""
    require(x.dtype in FLOATS and x.dtype is total.dtype and x.shape == total.shape, "other types")
    is_large = x.size >= threaded_ufuncs.THRESHOLDS[np.add]
    c.call(threaded_ufuncs.THREADED[np.add] if is_large else np.add, total, x, total)


def _of_masks(name: str, ufunc: np.ufunc) -> None:
    @forward(name)
    def rule(c: Calls, outs: list[Layout], *masks: Any) -> None:
        require(all(isinstance(each, Layout) and each.dtype == bool for each in masks), "no masks")
        c.call(ufunc, *masks, outs[0])


def _of_integers(name: str, ufunc: np.ufunc) -> None:
    @forward(name)
    def rule(c: Calls, outs: list[Layout], x: Any, y: Any) -> None:
        x, y = (c.constant(each, INT64) if type(each) is int else each for each in (x, y))
        are_integers = all(isinstance(each, Layout) and each.dtype is INT64 for each in (x, y))
        require(are_integers and outs[0].dtype == bool, "no integers")
        c.call(ufunc, x, y, outs[0])


_MASKS: dict[str, np.ufunc] = {
    "logical_not": np.logical_not, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "bitwise_not": np.logical_not, "bitwise_and": np.logical_and, "bitwise_or": np.logical_or,
}  # fmt: skip
_COMPARISONS: dict[str, np.ufunc] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
for _name in _MASKS:
    _of_masks(_name, _MASKS[_name])
for _name in _COMPARISONS:
    _of_integers(_name, _COMPARISONS[_name])


# -- reductions ------------------------------------------------------------------------------------


@forward("sum_dim")
def _sum_dim(
    c: Calls, outs: list[Layout], x: Layout, dims: tuple[int, ...], keepdim: bool, dtype: Any
) -> None:
    sum_over(c, x, dims, outs[0], keepdim)


def sum_over(
    c: Calls, x: Layout, dims: tuple[int, ...], out: Layout, keepdim: bool = False
) -> None:
    """The sum over some dimensions."""
    dims = tuple(sorted(dim % len(x.shape) for dim in dims))
    if dims != tuple(range(dims[0], dims[-1] + 1)):
        _sum_apart(c, x, dims, out.without_each(dims) if keepdim else out)
        return
    if x.size <= reduce.LARGE and not x.is_contiguous:
        fold(c, x, dims, out, keepdim)
        return
    first, last = dims[0], dims[-1] + 1
    outer, middle, inner = (math.prod(part) for part in
                            (x.shape[:first], x.shape[first:last], x.shape[last:]))  # fmt: skip
    if inner == 1:
        sum_rows(c, x.reshaped(outer, middle), out.reshaped(outer))
    elif x.size <= reduce.FEW:
        c.call(reduce.SUM_FEW_COLUMNS, x.reshaped(outer, middle, inner), out.reshaped(outer, inner))
    else:
        sum_columns(c, x.reshaped(outer, middle, inner), out.reshaped(outer, inner))


def _sum_apart(c: Calls, x: Layout, dims: tuple[int, ...], out: Layout) -> None:
    """The sum over dimensions that are not neighbours: along the last ones first."""
    first = len(dims) - 1
    while dims[first - 1] == dims[first] - 1:
        first -= 1
    others, last = dims[:first], dims[first:]
    kept = [length for dim, length in enumerate(x.shape) if dim not in last]
    parts = c.temporary(tuple(kept), out.dtype)
    sum_over(c, x, last, parts)
    if x.size <= reduce.FEW and others == tuple(range(len(others))):
        fold(c, parts, others, out)
    else:
        sum_over(c, parts, others, out)


def fold(
    c: Calls, x: Layout, dims: tuple[int, ...], out: Layout, keepdim: bool = False,
    ufunc: np.ufunc = np.add,
) -> None:  # fmt: skip
    """A reduction as NumPy computes it, for few elements, from 0 on."""
    kept = iter(range(len(out.shape)))
    strides = [0] * len(x.shape)
    for dim in range(len(x.shape)):
        if dim not in dims:
            strides[dim] = out.strides[next(kept)]
        elif keepdim:
            next(kept)
    total = out._replace(shape=x.shape, strides=tuple(strides))
    c.call(np.positive, c.constant(0.0, out.dtype), out)
    c.call(ufunc, total, x, total)


def sum_columns(c: Calls, x: Layout, out: Layout) -> None:
    """The sums of matrices over their rows, in chunks if there are many."""
    *outer, rows, columns = x.shape
    if rows < 2 * reduce.ROWS:
        c.call(reduce.SUM_COLUMNS, x, out)
        return
    count, rest = divmod(rows, reduce.ROWS)
    dim = len(outer)
    parts = c.temporary((*outer, count + (rest > 0), columns), out.dtype)
    chunks = x.part(dim, 0, rows - rest).divided(dim, reduce.ROWS)
    c.call(reduce.SUM_COLUMNS, chunks, parts.part(dim, 0, count))
    if rest:
        last = parts.part(dim, count, 1)
        c.call(reduce.SUM_COLUMNS, x.part(dim, rows - rest, rest), last.without(dim))
    sum_columns(c, parts, out)


def sum_rows(c: Calls, x: Layout, out: Layout) -> None:
    if x.shape[-1] < reduce.LONG:
        c.call(reduce.SUM, x, out)
        return
    # In chunks, on all threads.
    require(x.size == x.shape[-1], "several long rows")
    x = x.reshaped(x.size)
    count, rest = divmod(x.size, reduce.CHUNK)
    parts = c.temporary((count + 1,), out.dtype)
    size = x.dtype.itemsize
    chunks = x._replace(shape=(count, reduce.CHUNK), strides=(reduce.CHUNK * size, size))
    c.call(reduce.SUM, chunks, parts._replace(shape=(count,)))
    left = x._replace(shape=(rest,), offset=x.offset + count * reduce.CHUNK * size)
    last = parts._replace(shape=(), strides=(), offset=count * parts.dtype.itemsize)
    if rest:
        c.call(reduce.SUM, left, last)
    else:
        c.call(np.positive, c.constant(0.0, out.dtype), last)
    c.call(reduce.SUM, parts, out.reshaped())


@forward("sum")
def _sum(c: Calls, outs: list[Layout], x: Layout, dtype: Any) -> None:
    sum_rows(c, x.reshaped(x.size), outs[0])


@forward("mean_dim")
def _mean_dim(
    c: Calls, outs: list[Layout], x: Layout, dims: tuple[int, ...], keepdim: bool, dtype: Any
) -> None:
    (out,) = outs
    _sum_dim(c, outs, x, dims, keepdim, dtype)
    count = math.prod(x.shape[dim] for dim in dims)
    c.call(np.divide, out, c.constant(count, out.dtype), out)


@forward("mean")
def _mean(c: Calls, outs: list[Layout], x: Layout, dtype: Any) -> None:
    (out,) = outs
    sum_rows(c, x.reshaped(x.size), out)
    c.call(np.divide, out, c.constant(x.size, out.dtype), out)
