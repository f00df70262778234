"""Losses over classes: nll_loss and cross_entropy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.casting import FLOAT32, casts
from clew.core.elementwise import F32, F64
from clew.core.op import Op
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.kernels.codegen.ir import F32 as F32_ROW
from clew.kernels.codegen.ir import F64 as F64_ROW
from clew.kernels.codegen.ir import I32, I64, position, where
from clew.kernels.codegen.ufunc import over_rows
from clew.kernels.numpy.arrays import are_below, row_by_row, widened
from clew.ops.define.rows import refuse_gradient, require_tensors
from clew.ops.define.zero_share import zero_share
from clew.ops.nn.activation.softmax import LOG_SOFTMAX, log_softmax
from clew.ops.nn.loss.reduction import asked_reduction

Array = np.ndarray
Shape = tuple[int, ...]


def safe_classes(target: Array, classes: int, ignore_index: int) -> tuple[Array, Array | None]:
    """Targets with the ignored ones replaced by class 0, and which count; None if all do."""
    if target.size and are_below(target, classes):
        counts = target != ignore_index if 0 <= ignore_index < classes else None
        return target, counts if counts is None or not counts.all() else None
    counts = target != ignore_index
    bad = counts & ((target < 0) | (target >= classes))
    if bad.any():
        raise IndexError(f"Target {target[bad][0]} is out of bounds." + errors.at_user_line())
    return np.where(counts, target, 0), counts


def _places(shape: Shape, classes: Array) -> Array:
    """Where the scores of one class at each place are among all scores, counted row by row."""
    inner = math.prod(shape[2:])
    step = shape[1] * inner
    places: Array = np.arange(0, shape[0] * step, step) if step else np.zeros(shape[0], np.int64)
    if len(shape) > 2:
        places = places[:, None] + np.arange(inner)
        classes = classes.reshape(shape[0], inner).astype(np.int64, copy=False) * inner
    return np.add(places, classes, dtype=np.int64)


def _of_class(scores: Array, classes: Array) -> Array:
    """The score of one class at each place."""
    return scores.reshape(-1).take(_places(scores.shape, classes)).reshape(classes.shape)


def _class_weights(target: Array, counts: Array | None, weight: Array | None) -> Array | None:
    """The weight of each target; None where all have weight 1."""
    if weight is None:
        return counts
    weights = widened(weight)[target]
    return weights if counts is None else np.where(counts, weights, 0)


def _total(target: Array, weights: Array | None, dtype: np.dtype) -> Any:
    if weights is None:
        return target.size
    return dtype.type(np.add.reduce(weights, axis=None, dtype=dtype))


def _aligned(self: Array, target: Array) -> tuple[Array, Array]:
    """One sample without a batch dimension becomes a batch of one."""
    if self.ndim == 1:
        return self.reshape(1, -1), target.reshape(1)
    return self, target


def _nll_loss(
    self: Array, target: Array, weight: Array | None, *, reduction: str, ignore_index: int
) -> Array:
    scores, classes = _aligned(self, target)
    safe, counts = safe_classes(classes, scores.shape[1], ignore_index)
    losses = np.negative(widened(_of_class(scores, safe)))
    loss = _reduced(losses, safe, counts, _class_weights(safe, counts, weight), reduction)
    return loss.astype(self.dtype, copy=False).reshape(target.shape if reduction == "none" else ())


def _reduced(
    losses: Array, target: Array, counts: Array | None, weights: Array | None, reduction: str
) -> Array:
    """The loss of a batch, from the losses and weights of its elements, and which of them count."""
    if weights is not None:
        losses = _of_counted(losses * weights, counts)
    if reduction == "none":
        return losses
    loss = np.add.reduce(losses, None)
    if reduction == "mean":
        loss = loss / _total(target, weights, losses.dtype)
    return np.asarray(loss, losses.dtype)


def _of_counted(values: Array, counts: Array | None) -> Array:
    """What is ignored is 0, whatever its score; what has weight 0 is only multiplied by it."""
    return values if counts is None else np.where(counts, values, values.dtype.type(0))


def _nll_loss_backward(
    grad_output: Array,
    target: Array,
    weight: Array | None,
    *,
    reduction: str,
    ignore_index: int,
    shape: Shape,
) -> Array:
    result = np.zeros(shape, grad_output.dtype)
    scores, classes = _aligned(result, target)
    safe, counts = safe_classes(classes, scores.shape[1], ignore_index)
    weights = _class_weights(safe, counts, weight)
    g = np.negative(widened(grad_output))
    if reduction == "mean":
        g = g / _total(safe, weights, g.dtype)
    values: Any = g.reshape(classes.shape) if reduction == "none" else g
    if weights is not None:
        values = _of_counted(np.asarray(values * weights), counts)
    places = _places(scores.shape, safe)
    result.reshape(-1)[places] = values if values.ndim == 0 else values.reshape(places.shape)
    return result


def _nll_loss_gradient(
    g: Any, self: Any, target: Any, weight: Any, reduction: str, ignore_index: int
) -> Any:
    """Of tensors or bare arrays."""
    bare = type(g) is np.ndarray
    result: Any = (_nll_loss_backward if bare else NLL_LOSS_BACKWARD)(
        g, target, weight, reduction=reduction, ignore_index=ignore_index,
        shape=self.shape if bare else self._array.shape,
    )  # fmt: skip
    return result if bare else _NLL_LOSS_SHARE(result, self)


_NLL_LOSS_SHARE = zero_share("NllLossBackwardBackward0")


# The loss is linear in the scores, so the gradient's own gradient is the loss again.
NLL_LOSS_BACKWARD: Op = Op(
    "nll_loss_backward", _nll_loss_backward,
    grads={
        "grad_output": lambda g, target, weight, reduction, ignore_index: NLL_LOSS(
            g, target, weight, reduction=reduction, ignore_index=ignore_index
        )
    },
)  # fmt: skip
NLL_LOSS: Op = Op("nll_loss", _nll_loss, grads={"self": _nll_loss_gradient}, bare=True)
NLL_LOSS2D = Op(
    "nll_loss2d", _nll_loss, grads={"self": _nll_loss_gradient}, node="NllLoss2DBackward0",
    bare=True,
)  # fmt: skip


def _check_target(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    if target.dtype is not dtypes.int64 and target.dtype is not dtypes.uint8:
        raise RuntimeError(
            "expected target dtype to be Long or Byte, but got "
            f"{target.dtype.scalar_name}" + errors.at_user_line()
        )
    shape = input._array.shape
    if target.dtype is dtypes.uint8 and len(shape) > 2:
        raise RuntimeError("expected scalar type Long but found Byte" + errors.at_user_line())
    classes = shape[0] if len(shape) == 1 else shape[1]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {errors.shape_list(weight._array.shape)}"
            + errors.at_user_line()
        )
    if input.dtype.category != dtypes.FLOAT:
        torch_kernel = "nll_loss_out_frame" if len(shape) < 3 else "nll_loss2d_forward_out_frame"
        raise errors.no_kernel(torch_kernel, input.dtype)
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            f"expected scalar type {input.dtype.scalar_name} but found {weight.dtype.scalar_name}"
            + errors.at_user_line()
        )


def _check_flat(shape: Shape, target: Shape) -> None:
    if len(target) > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported" + errors.at_user_line()
        )
    if len(shape) == 1 and target not in ((), (1,)):
        raise ValueError(
            f"For 1D input, 1D target must have size 1, but got target size: {target[0]}"
            + errors.at_user_line()
        )


def _check_batch(shape: Shape, target: Shape) -> None:
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)" + errors.at_user_line())
    if len(shape) != 1 and (not target or shape[0] != target[0]):
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size "
            f"({target[0] if target else 1})." + errors.at_user_line()
        )


def _check_spatial(shape: Shape, target: Shape) -> None:
    if len(shape) == 4 and len(target) != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{len(target)}" + errors.at_user_line()
        )
    if len(shape) == 4 and target[1:] != shape[2:]:
        raise RuntimeError(
            f"size mismatch (got input: {errors.shape_list(shape)} , target: "
            f"{errors.shape_list(target)}" + errors.at_user_line()
        )
    if target[1:] != shape[2:]:
        raise RuntimeError(
            f"Expected target size {errors.shape_list((shape[0], *shape[2:]))}, got "
            f"{errors.shape_list(target)}" + errors.at_user_line()
        )


@typed
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the score of the target class, which is a log-probability as a rule.

    Args:
        input: scores (N, C, *) or (C)
        target: class indices (N, *) or ()
        weight: a factor for each class
        size_average, reduce: deprecated; see `reduction`
        ignore_index: a target that takes no part
        reduction: "mean", weighted by class; "sum"; or "none": each of the losses

    Example:
        >>> F.nll_loss(clew.tensor([[-0.1, -2.0], [-1.0, -0.5]]), clew.tensor([0, 0]))
        tensor(0.5500)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    return _nll(input, target, weight, reduction, ignore_index)


def _nll(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int
) -> Tensor:
    shape, wanted = input._array.shape, target._array.shape
    params: dict[str, Any] = {"reduction": reduction, "ignore_index": ignore_index}
    if weight is None and len(shape) == 2 and wanted == shape[:1]:
        array, classes, state = input._array, target._array, local.state
        if (
            (array.dtype is F32 or array.dtype is F64)
            and classes.dtype is dtypes.int64.np
            and state.intercept is None
        ):
            loss = _nll_loss(array, classes, None, **params)
            return NLL_LOSS.output(state, (input, target, None), params, loss)
    autocast = local.state.autocast
    if autocast is not None:
        cast: Tensor = autocast(FLOAT32, _nll, input, target, weight, reduction, ignore_index)
        return cast
    _check_batch(shape, wanted)
    if weight is not None:
        kernel = "nll_loss_forward" if len(shape) <= 2 else "nll_loss2d_forward"
        refuse_gradient(kernel, weight=weight)
    if len(shape) <= 2:
        _check_flat(shape, wanted)
        _check_target(input, target, weight)
        result: Tensor = NLL_LOSS(input, target, weight, **params)
        return result
    _check_spatial(shape, wanted)
    _check_target(input, target, weight)
    if len(shape) == 4:
        result = NLL_LOSS2D(input, target, weight, **params)
        return result
    n, c = shape[:2]
    rest = int(np.prod(shape[2:]))
    losses = NLL_LOSS2D(input.reshape(n, c, 1, rest), target.reshape(n, 1, rest), weight, **params)
    return losses.reshape(wanted) if reduction == "none" else losses


# -- cross_entropy -------------------------------------------------------------------------


@over_rows(
    "cross_entropy", "(n),()->(n),()", cost=4,
    types=[([each, I64], [each, each]) for each in (F32_ROW, F64_ROW)],
)  # fmt: skip
def _CROSS_ENTROPY_KERNEL(x: Any, target: Any) -> Any:
    """The logarithms of softmax, and minus the one of the target's class."""
    shifted = x - x.row_max()
    rest = shifted.exp_of_negative().row_sum().log()
    of_target = where(position(I32).eq(target.convert(I32)), shifted, 0.0)
    return shifted - rest, rest - of_target.row_sum()


