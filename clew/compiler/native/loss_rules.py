"""Rules for softmax, losses, and what picks one element of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.compiler.native import indexing_rules
from clew.compiler.native.calls import Calls
from clew.compiler.native.layouts import Layout
from clew.compiler.native.rule_table import (
    FLOATS,
    INT64,
    forward,
    gradient,
    present,
    require,
)
from clew.compiler.native.rules import sum_rows
from clew.compiler.native.shape_rules import fill
from clew.kernels.codegen.ir import F32, F64, I32, I64, Expr, position, where
from clew.kernels.codegen.ufunc import elementwise, over_rows
from clew.kernels.numpy import reduce
from clew.ops.index.gather_scatter import check_bounds
from clew.ops.nn.activation import softmax
from clew.ops.nn.loss import classification, kernels

# Classes that are compared with a target one by one; more are looked up, in Python.
_MOST_CLASSES = 512

# -- softmax and losses over classes ---------------------------------------------------------------


def _along(c: Calls, kernel: Any, dim: int, *operands: Layout) -> None:
    c.call(kernel, *[each.moved_last(dim) for each in operands])


@forward("log_softmax")
def _log_softmax(c: Calls, outs: list[Layout], x: Layout, dim: int) -> None:
    _along(c, softmax.LOG_SOFTMAX_KERNEL, dim, x, *outs)


@gradient("log_softmax")
def _log_softmax_gradient(
    c: Calls, outs: list[Layout], grads: list[Layout], out: Layout, dim: int
) -> None:
    _along(c, softmax.LOG_SOFTMAX_BACKWARD_KERNEL, dim, grads[0], out, *outs)


@forward("softmax")
def _softmax(c: Calls, outs: list[Layout], x: Layout, dim: int) -> None:
    _along(c, softmax.SOFTMAX_KERNEL, dim, x, *outs)


@forward("_safe_softmax")
def _safe_softmax(c: Calls, outs: list[Layout], x: Layout, dim: int) -> None:
    _along(c, softmax.SAFE_SOFTMAX_KERNEL, dim, x, *outs)


@gradient("softmax", "_safe_softmax")
def _softmax_gradient(
    c: Calls, outs: list[Layout], grads: list[Layout], out: Layout, dim: int
) -> None:
    _along(c, softmax.SOFTMAX_BACKWARD_KERNEL, dim, grads[0], out, *outs)


_CLASS_TYPES = [([I64, I64, I64], [I64, each, each]) for each in (F32, F64)]
_LOSS_TYPES = [([each, I64, each], [each]) for each in (F32, F64)]
_LOSS_GRADIENT_TYPES = [([each, I64, each], [each]) for each in (F32, F64)]


def _classes_kernel(kind: str) -> Any:
    one, zero = Expr("const", kind, (), 1.0), Expr("const", kind, (), 0.0)

    @elementwise(f"classes_{kind}", 3, outputs=3, types=[([I64] * 3, [I64, kind, kind])])
    def classes(target: Any, ignored: Any, count: Any) -> Any:
        """A class that exists, whether it counts, and whether the target does not exist."""
        exists, is_ignored = (target >= 0) & (target < count), target.eq(ignored)
        safe = where(exists & ~is_ignored, target, target.like(0))
        return safe, where(is_ignored, zero, one), where(exists | is_ignored, zero, one)

    return classes


_CLASSES_KERNELS = {
    dtype: _classes_kernel(kind) for dtype, kind in zip(FLOATS, (F32, F64), strict=True)
}


@over_rows("nll_loss", "(n),(),()->()", types=_LOSS_TYPES)
def _NLL_LOSS_KERNEL(scores: Any, target: Any, counts: Any) -> Any:
    """The loss of a row; 0, whatever its scores, if it does not count."""
    loss = -where(position(I32).eq(target.convert(I32)), scores, 0.0).row_sum()
    return where(counts.eq(0.0), scores.like(0.0), loss)


@over_rows("nll_loss_backward", "(n),(),()->(n)", types=_LOSS_GRADIENT_TYPES)
def _NLL_LOSS_BACKWARD_KERNEL(like: Any, target: Any, share: Any) -> Any:
    return where(position(I32).eq(target.convert(I32)), share, 0.0)


_COUNTED_LOSS = elementwise("counted_loss", 2)(
    lambda score, counts: where(counts.eq(0.0), score.like(0.0), -score)
)
# The gradient of a row's score: the loss's, the weight, the sum of weights, and whether it counts.
_COUNTED_SHARE = elementwise("counted_share", 4)(
    lambda g, weight, total, counts: where(counts.eq(0.0), g.like(0.0), -g / total * weight)
)


def _rows_of_classes(scores: Layout, target: Layout, weight: Any) -> Layout:
    """Scores with the classes as the last dimension."""
    require(len(scores.shape) in (2, 4) and target.dtype is INT64, "no rows of scores")
    require(0 < target.size < reduce.LONG and scores.dtype in FLOATS, "many rows")
    require(weight is None or weight.dtype is scores.dtype, "weights of another type")
    rows = scores.moved_last(1)
    require(rows.shape[-1] <= _MOST_CLASSES or rows.is_contiguous, "many classes")
    return rows


def _classes(
    c: Calls, rows: Layout, target: Layout, ignore_index: int
) -> tuple[Layout, Layout, Layout]:
    """The class of each row, which exists; whether it counts; whether the target does not exist."""
    safe = c.temporary(target.shape, INT64)
    counts, wrong = (c.temporary(target.shape, rows.dtype) for _ in range(2))
    numbers = [c.constant(each, INT64) for each in (ignore_index, rows.shape[-1])]
    c.call(_CLASSES_KERNELS[rows.dtype], target, *numbers, safe, counts, wrong)
    return safe, counts, wrong


def _weights(c: Calls, weight: Layout | None, safe: Layout, counts: Layout) -> Layout:
    """How much each row counts."""
    if weight is None:
        return counts
    found = c.temporary(safe.shape, counts.dtype)
    table = weight.reshaped(weight.size, 1)
    indexing_rules.take_rows(c, table, safe.reshaped(safe.size), found.reshaped(found.size, 1))
    c.call(np.multiply, found, counts, found)
    return found


def _total(c: Calls, rows: Layout) -> Layout:
    total = c.temporary((), rows.dtype)
    c.call(reduce.SUM, rows.reshaped(rows.size), total)
    return total


@forward("nll_loss", "nll_loss2d")
def _nll_loss(
    c: Calls, outs: list[Layout], scores: Layout, target: Layout, weight: Any, reduction: str,
    ignore_index: int,
) -> None:  # fmt: skip
    rows = _rows_of_classes(scores, target, weight)
    safe, counts, wrong = _classes(c, rows, target, ignore_index)
    losses = c.temporary(target.shape, rows.dtype)
    if rows.shape[-1] <= _MOST_CLASSES:
        c.call(_NLL_LOSS_KERNEL, rows, safe, counts, losses)
    else:
        index, picked = (each.reshaped(each.size, 1) for each in (safe, losses))
        indexing_rules.along(c, "gather", rows, index, picked, 1, is_known=True)
        c.call(_COUNTED_LOSS, losses, counts, losses)
    c.check(_total(c, wrong), classification.safe_classes, target, rows.shape[-1], ignore_index)
    weights = _weights(c, weight, safe, counts)
    if weight is not None:
        # What is ignored is 0, whatever its score.
        c.call(np.multiply, losses, weights, losses)
    if reduction == "none":
        c.call(np.positive, losses, outs[0])
        return
    c.call(reduce.SUM, losses.reshaped(losses.size), outs[0])
    if reduction == "mean":
        c.call(np.divide, outs[0], _total(c, weights), outs[0])


@gradient("nll_loss", "nll_loss2d")
def _nll_loss_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], scores: Layout, target: Layout,
    weight: Any, reduction: str, ignore_index: int,
) -> None:  # fmt: skip
    rows = _rows_of_classes(scores, target, weight)
    out, *others = outs
    require(out is not None and not any(others), "other gradients")
    assert out is not None
    safe, counts, _ = _classes(c, rows, target, ignore_index)
    weights = _weights(c, weight, safe, counts)
    total = _total(c, weights) if reduction == "mean" else c.constant(1.0, rows.dtype)
    share = c.temporary(target.shape, rows.dtype)
    c.call(_COUNTED_SHARE, grads[0], weights, total, counts, share)
    if rows.shape[-1] <= _MOST_CLASSES:
        c.call(_NLL_LOSS_BACKWARD_KERNEL, rows, safe, share, out.moved_last(1))
        return
    fill(c, out)
    index, values = (each.reshaped(each.size, 1) for each in (safe, share))
    indexing_rules.along(c, "scatter", out, index, values, 1, is_known=True)


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


def _is_one_of_each_row(x: Layout, index: Layout, dim: int) -> bool:
    if len(x.shape) != 2 or dim not in (1, -1) or index.dtype is not INT64:
        return False
    rows, count = x.shape
    return index.shape == (rows, 1) and count <= _MOST_CLASSES and rows < reduce.LONG


@forward("gather")
def _gather(c: Calls, outs: list[Layout], x: Layout, index: Layout, dim: int) -> None:
    if not _is_one_of_each_row(x, index, dim):
        indexing_rules.gather(c, x, index, dim, outs[0])
        return
    rows, count = x.shape
    wrong, total = c.temporary((rows,), x.dtype), c.temporary((), x.dtype)
    places, out = (each._replace(shape=(rows,), strides=each.strides[:1])
                   for each in (index, outs[0]))  # fmt: skip
    c.call(_GATHER_KERNEL, x, places, c.constant(count, INT64), out, wrong)
    c.call(reduce.SUM, wrong, total)
    c.check(total, check_bounds, index, 1, count)


@gradient("gather")
def _gather_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], x: Layout, index: Layout, dim: int
) -> None:
    out, *others = outs
    require(out is not None and not any(others), "other gradients")
    assert out is not None
    if not _is_one_of_each_row(x, index, dim):
        indexing_rules.add_gathered(c, out, index, grads[0], dim)
        return
    rows = x.shape[0]
    places, g = (each._replace(shape=(rows,), strides=each.strides[:1])
                 for each in (index, grads[0]))  # fmt: skip
    c.call(_GATHER_BACKWARD_KERNEL, x, places, g, out)


# -- losses over pairs -----------------------------------------------------------------------------


def _pair(c: Calls, kernel: Any, x: Layout, y: Layout, *numbers: float) -> Layout:
    """The losses of all pairs."""
    require(x.shape == y.shape and x.dtype is y.dtype, "operands that broadcast")
    losses = c.temporary(x.shape, x.dtype)
    c.call(kernel, x, y, *[c.constant(each, x.dtype) for each in numbers], losses)
    return losses


def _reduce_losses(c: Calls, losses: Layout, reduction: str, out: Layout) -> None:
    if reduction == "none":
        c.call(np.positive, losses, out)
        return
    sum_rows(c, losses.reshaped(losses.size), out)
    if reduction == "mean":
        c.call(np.divide, out, c.constant(losses.size, out.dtype), out)


def _spread(c: Calls, slopes: Layout, g: Layout, reduction: str, out: Layout) -> None:
    """The gradient of the losses' mean or sum, from the slope of each."""
    factor = g
    if reduction == "mean":
        factor = c.temporary((), g.dtype)
        c.call(np.divide, g, c.constant(slopes.size, g.dtype), factor)
    c.call(np.multiply, slopes, factor, out)


