"""Margins between the scores of classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.tensor import Tensor, of_values
from clew.kernels.numpy.arrays import widened
from clew.ops.define.rows import refuse_gradient
from clew.ops.nn.loss.reduction import (
    asked_reduction,
    reduced,
    spread,
)

Array = np.ndarray


def _rows(array: Array) -> Array:
    return array.reshape(1, -1) if array.ndim < 2 else array


def _margins(
    self: Array, target: Array, weight: Array | None, p: int, margin: float
) -> tuple[Array, Array, Array]:
    """What each class lacks of the margin below the target class, and the weight of each row."""
    x, t = _rows(widened(self)), target.reshape(-1)
    if t.size and (t.min() < 0 or t.max() >= x.shape[1]):
        raise RuntimeError("target out of range" + errors.at_user_line())
    own = np.take_along_axis(x, t[:, None], 1)
    lacking = np.maximum(margin - own + x, 0)
    np.put_along_axis(lacking, t[:, None], 0, 1)
    weights = np.ones((t.size, 1), x.dtype) if weight is None else widened(weight)[t][:, None]
    return lacking, weights / x.shape[1], t


def _multi_margin(
    self: Array, target: Array, weight: Array | None, *, p: int, margin: float, reduction: str
) -> Array:
    lacking, weights, _ = _margins(self, target, weight, p, margin)
    losses = ((lacking if p == 1 else lacking * lacking) * weights).sum(axis=1)
    if reduction == "none":
        return losses.astype(self.dtype, copy=False).reshape(target.shape)
    return reduced(losses, reduction, self.dtype)


def _multi_margin_derivative(
    self: Array, target: Array, weight: Array | None, *, p: int, margin: float
) -> Array:
    """The derivative of each row's loss."""
    lacking, weights, t = _margins(self, target, weight, p, margin)
    slope = (lacking > 0) * weights if p == 1 else 2 * lacking * weights
    np.put_along_axis(slope, t[:, None], -slope.sum(axis=1, keepdims=True), 1)
    return slope.astype(self.dtype, copy=False).reshape(self.shape)


def _no_second_derivative(name: str) -> Callable[[Tensor], Tensor]:
    """A formula that refuses, as PyTorch does."""

    def formula(g: Tensor) -> Tensor:
        raise RuntimeError(
            f"derivative for aten::{name} is not implemented" + errors.at_user_line()
        )

    return formula


MULTI_MARGIN_DERIVATIVE = Op(
    "multi_margin_derivative", _multi_margin_derivative,
    grads={"self": _no_second_derivative("multi_margin_loss_backward")},
)  # fmt: skip


def _multi_margin_gradient(
    g: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    p: int,
    margin: float,
    reduction: str,
) -> Tensor:
    slope: Tensor = MULTI_MARGIN_DERIVATIVE(self, target, weight, p=p, margin=margin)
    each = spread(g, reduction, max(target._array.size, 1))
    return slope * (each.reshape(-1, 1) if reduction == "none" and self._array.ndim == 2 else each)


MULTI_MARGIN_LOSS = Op("multi_margin_loss", _multi_margin, grads={"self": _multi_margin_gradient})


@typed
@casts(FLOAT32)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: float = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What the target's score lacks of exceeding every other score by the margin.

    Args:
        input: scores (N, C) or (C)
        target: classes (N) or ()
        p: the power of what is lacking, 1 or 2
        margin: how much higher the score should be
        weight: a factor for each class
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> F.multi_margin_loss(clew.tensor([[0.1, 0.2, 0.9]]), clew.tensor([2]))
        tensor(0.1667)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported" + errors.at_user_line())
    _check_multi_margin(input, target, weight)
    refuse_gradient("multi_margin_loss", weight=weight)
    result: Tensor = MULTI_MARGIN_LOSS(
        input, target, weight, p=p, margin=margin, reduction=reduction
    )
    return result


def _check_multi_margin(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    shape, wanted = input._array.shape, target._array.shape
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional" + errors.at_user_line())
    if len(shape) > 2 or 0 in shape[1:] or shape == (0,):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{errors.shape_list(shape)}" + errors.at_user_line()
        )
    batch = shape[0] if len(shape) == 2 else 1
    if len(wanted) > 1 or target._array.size != batch:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{batch}], but got "
            f"{errors.shape_list(wanted)}. Input has shape {errors.shape_list(shape)}."
            + errors.at_user_line()
        )
    classes = shape[-1] if shape else 1
    if weight is not None and weight._array.size != classes:
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got "
            f"{errors.shape_list(weight._array.shape)}" + errors.at_user_line()
        )
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise errors.no_kernel("multi_margin_loss_cpu_kernel", input.dtype)
    for other, expected in ((target, dtypes.int64), (weight, input.dtype)):
        if other is not None and other.dtype is not expected:
            raise RuntimeError(
                f"expected scalar type {expected.scalar_name} but found {other.dtype.scalar_name}"
                + errors.at_user_line()
            )


