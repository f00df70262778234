"""Lowering rules: which kernels an instruction calls, on which memory.

A rule gets the layouts of the results and of the operands, and the parameters of the operation. It
raises `Declined` where a case is not its own: that instruction runs in Python, as it always could.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew.compiler.graph import BACKWARD, CALL, COMPUTE, FUSED, STORE, Instruction, Value
from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Declined, Layout, Roots
from clew.compiler.passes.overlap import finish_products, start_product
from clew.kernels.codegen.ir import I32, I64, position, where
from clew.kernels.codegen.ufunc import over_rows
from clew.kernels.gemm import products
from clew.kernels.numpy import reduce
from clew.kernels.runtime import jit
from clew.ops.index.gather_scatter import check_bounds
from clew.ops.nn.activation import softmax
from clew.ops.nn.layer_norm import (
    LAYER_NORM_BACKWARD_KERNEL,
    LAYER_NORM_KERNEL,
    LAYER_NORM_PARAMETERS_KERNEL,
)
from clew.ops.nn.loss import classification, kernels

Rule = Callable[..., None]
# By the name of an operation: its forward, and its gradients.
FORWARD: dict[str, Rule] = {}
GRADIENT: dict[str, Rule] = {}

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_INT64 = np.dtype(np.int64)
# Classes that are compared with a target one by one; more are looked up, in Python.
_MOST_CLASSES = 512


def lowered(instruction: Instruction, roots: Roots) -> Calls:
    """The calls of an instruction; raises Declined if it has no native form."""
    c, kind, layout_of = Calls(), instruction.kind, roots.layout
    if instruction.is_random:
        raise Declined("random numbers")
    outs = [None if out is None else layout_of(out) for out in instruction.outputs]
    if kind == FUSED:
        c.call(instruction.detail.kernel, *map(layout_of, instruction.inputs), *_present(outs))
    elif kind == STORE:
        target, source = map(layout_of, instruction.inputs)
        _copy(c, [target], source)
    elif kind == CALL and instruction.detail is finish_products:
        c.function("wait", jit.machine().thread_pool.wait_address)
    elif kind == COMPUTE and instruction.detail is start_product:
        a, b = map(layout_of, instruction.inputs)
        _product(c, _present(outs), a, b, may_wait=True)
    elif kind == COMPUTE and instruction.detail is np.copy:
        _copy(c, _present(outs), layout_of(instruction.inputs[0]))
    elif kind == COMPUTE and instruction.name in FORWARD:
        FORWARD[instruction.name](
            c, outs, *_operands(instruction.inputs, roots), **instruction.params
        )
    elif kind == BACKWARD and instruction.name in GRADIENT:
        _gradient(c, outs, instruction, roots)
    else:
        raise Declined(f"{kind} {instruction.name} has no rule")
    return c


def _gradient(c: Calls, outs: list[Layout | None], instruction: Instruction, roots: Roots) -> None:
    """A rule for gradients gets what the formula of the operation gets."""
    (_, active, _), (grads, pool) = instruction.detail, instruction.inputs
    if sum(out is not None for out in outs) != 1 and len(active) != 1:
        raise Declined("several formulas")
    _, _, slots = active[0]
    operands = _operands([pool[slot] for slot in slots], roots)
    GRADIENT[instruction.name](c, outs, _operands(grads, roots), *operands)


def _operands(operands: Sequence[Any], roots: Roots) -> list[Any]:
    return [roots.layout(each) if isinstance(each, Value) else each for each in operands]


def _present(outs: list[Layout | None]) -> list[Layout]:
    if any(out is None for out in outs):
        raise Declined("a result that nobody uses")
    return [out for out in outs if out is not None]


def _rule(table: dict[str, Rule], *names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        table.update(dict.fromkeys(names, function))
        return function

    return register


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise Declined(reason)


# -- products and copies ---------------------------------------------------------------------------


def _product(c: Calls, outs: list[Layout], a: Layout, b: Layout, may_wait: bool = False) -> None:
    (out,) = outs
    _require(len(a.shape) == len(b.shape) == 2 and a.dtype in _FLOATS, "no matrices of floats")
    (m, k), n = a.shape, b.shape[1]
    if not products.uses_gemm(m, n, k):
        c.call(np.matmul, a, b, out)
    elif may_wait and products.may_be_async(m, n, k):
        c.call(products.ASYNC_PRODUCT, a, b, out, is_async=True)
    else:
        c.call(products.PRODUCT, a, b, out)


@_rule(FORWARD, "mm")
def _mm(c: Calls, outs: list[Layout], a: Layout, b: Layout) -> None:
    _product(c, outs, a, b)


@_rule(FORWARD, "addmm")
def _addmm(
    c: Calls, outs: list[Layout], bias: Layout, a: Layout, b: Layout, beta: Any = 1, alpha: Any = 1
) -> None:
    (out,) = outs
    _require(beta == 1 and alpha == 1, "factors")
    _require(bias.shape == b.shape[1:], "a bias that broadcasts")
    (m, k), n = a.shape, b.shape[1]
    if products.uses_gemm(m, n, k):
        c.call(products.AFFINE, a, b, bias, out)
    else:
        c.call(np.matmul, a, b, out)
        c.call(np.add, out, bias, out)


@_rule(FORWARD, "clone", "contiguous")
def _clone(c: Calls, outs: list[Layout], source: Layout, memory_format: Any = None) -> None:
    _copy(c, outs, source)


def _copy(c: Calls, outs: list[Layout], source: Layout) -> None:
    (out,) = outs
    _require(source.size < _MOST_COPIED, "a copy for all threads")
    _require(source.dtype.kind in "fi", "no numbers")
    c.call(np.positive, source, out)


# Larger copies are made by several threads, in Python.
_MOST_COPIED = 1 << 14


# -- reductions ------------------------------------------------------------------------------------


@_rule(FORWARD, "sum_dim")
def _sum_dim(
    c: Calls, outs: list[Layout], x: Layout, dims: tuple[int, ...], keepdim: bool, dtype: Any
) -> None:
    (out,) = outs
    dims = tuple(sorted(dim % len(x.shape) for dim in dims))
    _require(dims == tuple(range(dims[0], dims[-1] + 1)), "dimensions that are not neighbours")
    if x.size <= reduce.LARGE and not x.is_contiguous:
        _fold(c, x, dims, out, keepdim)
        return
    first, last = dims[0], dims[-1] + 1
    outer, middle, inner = (math.prod(part) for part in
                            (x.shape[:first], x.shape[first:last], x.shape[last:]))  # fmt: skip
    if inner == 1:
        _sum_rows(c, x.reshaped(outer, middle), out.reshaped(outer))
    else:
        _require(middle < 2 * reduce.ROWS, "many rows")
        kernel = reduce.SUM_FEW_COLUMNS if x.size <= reduce.FEW else reduce.SUM_COLUMNS
        c.call(kernel, x.reshaped(outer, middle, inner), out.reshaped(outer, inner))


def _fold(c: Calls, x: Layout, dims: tuple[int, ...], out: Layout, keepdim: bool = False) -> None:
    """A sum as NumPy computes it, for few elements."""
    kept = iter(range(len(out.shape)))
    strides = [0] * len(x.shape)
    for dim in range(len(x.shape)):
        if dim not in dims:
            strides[dim] = out.strides[next(kept)]
        elif keepdim:
            next(kept)
    total = out._replace(shape=x.shape, strides=tuple(strides))
    c.call(np.positive, c.constant(0.0, out.dtype), out)
    c.call(np.add, total, x, total)


def _sum_rows(c: Calls, x: Layout, out: Layout) -> None:
    _require(x.shape[-1] < reduce.LONG, "long rows")
    c.call(reduce.SUM, x, out)


@_rule(FORWARD, "sum")
def _sum(c: Calls, outs: list[Layout], x: Layout, dtype: Any) -> None:
    _sum_rows(c, x.reshaped(x.size), outs[0])


@_rule(FORWARD, "mean")
def _mean(c: Calls, outs: list[Layout], x: Layout, dtype: Any) -> None:
    (out,) = outs
    _sum_rows(c, x.reshaped(x.size), out)
    c.call(np.divide, out, c.constant(x.size, out.dtype), out)


# -- softmax and losses over classes ---------------------------------------------------------------


def _along(c: Calls, kernel: Any, dim: int, *operands: Layout) -> None:
    c.call(kernel, *[each.moved_last(dim) for each in operands])


@_rule(FORWARD, "log_softmax")
def _log_softmax(c: Calls, outs: list[Layout], x: Layout, dim: int) -> None:
    _along(c, softmax.LOG_SOFTMAX_KERNEL, dim, x, *outs)


@_rule(GRADIENT, "log_softmax")
def _log_softmax_gradient(
    c: Calls, outs: list[Layout], grads: list[Layout], out: Layout, dim: int
) -> None:
    _along(c, softmax.LOG_SOFTMAX_BACKWARD_KERNEL, dim, grads[0], out, *outs)


@_rule(FORWARD, "softmax")
def _softmax(c: Calls, outs: list[Layout], x: Layout, dim: int) -> None:
    _along(c, softmax.SOFTMAX_KERNEL, dim, x, *outs)


@_rule(GRADIENT, "softmax")
def _softmax_gradient(
    c: Calls, outs: list[Layout], grads: list[Layout], out: Layout, dim: int
) -> None:
    _along(c, softmax.SOFTMAX_BACKWARD_KERNEL, dim, grads[0], out, *outs)


_LOSS_TYPES = [([each, I64, I64, I64], [each] * 3) for each in ("f32", "f64")]
_LOSS_GRADIENT_TYPES = [([each, I64, I64, each, each], [each]) for each in ("f32", "f64")]


@over_rows("nll_loss", "(n),(),(),()->(),(),()", types=_LOSS_TYPES)
def _NLL_LOSS_KERNEL(scores: Any, target: Any, ignored: Any, classes: Any) -> Any:
    """The loss of a row, whether it counts, and whether its class does not exist."""
    zero, one = scores.like(0.0), scores.like(1.0)
    counts = where(target.eq(ignored), zero, one)
    exists = (target >= 0) & (target < classes)
    loss = -where(position(I32).eq(target.convert(I32)), scores, 0.0).row_sum()
    return where(counts.eq(0.0), zero, loss), counts, where(exists, zero, counts)


@over_rows("nll_loss_backward", "(n),(),(),(),()->(n)", types=_LOSS_GRADIENT_TYPES)
def _NLL_LOSS_BACKWARD_KERNEL(like: Any, target: Any, ignored: Any, g: Any, count: Any) -> Any:
    is_class = position(I32).eq(target.convert(I32))
    share = where(target.eq(ignored), g.like(0.0), -g / count)
    return where(is_class, share, 0.0)


def _rows_of_classes(
    scores: Layout, target: Layout, weight: Any, reduction: str
) -> tuple[int, int]:
    _require(weight is None and reduction in ("mean", "sum"), "weights, or no reduction")
    _require(len(scores.shape) == 2 and target.dtype is _INT64, "no rows of scores")
    rows, classes = scores.shape
    _require(classes <= _MOST_CLASSES and rows < reduce.LONG, "many classes")
    return rows, classes


@_rule(FORWARD, "nll_loss")
def _nll_loss(
    c: Calls, outs: list[Layout], scores: Layout, target: Layout, weight: Any, reduction: str,
    ignore_index: int,
) -> None:  # fmt: skip
    rows, classes = _rows_of_classes(scores, target, weight, reduction)
    dtype = scores.dtype
    losses, counts, wrong = (c.temporary((rows,), dtype) for _ in range(3))
    ignored = c.constant(ignore_index, _INT64)
    number = c.constant(classes, _INT64)
    c.call(_NLL_LOSS_KERNEL, scores, target, ignored, number, losses, counts, wrong)
    total = c.temporary((), dtype)
    c.call(reduce.SUM, wrong, total)
    c.check(total, classification.safe_classes, target, classes, ignore_index)
    c.call(reduce.SUM, losses, outs[0])
    if reduction == "mean":
        count = c.temporary((), dtype)
        c.call(reduce.SUM, counts, count)
        c.call(np.divide, outs[0], count, outs[0])


@_rule(GRADIENT, "nll_loss")
def _nll_loss_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], scores: Layout, target: Layout,
    weight: Any, reduction: str, ignore_index: int,
) -> None:  # fmt: skip
    rows, classes = _rows_of_classes(scores, target, weight, reduction)
    out, *others = outs
    _require(out is not None and not any(others), "other gradients")
    assert out is not None
    dtype, ignored = scores.dtype, c.constant(ignore_index, _INT64)
    count = c.constant(1.0, dtype)
    if reduction == "mean":
        losses, counts, wrong = (c.temporary((rows,), dtype) for _ in range(3))
        count = c.temporary((), dtype)
        number = c.constant(classes, _INT64)
        c.call(_NLL_LOSS_KERNEL, scores, target, ignored, number, losses, counts, wrong)
        c.call(reduce.SUM, counts, count)
    c.call(_NLL_LOSS_BACKWARD_KERNEL, scores, target, ignored, grads[0], count, out)


# -- one element of each row ---------------------------------------------------------------------


@over_rows(
    "gather_one", "(n),(),()->(),()",
    types=[([each, I64, I64], [each] * 2) for each in ("f32", "f64")],
)  # fmt: skip
def _GATHER_KERNEL(x: Any, index: Any, count: Any) -> Any:
    """The element of a row at an index, and whether there is none."""
    zero, one = x.like(0.0), x.like(1.0)
    found = where(position(I32).eq(index.convert(I32)), x, 0.0).row_sum()
    return found, where((index >= 0) & (index < count), zero, one)


@over_rows(
    "gather_one_backward", "(n),(),()->(n)",
    types=[([each, I64, each], [each]) for each in ("f32", "f64")],
)  # fmt: skip
def _GATHER_BACKWARD_KERNEL(like: Any, index: Any, g: Any) -> Any:
    return where(position(I32).eq(index.convert(I32)), g, 0.0)


def _one_of_each_row(x: Layout, index: Layout, dim: int) -> int:
    _require(len(x.shape) == 2 and dim in (1, -1), "another dimension")
    rows, count = x.shape
    _require(index.shape == (rows, 1) and index.dtype is _INT64, "several of a row")
    _require(count <= _MOST_CLASSES and rows < reduce.LONG, "long rows")
    return rows


@_rule(FORWARD, "gather")
def _gather(c: Calls, outs: list[Layout], x: Layout, index: Layout, dim: int) -> None:
    rows, count = _one_of_each_row(x, index, dim), x.shape[1]
    wrong, total = c.temporary((rows,), x.dtype), c.temporary((), x.dtype)
    places, out = (each._replace(shape=(rows,), strides=each.strides[:1])
                   for each in (index, outs[0]))  # fmt: skip
    c.call(_GATHER_KERNEL, x, places, c.constant(count, _INT64), out, wrong)
    c.call(reduce.SUM, wrong, total)
    c.check(total, check_bounds, index, 1, count)


@_rule(GRADIENT, "gather")
def _gather_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], x: Layout, index: Layout, dim: int
) -> None:
    out, *others = outs
    _require(out is not None and not any(others), "other gradients")
    assert out is not None
    rows = _one_of_each_row(x, index, dim)
    places, g = (each._replace(shape=(rows,), strides=each.strides[:1])
                 for each in (index, grads[0]))  # fmt: skip
    c.call(_GATHER_BACKWARD_KERNEL, x, places, g, out)


# -- losses over pairs -----------------------------------------------------------------------------


def _pair(c: Calls, kernel: Any, x: Layout, y: Layout, *numbers: float) -> Layout:
    """The losses of all pairs."""
    _require(x.shape == y.shape and x.dtype is y.dtype, "operands that broadcast")
    losses = c.temporary(x.shape, x.dtype)
    c.call(kernel, x, y, *[c.constant(each, x.dtype) for each in numbers], losses)
    return losses


def _reduce_losses(c: Calls, losses: Layout, reduction: str, out: Layout) -> None:
    _require(reduction in ("mean", "sum"), "no reduction")
    _require(losses.size < reduce.LARGE, "many losses")
    _sum_rows(c, losses.reshaped(losses.size), out)
    if reduction == "mean":
        c.call(np.divide, out, c.constant(losses.size, out.dtype), out)


def _spread(c: Calls, slopes: Layout, g: Layout, reduction: str, out: Layout) -> None:
    """The gradient of the losses' mean or sum, from the slope of each."""
    factor = g
    if reduction == "mean":
        factor = c.temporary((), g.dtype)
        c.call(np.divide, g, c.constant(slopes.size, g.dtype), factor)
    c.call(np.multiply, slopes, factor, out)