@forward("mse_loss")
def _mse(c: Calls, outs: list[Layout], x: Layout, y: Layout, reduction: str) -> None:
    _reduce_losses(c, _pair(c, kernels.SQUARES, x, y), reduction, outs[0])


@forward("binary_cross_entropy")
def _binary_cross_entropy(
    c: Calls, outs: list[Layout], x: Layout, target: Layout, weight: Any, reduction: str
) -> None:
    require(weight is None, "weights")
    _reduce_losses(c, _pair(c, kernels.BCE_OF_PROBABILITIES, x, target), reduction, outs[0])


@gradient("binary_cross_entropy")
def _binary_cross_entropy_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], x: Layout, target: Layout,
    weight: Any, reduction: str,
) -> None:  # fmt: skip
    require(weight is None, "weights")
    out, *others = outs
    require(out is not None and not any(others), "other gradients")
    assert out is not None
    slopes = _pair(c, kernels.BCE_SLOPE, x, target)
    _spread(c, slopes, grads[0], reduction, out)


@forward("binary_cross_entropy_with_logits")
def _binary_cross_entropy_of_logits(
    c: Calls, outs: list[Layout | None], x: Layout, target: Layout, weight: Any, pos_weight: Any,
    reduction: str,
) -> None:  # fmt: skip
    require(weight is None and pos_weight is None, "weights")
    (out,) = present(outs)
    _reduce_losses(c, _pair(c, kernels.BCE_OF_LOGITS, x, target), reduction, out)