def _label_gaps(self: Array, target: Array) -> tuple[Array, Array, Array]:
    """What each label lacks of exceeding each other class: by row, place in the list, and class.

    A row of the target lists labels up to the first -1. Also the labels, and the rows of scores.
    """
    x, t = _rows(widened(self)), _rows(target)
    listed = np.logical_and.accumulate(t >= 0, axis=1)
    most = listed.sum(axis=1).max(initial=0)
    t, listed = t[:, :most], listed[:, :most]
    is_label = np.zeros(x.shape, bool)
    row, column = np.nonzero(listed)
    is_label[row, t[row, column]] = True
    own = np.take_along_axis(x, np.where(listed, t, 0), 1)
    gaps = np.maximum(1 - own[:, :, None] + x[:, None, :], 0)
    gaps *= listed[:, :, None]
    gaps *= ~is_label[:, None, :]
    return gaps, np.where(listed, t, 0), x


def _multilabel_margin(self: Array, target: Array, *, reduction: str) -> Array:
    gaps, _, x = _label_gaps(self, target)
    losses = gaps.sum(axis=(1, 2)) / max(x.shape[1], 1)
    if reduction == "none":
        return losses.astype(self.dtype, copy=False).reshape(self.shape[:-1])
    return reduced(losses, reduction, self.dtype)


def _multilabel_derivative(self: Array, target: Array) -> Array:
    gaps, labels, x = _label_gaps(self, target)
    lacking = (gaps > 0).astype(x.dtype)
    slope = lacking.sum(axis=1)
    rows = np.broadcast_to(np.arange(x.shape[0])[:, None], labels.shape)
    np.subtract.at(slope, (rows, labels), lacking.sum(axis=2))
    return (slope / max(x.shape[1], 1)).astype(self.dtype, copy=False).reshape(self.shape)


MULTILABEL_DERIVATIVE = Op(
    "multilabel_margin_derivative", _multilabel_derivative,
    grads={"self": _no_second_derivative("multilabel_margin_loss_backward")},
)  # fmt: skip


def _multilabel_gradient(g: Tensor, self: Tensor, target: Tensor, reduction: str) -> Tensor:
    slope: Tensor = MULTILABEL_DERIVATIVE(self, target)
    rows = self._array.shape[0] if self._array.ndim == 2 else 1
    each = spread(g, reduction, max(rows, 1))
    return slope * (each.reshape(-1, 1) if reduction == "none" and self._array.ndim == 2 else each)


MULTILABEL_MARGIN_LOSS = Op(
    "multilabel_margin_loss", _multilabel_margin, grads={"self": _multilabel_gradient}
)


@typed
@casts(FLOAT32)
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What each label's score lacks of exceeding that of every other class by 1.

    Args:
        input: scores (N, C) or (C)
        target: the labels of each row, ended by -1, of the input's shape
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> scores = clew.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> F.multilabel_margin_loss(scores, clew.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    shape = input._array.shape
    if len(shape) > 2 or 0 in shape[1:] or shape == (0,):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{errors.shape_list(shape)}" + errors.at_user_line()
        )
    if target._array.shape != shape:
        raise RuntimeError(
            f"inconsistent target size: {errors.shape_list(target._array.shape)} for input of "
            f"size: {errors.shape_list(shape)}" + errors.at_user_line()
        )
    count = shape[-1] if shape else 1
    if of_values(lambda labels: bool(((labels < -1) | (labels >= count)).any()), target):
        raise RuntimeError("argument #2 'target' is out of range" + errors.at_user_line())
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise errors.no_kernel("multilabel_margin_loss_forward_out_frame", input.dtype)
    if target.dtype is not dtypes.int64:
        raise RuntimeError(
            f"expected scalar type Long but found {target.dtype.scalar_name}"
            + errors.at_user_line()
        )
    result: Tensor = MULTILABEL_MARGIN_LOSS(input, target, reduction=reduction)
    return result