@_rule(FORWARD, "mse_loss")
def _mse(c: Calls, outs: list[Layout], x: Layout, y: Layout, reduction: str) -> None:
    _reduce_losses(c, _pair(c, kernels.SQUARES, x, y), reduction, outs[0])


@_rule(FORWARD, "smooth_l1_loss")
def _smooth_l1(
    c: Calls, outs: list[Layout], x: Layout, y: Layout, reduction: str, beta: float
) -> None:
    _require(beta > 0, "no parabola")
    _reduce_losses(c, _pair(c, kernels.SMOOTH, x, y, beta, 0.5 / beta, 1.0), reduction, outs[0])


@_rule(GRADIENT, "smooth_l1_loss")
def _smooth_l1_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], x: Layout, y: Layout,
    reduction: str, beta: float,
) -> None:  # fmt: skip
    out, other = outs
    _require(out is not None and other is None and beta > 0, "other gradients")
    assert out is not None
    slopes = _pair(c, kernels.SMOOTH_SLOPE, x, y, beta, 1.0)
    _spread(c, slopes, grads[0], reduction, out)


# -- normalization ---------------------------------------------------------------------------------


@_rule(FORWARD, "native_layer_norm")
def _layer_norm(
    c: Calls, outs: list[Layout | None], x: Layout, weight: Any, bias: Any, normalized_ndim: int,
    eps: float,
) -> None:  # fmt: skip
    out, mean, rstd = _present(outs)
    _require(isinstance(weight, Layout) and isinstance(bias, Layout), "no parameters")
    rows, size = _rows(x, normalized_ndim)
    c.call(
        LAYER_NORM_KERNEL, x.reshaped(rows, size), weight.reshaped(size), bias.reshaped(size),
        c.constant(eps, x.dtype), out.reshaped(rows, size), mean.reshaped(rows),
        rstd.reshaped(rows),
    )  # fmt: skip


