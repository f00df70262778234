"""Losses that ask for a margin between scores, or between distances."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.distance import PairwiseDistance
from clew.nn.modules.loss_base import _Loss, _WeightedLoss


class _MarginLoss(_Loss):
    """A loss that asks for a margin."""

    __constants__ = ["margin", "reduction"]
    margin: float

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """The input where the target is 1; what it lacks of the margin where the target is -1.

    Args:
        margin: the distance that pairs with target -1 should have
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: inputs and targets of one shape, to ()

    Example:
        >>> nn.HingeEmbeddingLoss(reduction="none")(clew.tensor([0.3, 0.3]), clew.tensor([1, -1]))
        tensor([0.3000, 0.7000])
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cos where the target is 1; what cos exceeds the margin by where it is -1.

    Args:
        margin: the cosine that pairs with target -1 may have, from -1 to 1
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: two of (N, D) and targets (N), to ()

    Example:
        >>> first, second = clew.tensor([[1.0, 0.0]]), clew.tensor([[1.0, 1.0]])
        >>> nn.CosineEmbeddingLoss()(first, second, clew.tensor([1]))
        tensor(0.2929)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_MarginLoss):
    """What the first input lacks of being larger (target 1) or smaller (-1) by the margin.

    Args:
        margin: how much larger or smaller it should be
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: two inputs and targets of one shape, to ()

    Example:
        >>> first, second = clew.tensor([1.0, 1.0]), clew.tensor([0.0, 2.0])
        >>> nn.MarginRankingLoss(margin=0.5)(first, second, clew.tensor([1, 1]))
        tensor(0.7500)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)) for targets of 1 and -1.

    Args:
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: inputs and targets of one shape, to ()

    Example:
        >>> nn.SoftMarginLoss()(clew.tensor([2.0, -2.0]), clew.tensor([1.0, -1.0]))
        tensor(0.1269)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """What each label's score lacks of exceeding that of every other class by 1.

    Args:
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: scores (N, C) and labels (N, C), where -1 ends a row's labels, to ()

    Example:
        >>> scores = clew.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> nn.MultiLabelMarginLoss()(scores, clew.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the cross entropy of each class against its absence.

    Args:
        weight: a factor for each class
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: scores (N, C) and targets (N, C) of 0 and 1, to ()

    Example:
        >>> nn.MultiLabelSoftMarginLoss()(clew.tensor([[2.0, -2.0]]), clew.tensor([[1.0, 0.0]]))
        tensor(0.1269)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """What the target's score lacks of exceeding every other score by the margin.

    Args:
        p: the power of what is lacking, 1 or 2
        margin: how much higher the score should be
        weight: a factor for each class
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: scores (N, C) and classes (N), or (C) and (), to ()

    Example:
        >>> nn.MultiMarginLoss()(clew.tensor([[0.1, 0.2, 0.9]]), clew.tensor([2]))
        tensor(0.1667)
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported" + errors.at_user_line())
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D "
                "instead" + errors.at_user_line()
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, self.p, self.margin, self.weight, reduction=self.reduction
        )


class _TripletLoss(_MarginLoss):
    """A loss over an anchor, and what should be near it and far from it."""

    def __init__(self, margin: float, swap: bool, *reduction: Any) -> None:
        super().__init__(margin, *reduction)
        if margin <= 0:
            raise ValueError(
                f"{type(self).__name__}: expected margin to be greater than 0, got {margin} "
                "instead" + errors.at_user_line()
            )
        self.swap = swap


class TripletMarginLoss(_TripletLoss):
    """What the negative lacks of being further from the anchor than the positive by the margin.

    Args:
        margin: how much further it should be
        p: the order of the norm
        eps: what is added to every difference, so that the gradient is finite
        swap: take the positive in place of the anchor where it is nearer to the negative
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: three of (N, D) or (D), to ()

    Example:
        >>> near, far = clew.tensor([[0.0, 1.0]]), clew.tensor([[0.0, 1.5]])
        >>> nn.TripletMarginLoss()(clew.zeros(1, 2), near, far)
        tensor(0.5000)
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, swap, size_average, reduce, reduction)
        self.p = p
        self.eps = eps

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class TripletMarginWithDistanceLoss(_TripletLoss):
    """`TripletMarginLoss` with any distance.

    Args:
        distance_function: of two tensors; None is `PairwiseDistance`
        margin: how much further the negative should be
        swap: take the positive in place of the anchor where it is nearer to the negative
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: three of (N, D), to ()

    Example:
        >>> loss = nn.TripletMarginWithDistanceLoss(
        ...     distance_function=lambda x, y: 1 - F.cosine_similarity(x, y)
        ... )
        >>> first, second = clew.tensor([[1.0, 0.0]]), clew.tensor([[0.0, 1.0]])
        >>> loss(first, first, second)
        tensor(0.)
    """

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, swap, None, None, reduction)
        self.distance_function = (
            PairwiseDistance() if distance_function is None else (distance_function)
        )

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip
