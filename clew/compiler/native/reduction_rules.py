"""Rules for norms, extremes and other reductions that are no sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew.compiler.native import rules
from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import FLOATS, forward, present, require
from clew.kernels.codegen.ir import where
from clew.kernels.codegen.ufunc import over_rows
from clew.kernels.numpy import reduce

Dims = tuple[int, ...]
Outs = list[Layout | None]


@over_rows("logsumexp_rows", "(n)->()", cost=4)
def _LOGSUMEXP_KERNEL(x: Any) -> Any:
    largest = x.row_max()
    # An infinity less itself would be NaN.
    shift = where(largest.abs().eq(math.inf), 0.0, largest)
    return (x - shift).exp().row_sum().log() + shift


def _by_rows(c: Calls, kernel: Any, x: Layout, dims: Dims, keepdim: bool, out: Layout) -> None:
    """A kernel along one dimension, or over all elements."""
    out = out.without_each(dims) if keepdim else out
    if len(dims) == 1:
        rows = x.moved_last(dims[0])
    else:
        require(len(dims) == len(x.shape), "some of the dimensions")
        rows = x.reshaped(x.size)
    require(rows.shape[-1] * kernel.cost < reduce.LONG, "long rows")
    c.call(kernel, rows, out)


@forward("logsumexp")
def _logsumexp(c: Calls, outs: Outs, x: Layout, dims: Dims, keepdim: bool) -> None:
    (out,) = present(outs)
    _by_rows(c, _LOGSUMEXP_KERNEL, x, dims, keepdim, out)


def _extreme(name: str, of_all: str, kernel: Any) -> None:
    @forward(name)
    def along(c: Calls, outs: Outs, x: Layout, dims: Dims, keepdim: bool) -> None:
        (out,) = present(outs)
        _by_rows(c, kernel, x, dims, keepdim, out)

    @forward(of_all)
    def of_everything(c: Calls, outs: Outs, x: Layout) -> None:
        (out,) = present(outs)
        _by_rows(c, kernel, x, tuple(range(len(x.shape))), False, out)


_extreme("amax", "max", reduce.MAX)
_extreme("amin", "min", reduce.MIN)


@forward("linalg_vector_norm")
def _vector_norm(
    c: Calls, outs: Outs, x: Layout, ord: float, dims: Dims, keepdim: bool, dtype: Any
) -> None:
    (out,) = present(outs)
    require(x.dtype in FLOATS and x.dtype is out.dtype, "no floats")
    require(math.prod(x.shape[dim] for dim in dims) > 1, "norms of one number")
    if ord == 2:
        _length(c, x, dims, keepdim, out)
        return
    require(ord in (1, math.inf), "another norm")
    sizes = c.temporary(x.shape, x.dtype)
    c.call(np.absolute, x, sizes)
    if ord == 1:
        rules.sum_over(c, sizes, dims, out, keepdim)
    else:
        rules.fold(c, sizes, tuple(dim % len(x.shape) for dim in dims), out, keepdim, np.maximum)


def _length(c: Calls, x: Layout, dims: Dims, keepdim: bool, out: Layout) -> None:
    """The root of the sum of squares."""
    if len(dims) == 1 or (len(dims) == len(x.shape) and not keepdim and x.is_contiguous):
        rows = x.moved_last(dims[0]) if len(dims) == 1 else x.reshaped(x.size)
        c.call(np.vecdot, rows, rows, out.without_each(dims) if keepdim else out)
    else:
        squares = c.temporary(x.shape, x.dtype)
        c.call(np.multiply, x, x, squares)
        rules.sum_over(c, squares, dims, out, keepdim)
    c.call(np.sqrt, out, out)


# -- dispersion ------------------------------------------------------------------------------------


def _deviation(name: str, is_root: bool) -> None:
    @forward(name)
    def rule(c: Calls, outs: Outs, x: Layout, dims: Dims, keepdim: bool, correction: float) -> None:
        (out,) = present(outs)
        dims = dims or tuple(range(len(x.shape)))
        count = math.prod(x.shape[dim] for dim in dims)
        require(count > correction and count * reduce.MOMENTS.cost < reduce.LONG, "long rows")
        rows = x.moved_last(dims[0]) if len(dims) == 1 else x.reshaped(x.size)
        require(len(dims) in (1, len(x.shape)), "some of the dimensions")
        result = out.without_each(dims) if keepdim else out
        c.call(reduce.MOMENTS, rows, c.temporary(result.shape, x.dtype), result)
        c.call(np.divide, result, c.constant(count - correction, x.dtype), result)
        if is_root:
            c.call(np.sqrt, result, result)


_deviation("var", is_root=False)
_deviation("std", is_root=True)
