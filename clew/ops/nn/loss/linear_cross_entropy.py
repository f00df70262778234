"""`linear_cross_entropy`: the cross entropy of a linear layer's scores, all or some at a time."""

from __future__ import annotations

import warnings
from typing import Any

from clew import errors
from clew.backend import dtypes
from clew.core.state import local
from clew.core.tensor import Tensor
from clew.ops.nn.linear import linear
from clew.ops.nn.loss.classification import cross_entropy
from clew.ops.shape.joining import cat
from clew.source import user_stacklevel


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`.

    A weight of more than two dimensions gives scores (N, C, d1, ...) from inputs (N, features).

    Args:
        input: (N, features)
        linear_weight, linear_bias: of the linear layer
        target, weight, reduction, ignore_index, label_smoothing: as in `cross_entropy`
        options: `LinearCrossEntropyOptions`: how to split the work; None does it in one piece

    Example:
        >>> F.linear_cross_entropy(clew.zeros(4, 8), clew.zeros(3, 8), clew.tensor([0, 1, 2, 0]))
        tensor(1.0986)
    """
    _check_linear_shapes(input, linear_weight, linear_bias)
    *out_shape, features = linear_weight._array.shape
    if ignore_index is not None and target.shape == (*input._array.shape[:-1], *out_shape):
        raise RuntimeError(
            "ignore_index cannot be specified when target contains probabilities"
            + errors.at_user_line()
        )
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None and _can_split(
        reduction, label_smoothing, target, out_shape, linear_bias
    ):
        return _split_cross_entropy(
            input, linear_weight, linear_bias, target, weight, reduction, ignored, options
        )
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, features), bias)
    if len(out_shape) > 1:
        scores = scores.reshape(*scores._array.shape[:-1], *out_shape)
    return cross_entropy(
        scores, target, weight, ignore_index=ignored, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip


def _check_linear_shapes(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    """What `linear_cross_entropy` asks of the shapes."""
    shape, weight_shape = input._array.shape, linear_weight._array.shape
    if len(shape) not in (1, 2):
        message = f"expected input with dimensionality 1 or 2, got {len(shape)}"
    elif len(weight_shape) < 2:
        message = f"expected linear_weight with dimensionality at least 2, got {len(weight_shape)}"
    elif shape[-1] != weight_shape[-1]:
        message = (
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {shape[-1]} and {weight_shape[-1]}, respectively"
        )
    elif linear_bias is not None and linear_bias._array.shape != weight_shape[:-1]:
        message = f"expected linear_bias shape {weight_shape[:-1]}, got {linear_bias._array.shape}"
    elif len(weight_shape) > 2 and len(shape) == 1:
        message = (
            f"K-dimensional loss defined by linear_weight shape {weight_shape} requires batched "
            f"input, (N, {shape[-1]}), got unbatched input with shape {shape}"
        )
    else:
        return
    raise RuntimeError(message + errors.at_user_line())


def _can_split(
    reduction: str, label_smoothing: float, target: Tensor, out_shape: list[int],
    linear_bias: Tensor | None,
) -> bool:  # fmt: skip
    """Whether options have a meaning for these arguments; where they have none, warn of it."""
    if not label_smoothing and target.dtype is dtypes.int64 and len(out_shape) == 1:
        return True
    bias_shape = None if linear_bias is None else linear_bias._array.shape
    warnings.warn(
        "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
        "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == (). "
        f"Got reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype="
        f"{target.dtype!r}, out_features={tuple(out_shape[1:])}, tracing=False, "
        f"linear_bias.shape={bias_shape}.",
        stacklevel=user_stacklevel(),
    )
    return False


def _split_cross_entropy(
    input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None, target: Tensor,
    weight: Tensor | None, reduction: str, ignored: int, options: Any,
) -> Tensor:  # fmt: skip
    """In the dtype that options ask for, and if no gradient is wanted, some rows at a time."""
    rows = input._array.shape[0] if input._array.ndim == 2 else 1
    classes, features = linear_weight._array.shape
    chosen = options._adjust(rows, features, classes, input.dtype, input.device)
    # The sums of 16-bit numbers that the matrix products make are never rounded to 16 bits.
    compute = dtypes.float64 if chosen.acc_dtype is dtypes.float64 else dtypes.float32
    if input.dtype is dtypes.float64:
        compute = dtypes.float64
    have = input.dtype
    given = (input, linear_weight, linear_bias, weight)
    wants_grad = local.state.grad_enabled and any(
        each is not None and each.requires_grad for each in given
    )
    input, linear_weight = input.to(compute), linear_weight.to(compute)
    linear_bias = None if linear_bias is None else linear_bias.to(compute)
    weight = None if weight is None else weight.to(compute)

    def loss(some: Tensor, wanted: Tensor, how: str) -> Tensor:
        scores = linear(some, linear_weight, linear_bias)
        return cross_entropy(scores, wanted, weight, ignore_index=ignored, reduction=how)

    size = chosen.batch_chunk_size
    if wants_grad or rows <= size or input._array.ndim != 2:
        return loss(input, target, reduction).to(have)
    starts = range(0, rows, size)
    losses = cat([loss(input[i : i + size], target[i : i + size], "none") for i in starts])
    if reduction == "none":
        return losses.to(have)
    total = losses.sum()
    if reduction == "mean":
        counted = target != ignored
        if weight is not None:
            # Not weight[target[counted]], whose shape vmap could not know.
            counted = weight[target.masked_fill(counted.logical_not(), 0)] * counted
        total = total / counted.sum()
    return total.to(have)