@_rule(GRADIENT, "native_layer_norm")
def _layer_norm_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Any], x: Layout, weight: Any, mean: Layout,
    rstd: Layout, normalized_ndim: int, eps: float, needs: tuple[bool, ...],
) -> None:  # fmt: skip
    _require(isinstance(weight, Layout) and grads[1] is None and grads[2] is None, "other cases")
    rows, size = _rows(x, normalized_ndim)
    _require(rows < 2 * reduce.ROWS, "many rows")
    g, x = grads[0].reshaped(rows, size), x.reshaped(rows, size)
    mean, rstd = mean.reshaped(rows), rstd.reshaped(rows)
    if outs[0] is not None:
        out = outs[0].reshaped(rows, size)
        c.call(LAYER_NORM_BACKWARD_KERNEL, g, x, weight.reshaped(size), mean, rstd, out)
    if outs[1] is not None or outs[2] is not None:
        made = [c.temporary((size,), x.dtype) if out is None else out.reshaped(size)
                for out in outs[1:]]  # fmt: skip
        c.call(LAYER_NORM_PARAMETERS_KERNEL, g, x, mean, rstd, *made)


def _rows(x: Layout, ndim: int) -> tuple[int, int]:
    split = len(x.shape) - ndim
    return math.prod(x.shape[:split]), math.prod(x.shape[split:])