_BCE_SLOPE_OF_LOGITS = elementwise("binary_cross_entropy_with_logits_derivative", 3)(
    lambda x, target, g: (x.sigmoid() - target) * g
)


@gradient("binary_cross_entropy_with_logits")
def _binary_cross_entropy_of_logits_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], x: Layout, target: Layout,
    weight: Any, pos_weight: Any, reduction: str,
) -> None:  # fmt: skip
    require(weight is None and pos_weight is None, "weights")
    out, *others = outs
    require(out is not None and not any(others), "other gradients")
    assert out is not None
    require(x.shape == target.shape and x.dtype is target.dtype, "operands that broadcast")
    c.call(_BCE_SLOPE_OF_LOGITS, x, target, grads[0], out)
    if reduction == "mean":
        c.call(np.divide, out, c.constant(x.size, out.dtype), out)


@forward("huber_loss")
def _huber(
    c: Calls, outs: list[Layout], x: Layout, y: Layout, reduction: str, delta: float,
    dtype: Any = None,
) -> None:  # fmt: skip
    require(dtype is None or dtype is outs[0].dtype, "another type")
    losses = _pair(c, kernels.SMOOTH, x, y, delta, 0.5, delta)
    _reduce_losses(c, losses, reduction, outs[0])


@gradient("huber_loss")
def _huber_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], x: Layout, y: Layout,
    reduction: str, delta: float,
) -> None:  # fmt: skip
    out, other = outs
    require(out is not None and other is None, "other gradients")
    assert out is not None
    slopes = _pair(c, kernels.SMOOTH_SLOPE, x, y, 1.0, delta)
    _spread(c, slopes, grads[0], reduction, out)


@forward("smooth_l1_loss")
def _smooth_l1(
    c: Calls, outs: list[Layout], x: Layout, y: Layout, reduction: str, beta: float
) -> None:
    require(beta > 0, "no parabola")
    _reduce_losses(c, _pair(c, kernels.SMOOTH, x, y, beta, 0.5 / beta, 1.0), reduction, outs[0])


@gradient("smooth_l1_loss")
def _smooth_l1_gradient(
    c: Calls, outs: list[Layout | None], grads: list[Layout], x: Layout, y: Layout,
    reduction: str, beta: float,
) -> None:  # fmt: skip
    out, other = outs
    require(out is not None and other is None and beta > 0, "other gradients")
    assert out is not None
    slopes = _pair(c, kernels.SMOOTH_SLOPE, x, y, beta, 1.0)
    _spread(c, slopes, grads[0], reduction, out)
