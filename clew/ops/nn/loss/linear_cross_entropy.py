"""Cross entropy of a linear layer's scores."""

from __future__ import annotations

from clew import errors
from clew.core.tensor import Tensor
from clew.ops.nn.linear import linear
from clew.ops.nn.loss.classification import cross_entropy


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
    options: object = None,
) -> Tensor:
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`.

    A weight of more than two dimensions gives scores (N, C, d1, ...) from inputs (N, features).

    Args:
        input: (N, features)
        linear_weight, linear_bias: of the linear layer
        target, weight, reduction, ignore_index, label_smoothing: as in `cross_entropy`
        options: how PyTorch may split the work; here it is done in one piece, and half precision
            is computed in float32

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
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    narrow = input.dtype
    if options is not None and narrow.is_floating_point and narrow.itemsize < 4:
        # In pieces, PyTorch adds up in single precision.
        input, linear_weight = input.float(), linear_weight.float()
        bias = None if bias is None else bias.float()
        weight = None if weight is None else weight.float()
        target = target.float() if target.dtype is narrow else target
    scores = linear(input, linear_weight.reshape(-1, features), bias)
    if len(out_shape) > 1:
        scores = scores.reshape(*scores._array.shape[:-1], *out_shape)
    loss = cross_entropy(
        scores, target, weight, ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction, label_smoothing=label_smoothing,
    )  # fmt: skip
    return loss if loss.dtype is narrow else loss.to(narrow)


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