def _by_rows(input: Tensor, target: Tensor, reduction: str, ignore_index: int) -> Tensor:
    """log_softmax and nll_loss of a matrix in one kernel; the graph has both, as always."""
    scores, classes = row_by_row(input._array), target._array
    safe, counts = safe_classes(classes, scores.shape[1], ignore_index)
    scores, losses = _CROSS_ENTROPY_KERNEL.specialize(scores)(scores, safe)
    state, params = local.state, {"reduction": reduction, "ignore_index": ignore_index}
    scored = LOG_SOFTMAX.output(state, (input,), {"dim": 1}, scores)
    loss = _reduced(losses, safe, counts, counts, reduction)
    return NLL_LOSS.output(state, (scored, target, None), params, loss)


def _fits_rows(input: Array, target: Array) -> bool:
    """Whether this is the usual case: a batch of rows of scores, and a class for each."""
    return (
        (input.dtype is F32 or input.dtype is F64)
        and input.ndim == 2
        and target.dtype is dtypes.int64.np
        and target.shape == input.shape[:1]
        and input.size > 0
        and local.state.intercept is None
    )


@typed
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of `softmax(input)` and the target: class indices or probabilities.

    Args:
        input: scores (N, C, *) or (C)
        target: class indices (N, *) or (), or probabilities of the input's shape
        weight: a factor for each class
        size_average, reduce: deprecated; see `reduction`
        ignore_index: a class index that takes no part
        reduction: "mean", weighted by class; "sum"; or "none": each of the losses
        label_smoothing: how much of the target goes to all classes alike, from 0 to 1

    Example:
        >>> scores = clew.tensor([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        >>> F.cross_entropy(scores, clew.tensor([0, 1]))
        tensor(0.2395)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    require_tensors("cross_entropy_loss", input=input, target=target)
    if input._array.shape == target._array.shape:
        _check_probabilities(input, target, weight, ignore_index)
        _check_smoothing(label_smoothing)
        return _with_probabilities(input, target, weight, reduction, label_smoothing)
    _check_smoothing(label_smoothing)
    if weight is None and not label_smoothing and _fits_rows(input._array, target._array):
        return _by_rows(input, target, reduction, ignore_index)
    scores = log_softmax(input, 0 if input._array.ndim == 1 else 1)
    loss = _nll(scores, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return loss
    smooth = _smoothing_loss(scores, target, weight, reduction, ignore_index)
    classes = scores._array.shape[0 if scores._array.ndim == 1 else 1]
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)


def _check_smoothing(label_smoothing: float) -> None:
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}"
            + errors.at_user_line()
        )


def _check_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int
) -> None:
    if not target.dtype.is_floating_point:
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{target.dtype.scalar_name}" + errors.at_user_line()
        )
    if ignore_index >= 0:
        raise RuntimeError(
            "ignore_index is not supported for floating point target" + errors.at_user_line()
        )
    if not input._array.ndim:
        raise IndexError(
            "Dimension specified as 1 but tensor has no dimensions" + errors.at_user_line()
        )
    classes = input._array.shape[0 if input._array.ndim == 1 else 1]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {errors.shape_list(weight._array.shape)}"
            + errors.at_user_line()
        )


def _per_class(weight: Tensor, scores: Tensor) -> Tensor:
    ndim = scores._array.ndim
    if ndim == 1:
        return weight
    result: Tensor = weight.view(1, -1, *(1,) * (ndim - 2))
    return result


@casts(FLOAT32)
def _with_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    class_dim = 0 if input._array.ndim == 1 else 1
    classes = input._array.shape[class_dim]
    scores = log_softmax(input, class_dim)
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    losses = scores * target
    if weight is not None:
        losses = losses * _per_class(weight, scores)
    if reduction == "none":
        return -losses.sum(class_dim)
    total = -losses.sum()
    return total if reduction == "sum" else total / (input._array.size / max(classes, 1))


def _smoothing_loss(
    scores: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int
) -> Tensor:
    """The loss against equal probabilities of all classes, ignored targets left out."""
    class_dim = 0 if scores._array.ndim == 1 else 1
    weighted = scores if weight is None else scores * _per_class(weight, scores)
    if weight is None and reduction != "none" and local.state.intercept is None:
        count = target._array.size
        if count and not (target._array == ignore_index).any():
            whole = -scores.sum()
            return whole if reduction == "sum" else whole / count
    ignored = target == ignore_index
    if class_dim == 0:
        ignored = ignored.reshape(())
    losses = (-weighted.sum(class_dim)).masked_fill(ignored, 0)
    if reduction == "none":
        return losses
    total: Tensor = losses.sum()
    if reduction == "sum":
        return total
    kept = ignored.logical_not()
    if weight is None:
        return total / kept.sum()
    left_out = ignored.reshape(target._array.shape)
    weights = weight[target.masked_fill(left_out, 0).long()].masked_fill(left_out, 0)
    return total / weights.sum()
