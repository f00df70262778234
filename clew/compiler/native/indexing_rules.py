"""Rules for rows of tables, and for reading and adding at indices."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from clew.compiler.native import rules
from clew.compiler.native.calls import Calls, require_whole
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import (
    FLOATS,
    INT64,
    forward,
    gradient,
    in_place,
    present,
    require,
)
from clew.compiler.native.shape_rules import fill
from clew.kernels.codegen.ir import F32, F64, I32, I64, Expr, position, where
from clew.kernels.codegen.ufunc import elementwise, over_rows
from clew.kernels.compiled import gather_scatter
from clew.kernels.numpy import reduce
from clew.ops.index.gather_scatter import check_bounds
from clew.ops.index.index_put import index_error
from clew.ops.nn.embedding import check_rows

Shape = tuple[int, ...]
Outs = list[Layout | None]


@over_rows("rows_outside", "(n),(),()->()", types=[([I64, I64, I64], [F64])])
def _OUTSIDE_KERNEL(index: Any, low: Any, rows: Any) -> Any:
    """How many indices are not those of rows."""
    zero, one = Expr("const", F64, (), 0.0), Expr("const", F64, (), 1.0)
    return where((index >= low) & (index < rows), zero, one).row_sum()


@elementwise("place_of_index", 3, types=[([I64, I64, I64], [I64])])
def _PLACE_KERNEL(before: Any, index: Any, rows: Any) -> Any:
    """The place of a row in rows of rows; negative indices count from behind."""
    return before * rows + where(index < 0, index + rows, index)


def _checked(c: Calls, index: Layout, low: int, rows: int, refuse: Any, *arguments: Any) -> Layout:
    """An index as one row, after which nothing runs if it is not one of rows."""
    require(index.dtype is INT64 and rows > 0 and index.size > 0, "another index")
    flat = rules.in_order(c, index).reshaped(index.size)
    wrong = c.temporary((), np.dtype(np.float64))
    c.call(_OUTSIDE_KERNEL, flat, c.constant(low, INT64), c.constant(rows, INT64), wrong)
    c.check_now(wrong, refuse, *arguments)
    return flat


# -- rows of a table -------------------------------------------------------------------------------


def take_rows(c: Calls, table: Layout, flat: Layout, out: Layout) -> None:
    """Rows of a matrix."""
    require(table.dtype in FLOATS and out.dtype is table.dtype, "no floats")
    require_whole([table, out])
    rows, width = table.shape
    call = gather_scatter.taking_rows(table.dtype, rows, width, flat.size)
    c.context("take_rows", call, table, flat, out, flat)


def _add_rows(c: Calls, total: Layout, flat: Layout, values: Layout) -> None:
    """Add (outer, index, inner) to (outer, rows, inner)."""
    require(total.dtype in FLOATS and values.dtype is total.dtype, "no floats")
    require_whole([total, values])
    call = gather_scatter.combining("index add", total.dtype, total.shape, flat.size)
    c.context("add_rows", call, total, flat, values, flat)


@forward("embedding")
def _embedding(
    c: Calls, outs: Outs, weight: Layout, index: Layout, padding_idx: int,
    scale_grad_by_freq: bool, sparse: bool = False,
) -> None:  # fmt: skip
    (out,) = present(outs)
    flat = _checked(c, index, 0, weight.shape[0], check_rows, index, weight.shape[0])
    take_rows(c, weight, flat, out)


@gradient("embedding")
def _embedding_gradient(
    c: Calls, outs: Outs, grads: list[Layout], index: Layout, padding_idx: int,
    scale_grad_by_freq: bool, weight_shape: Shape, sparse: bool = False,
) -> None:  # fmt: skip
    require(not sparse, "a sparse gradient")
    (out,) = [each for each in outs if each is not None]
    require(not scale_grad_by_freq, "gradients by frequency")
    rows, width = weight_shape
    flat = _checked(c, index, 0, rows, check_rows, index, rows)
    fill(c, out)
    values = rules.in_order(c, grads[0]).reshaped(1, flat.size, width)
    _add_rows(c, out.reshaped(1, rows, width), flat, values)
    if padding_idx >= 0:
        fill(c, out.part(0, padding_idx, 1))


# -- indices of some dimensions --------------------------------------------------------------------


def _as_matrices(x: Layout, dim: int, count: int = 1) -> tuple[int, int, int]:
    """The sizes before some dimensions, of these, and after them."""
    parts = x.shape[:dim], x.shape[dim : dim + count], x.shape[dim + count :]
    outer, rows, inner = map(math.prod, parts)
    return outer, rows, inner


def _refuse_index(*given: Any) -> None:
    """Say which index is outside."""
    *indices, shape, pattern = given
    raise index_error(shape, indices, pattern)


def _places(
    c: Calls, shape: Shape, indices: tuple[Layout, ...], pattern: tuple[bool, ...]
) -> tuple[Layout, int]:
    """The places of what indices of neighbouring dimensions pick, and the first dimension."""
    first, count = pattern.index(True), len(indices)
    require(pattern[first : first + count] == (True,) * count, "indices with others between")
    for number, index in enumerate(indices):
        n = shape[first + number]
        _checked(c, index, -n, n, _refuse_index, *indices, shape, pattern)
    total = c.temporary(np.broadcast_shapes(*[each.shape for each in indices]), INT64)
    before = c.constant(0, INT64)
    for number, index in enumerate(indices):
        c.call(_PLACE_KERNEL, before, index, c.constant(shape[first + number], INT64), total)
        before = total
    return total.reshaped(total.size), first


def _index(c: Calls, outs: Outs, x: Layout, *indices: Layout, pattern: tuple[bool, ...]) -> None:
    (out,) = present(outs)
    flat, first = _places(c, x.shape, indices, pattern)
    _select(c, x, flat, first, len(indices), out)


def _select(c: Calls, x: Layout, flat: Layout, dim: int, count: int, out: Layout) -> None:
    """What flat places of some dimensions pick."""
    outer, rows, inner = _as_matrices(x, dim, count)
    if outer > 1:
        each = c.temporary((outer, flat.size), INT64)
        starts = c.array(np.arange(outer, dtype=np.int64)[:, None])
        c.call(_PLACE_KERNEL, starts, flat.unsqueezed(0), c.constant(rows, INT64), each)
        flat = each.reshaped(each.size)
    table = rules.in_order(c, x).reshaped(outer * rows, inner)
    take_rows(c, table, flat, out.reshaped(flat.size, inner))


def _index_gradient(
    c: Calls, outs: Outs, grads: list[Layout], shape: Shape, pattern: tuple[bool, ...],
    *indices: Layout,
) -> None:  # fmt: skip
    (out,) = [each for each in outs if each is not None]
    flat, first = _places(c, shape, indices, pattern)
    outer, rows, inner = _as_matrices(out, first, len(indices))
    fill(c, out)
    values = rules.in_order(c, grads[0]).reshaped(outer, flat.size, inner)
    _add_rows(c, out.reshaped(outer, rows, inner), flat, values)


for _number in range(1, 4):
    _name = "index" if _number == 1 else f"index_{_number}"
    forward(_name)(_index)
    gradient(_name)(_index_gradient)


@forward("index_select")
def _index_select(c: Calls, outs: Outs, x: Layout, index: Layout, dim: int) -> None:
    (out,) = present(outs)
    require(bool(x.shape), "no dimensions")
    n = x.shape[dim]
    flat = _checked(c, index, 0, n, check_bounds, index, dim, n, IndexError)
    _select(c, x, flat, dim, 1, out)


@forward("index_select_backward")
def _index_select_backward(
    c: Calls, outs: Outs, g: Layout, index: Layout, dim: int, input_sizes: Shape
) -> None:
    (out,) = present(outs)
    require(bool(input_sizes), "no dimensions")
    fill(c, out)
    _index_add(c, out, index, g, dim, 1)


def _index_add(
    c: Calls, total: Layout, index: Layout, values: Layout, dim: int, alpha: Any
) -> None:
    require(alpha == 1 and bool(total.shape) and bool(values.shape), "a factor, or no dimensions")
    outer, rows, inner = _as_matrices(total, dim)
    flat = _checked(c, index, 0, rows, check_bounds, index, dim, rows, IndexError)
    given = rules.in_order(c, values).reshaped(outer, flat.size, inner)
    _add_rows(c, total.reshaped(outer, rows, inner), flat, given)


# -- an index for each element ---------------------------------------------------------------------


def along(
    c: Calls, kind: str, target: Layout, index: Layout, values: Layout, dim: int,
    is_known: bool = False,
) -> None:  # fmt: skip
    """Gather, or scatter, where an index goes with all that there is beside a dimension.

    With `is_known` nobody looks whether indices are inside.
    """
    dim %= max(len(target.shape), 1)
    require(bool(target.shape) and len(index.shape) == len(target.shape), "no dimensions")
    require(index.shape == values.shape and index.dtype is INT64, "an index of another shape")
    beside = [each[:dim] + each[dim + 1 :] for each in (index.shape, target.shape)]
    require(beside[0] == beside[1], "an index of another shape")
    require(target.dtype in FLOATS and values.dtype is target.dtype, "no floats")
    outer, rows, inner = _as_matrices(target, dim)
    count = index.shape[dim]
    if is_known:
        flat = rules.in_order(c, index)
    else:
        flat = _checked(c, index, 0, rows, check_bounds, index, dim, rows)
    require_whole([target, values])
    call = gather_scatter.combining(kind, target.dtype, (outer, rows, inner), count)
    c.context(kind, call, target, flat, values, flat)


def gather(c: Calls, x: Layout, index: Layout, dim: int, out: Layout) -> None:
    """The elements along a dimension."""
    along(c, "gather", rules.in_order(c, x), index, out, dim)


def add_gathered(c: Calls, out: Layout, index: Layout, g: Layout, dim: int) -> None:
    """The gradient of that."""
    fill(c, out)
    along(c, "scatter add", out, index, rules.in_order(c, g), dim)


# -- one element along a dimension -----------------------------------------------------------------


@over_rows("argmax_rows", "(n)->()", types=[([each], [I64]) for each in (F32, F64)])
def _ARGMAX_KERNEL(x: Any) -> Any:
    return _first_place(x, x.row_max())


@over_rows("argmin_rows", "(n)->()", types=[([each], [I64]) for each in (F32, F64)])
def _ARGMIN_KERNEL(x: Any) -> Any:
    return _first_place(x, x.row_min())


def _first_place(x: Any, extreme: Any) -> Any:
    """Where a row has its extreme, or the first element that is not a number."""
    place = position(I32).convert(x.dtype)
    return where(x.eq(extreme) | x.ne(x), place, math.inf).row_min().convert(I64)


def _argument(name: str, kernel: Any) -> None:
    @forward(name)
    def rule(c: Calls, outs: Outs, x: Layout, dim: int | None, keepdim: bool) -> None:
        (out,) = present(outs)
        dims = tuple(range(len(x.shape))) if dim is None else (dim,)
        rows = x.reshaped(x.size) if dim is None else x.moved_last(dim)
        # Places are floats meanwhile.
        require(bool(x.shape) and rows.shape[-1] < min(reduce.LONG, 1 << 24), "long rows")
        c.call(kernel, rows, out.without_each(dims) if keepdim else out)


_argument("argmax", _ARGMAX_KERNEL)
_argument("argmin", _ARGMIN_KERNEL)


@forward("max_dim", "min_dim")
def _chosen(c: Calls, outs: Outs, x: Layout, indices: Layout, dim: int, keepdim: bool) -> None:
    (out,) = present(outs)
    kept = [each if keepdim else each.unsqueezed(dim) for each in (indices, out)]
    index, values = (each.reshaped(*each.shape) for each in kept)
    along(c, "gather", rules.in_order(c, x), index, values, dim, is_known=True)


@gradient("max_dim", "min_dim")
def _chosen_gradient(
    c: Calls, outs: Outs, grads: list[Layout], indices: Layout, dim: int, keepdim: bool,
    shape: Shape,
) -> None:  # fmt: skip
    (out,) = [each for each in outs if each is not None]
    fill(c, out)
    g = rules.in_order(c, grads[0])
    index, values = ((each if keepdim else each.unsqueezed(dim)) for each in (indices, g))
    index, values = (each.reshaped(*each.shape) for each in (index, values))
    along(c, "scatter", out, index, values, dim, is_known=True)


# -- writes ----------------------------------------------------------------------------------------


def _write_values(
    kind: str, c: Calls, target: Layout, index: Layout, source: Layout, dim: int
) -> None:
    along(c, kind, target, index, rules.in_order(c, source), dim)


def _write_number(c: Calls, target: Layout, index: Layout, dim: int, value: Any) -> None:
    require(type(value) in (int, float, bool), "no number")
    values = c.temporary(index.shape, target.dtype)
    fill(c, values, value)
    along(c, "scatter", target, index, values, dim)


def _writing(name: str, write: Any) -> None:
    """The rule of an operation that writes into a copy, and of its in-place form."""

    @forward(name)
    def out_of_place(c: Calls, outs: Outs, x: Layout, *others: Layout, **params: Any) -> None:
        (out,) = present(outs)
        require(out.is_contiguous, "another order in memory")
        c.call(np.positive, x, out)
        write(c, out, *others, **params)

    in_place(name)(write)


_writing("index_add", _index_add)
_writing("scatter", functools.partial(_write_values, "scatter"))
_writing("scatter_add", functools.partial(_write_values, "scatter add"))
_writing("scatter_value", _write_number)
