"""Losses that ask for a margin between scores, or between distances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clew import errors
from clew.backend import dtypes
from clew.core.arguments import typed
from clew.core.casting import FLOAT32, casts
from clew.core.op import Op
from clew.core.tensor import Tensor
from clew.kernels.numpy.arrays import rounded, widened
from clew.ops.define.rows import refuse_complex_history, refuse_gradient
from clew.ops.nn.activation.unary import logsigmoid
from clew.ops.nn.distance import pairwise_distance
from clew.ops.nn.loss.checks import in_one_dtype, require_same_shape

# Pickles name these functions here.
from clew.ops.nn.loss.multi_margin import (  # noqa: F401
    multi_margin_loss,
    multilabel_margin_loss,
)
from clew.ops.nn.loss.reduction import (
    asked_reduction,
    reduce_loss,
    reduced,
    spread,
)
from clew.ops.shape.broadcasting import broadcast_tensors

Array = np.ndarray
Shape = tuple[int, ...]


# -- margins over pairs and triples --------------------------------------------------------


@typed
@casts(FLOAT32)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1; what it lacks of the margin where the target is -1.

    Args:
        input: distances, as a rule
        target: 1 or -1, of the input's shape
        margin: the distance that pairs with target -1 should have
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> F.hinge_embedding_loss(clew.tensor([0.3, 0.3]), clew.tensor([1, -1]), reduction="none")
        tensor([0.3000, 0.7000])
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    require_same_shape("hinge_embedding_loss", input, target)
    # The margin takes the input's dtype, as in PyTorch: integers are compared with an integer.
    lacking = (input.new_full((), margin) - input).clamp_min(0)
    zero = input.new_zeros(())
    losses = zero.where(target == 1, lacking) + zero.where(target == -1, input)
    return reduce_loss(losses, reduction)


@typed
@casts(FLOAT32)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What the first input lacks of being larger (target 1) or smaller (-1) by the margin.

    Args:
        input1, input2: the two inputs
        target: 1 or -1
        margin: how much larger or smaller it should be
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> first, second = clew.tensor([1.0, 1.0]), clew.tensor([0.0, 2.0])
        >>> F.margin_ranking_loss(first, second, clew.tensor([1, 1]), margin=0.5)
        tensor(0.7500)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    if not input1._array.ndim == input2._array.ndim == target._array.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
            + errors.at_user_line()
        )
    return reduce_loss((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


@typed
@casts(FLOAT32)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1; what cos exceeds the margin by where it is -1.

    Args:
        input1, input2: vectors (N, D) or (D)
        target: 1 or -1, (N) or ()
        margin: the cosine that pairs with target -1 may have
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> first, second = clew.tensor([[1.0, 0.0]]), clew.tensor([[1.0, 1.0]])
        >>> F.cosine_embedding_loss(first, second, clew.tensor([1]))
        tensor(0.2929)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    _check_cosine(input1._array.shape, input2._array.shape, target._array.ndim)
    dim = target._array.ndim
    # A tiny number keeps the quotient finite for zero vectors, as in PyTorch.
    dot = (input1 * input2).sum(dim)
    first, second = (input1 * input1).sum(dim) + 1e-12, (input2 * input2).sum(dim) + 1e-12
    cosine = dot / (first * second).sqrt()
    zero = cosine.new_zeros(())
    alike = zero.where(target != 1, 1 - cosine)
    apart = zero.where(target != -1, (cosine - margin).clamp_min(0))
    return reduce_loss(alike + apart, reduction)


def _check_cosine(first: Shape, second: Shape, target_ndim: int) -> None:
    if target_ndim > 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported" + errors.at_user_line()
        )
    if target_ndim + 1 != len(first) or target_ndim + 1 != len(second):
        raise RuntimeError(
            f"{target_ndim}D target tensor expects {target_ndim + 1}D input tensors, but found "
            f"inputs with sizes {errors.shape_list(first)} and {errors.shape_list(second)}."
            + errors.at_user_line()
        )


def _check_triplet(margin: float, anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}" + errors.at_user_line())
    a, p, n = anchor._array.ndim, positive._array.ndim, negative._array.ndim
    if not a == p == n:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {a}D, positive {p}D, and negative {n}D inputs"
            + errors.at_user_line()
        )


@typed
@casts(FLOAT32)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """What the negative lacks of being further from the anchor than the positive by the margin.

    Args:
        anchor, positive, negative: vectors (N, D) or (D)
        margin: how much further it should be
        p: the order of the norm
        eps: what is added to every difference, so that the gradient is finite
        swap: take the positive in place of the anchor where it is nearer to the negative
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> near, far = clew.tensor([[0.0, 1.0]]), clew.tensor([[0.0, 1.5]])
        >>> F.triplet_margin_loss(clew.zeros(1, 2), near, far)
        tensor(0.5000)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    _check_triplet(margin, anchor, positive, negative)

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance.

    Args:
        anchor, positive, negative: what the distance takes
        distance_function: of two tensors; None is `pairwise_distance`
        margin: how much further the negative should be
        swap: take the positive in place of the anchor where it is nearer to the negative
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> near, far = clew.tensor([[0.0, 1.0]]), clew.tensor([[0.0, 1.5]])
        >>> F.triplet_margin_with_distance_loss(
        ...     clew.zeros(1, 2), near, far, distance_function=lambda x, y: (x - y).abs().sum(1)
        ... )
        tensor(0.5000)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction" + errors.at_user_line())
    _check_triplet(margin, anchor, positive, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    to_positive, to_negative = distance(anchor, positive), distance(anchor, negative)
    if swap:
        to_negative = to_negative.minimum(distance(positive, negative))
    return reduce_loss((to_positive + margin - to_negative).clamp_min(0), reduction)


# -- soft margins --------------------------------------------------------------------------


def _soft_margin(self: Array, target: Array, *, reduction: str) -> Array:
    dtype = self.dtype
    self, target = in_one_dtype(self, target)
    margins = rounded(-widened(target) * widened(self), self.dtype)
    odds = rounded(np.exp(margins), self.dtype)
    return reduced(rounded(np.log1p(odds), self.dtype), reduction, dtype)


def _soft_margin_gradient(g: Tensor, self: Tensor, target: Tensor, reduction: str) -> Tensor:
    size = max(self._array.size, target._array.size)
    return -target * (-target * self).sigmoid() * spread(g, reduction, size)


SOFT_MARGIN_LOSS = Op("soft_margin_loss", _soft_margin, grads={"self": _soft_margin_gradient})


@typed
@casts(FLOAT32)
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) for targets of 1 and -1.

    Args:
        target: 1 or -1, of the input's shape
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> F.soft_margin_loss(clew.tensor([2.0, -2.0]), clew.tensor([1.0, -1.0]))
        tensor(0.1269)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    refuse_gradient("soft_margin_loss", target=target)
    x, y = broadcast_tensors(input, target)
    if x._array.shape != input._array.shape:
        raise errors.in_place_shape(input._array.shape, x._array.shape)
    require_same_shape("soft_margin_loss", input, target)
    common = dtypes.promote_types(x.dtype, y.dtype)
    if input.dtype.category < dtypes.FLOAT:
        computed = common if common.is_floating_point else dtypes.get_default_dtype()
        raise errors.in_place_dtype(computed.scalar_name, input.dtype.scalar_name)
    if not dtypes.can_cast(common, input.dtype):
        raise errors.in_place_dtype(common.scalar_name, input.dtype.scalar_name)
    if input.dtype.is_complex:
        refuse_complex_history("soft_margin_loss", input)
    result: Tensor = SOFT_MARGIN_LOSS(x, y, reduction=reduction)
    return result


@typed
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor | float,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the cross entropy of each class against its absence.

    Args:
        input: scores (N, C)
        target: 1 for the classes that hold and 0 for the others, (N, C)
        weight: a factor for each class
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Example:
        >>> F.multilabel_soft_margin_loss(clew.tensor([[2.0, -2.0]]), clew.tensor([[1.0, 0.0]]))
        tensor(0.1269)
    """
    reduction = asked_reduction(size_average, reduce, reduction)
    if isinstance(target, Tensor):
        require_same_shape("multilabel_soft_margin_loss", input, target)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    class_dim = input._array.ndim - 1
    return reduce_loss(losses.sum(class_dim) / input._array.shape[class_dim], reduction)
