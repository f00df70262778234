"""Losses as layers: their settings are attributes, their weights are buffers."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.loss_base import _Loss, _WeightedLoss
from clew.nn.modules.loss_classification import (
    CrossEntropyLoss,
    LinearCrossEntropyLoss,
    LinearCrossEntropyOptions,
    NLLLoss,
    NLLLoss2d,
)
from clew.nn.modules.loss_margin import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)

__all__ = [
    "L1Loss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "GaussianNLLLoss",
    "KLDivLoss",
    "MSELoss",
    "BCELoss",
    "BCEWithLogitsLoss",
    "HingeEmbeddingLoss",
    "MultiLabelMarginLoss",
    "SmoothL1Loss",
    "HuberLoss",
    "SoftMarginLoss",
    "CrossEntropyLoss",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "MultiLabelSoftMarginLoss",
    "CosineEmbeddingLoss",
    "MarginRankingLoss",
    "MultiMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "CTCLoss",
]


# -- element by element --------------------------------------------------------------------


class L1Loss(_Loss):
    """The absolute difference.

    Args:
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: two of any shape; the output's is () or, with "none", the same

    Example:
        >>> nn.L1Loss()(clew.tensor([1.0, 2.0]), clew.tensor([1.0, 5.0]))
        tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference.

    Args:
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: two of any shape; the output's is () or, with "none", the same

    Example:
        >>> nn.MSELoss()(clew.tensor([1.0, 2.0]), clew.tensor([1.0, 5.0]))
        tensor(4.5000)
        >>> nn.MSELoss(reduction="none")(clew.tensor([1.0, 2.0]), clew.tensor([1.0, 5.0]))
        tensor([0., 9.])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared below `beta`, absolute above, joined smoothly.

    Args:
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them
        beta: where the one passes into the other

    Shape: two of any shape; the output's is () or, with "none", the same

    Example:
        >>> nn.SmoothL1Loss(reduction="none")(clew.tensor([0.5, 3.0]), clew.zeros(2))
        tensor([0.1250, 2.5000])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squared below `delta`, absolute above: `delta` times `SmoothL1Loss`.

    Args:
        reduction: "mean" or "sum" of all losses, or "none": each of them
        delta: where the one passes into the other

    Shape: two of any shape; the output's is () or, with "none", the same

    Example:
        >>> nn.HuberLoss(reduction="none", delta=2.0)(clew.tensor([0.5, 3.0]), clew.zeros(2))
        tensor([0.1250, 4.0000])
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (float, int)):
            raise TypeError(
                f"delta must be a float or int, got: {type(delta)}" + errors.at_user_line()
            )
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(_WeightedLoss):
    """The cross entropy of probabilities of two classes.

    Args:
        weight: a factor for each loss, which broadcasts
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: two of any shape; the output's is () or, with "none", the same

    Example:
        >>> nn.BCELoss()(clew.tensor([0.9, 0.2]), clew.tensor([1.0, 0.0]))
        tensor(0.1643)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of the sigmoid of the input, computed without overflow.

    Args:
        weight: a factor for each loss, which broadcasts
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean" or "sum" of all losses, or "none": each of them
        pos_weight: a factor for the targets that are 1, such as how much rarer they are

    Shape: two of any shape; the output's is () or, with "none", the same

    Example:
        >>> nn.BCEWithLogitsLoss()(clew.tensor([100.0, -1.0]), clew.tensor([1.0, 0.0]))
        tensor(0.1566)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


# -- divergences and likelihoods -----------------------------------------------------------


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of log-probabilities from a target.

    Args:
        size_average, reduce: deprecated; see `reduction`
        reduction: "mean", "sum", "none", or "batchmean": the sum divided by the batch, which is the
            divergence
        log_target: whether the target is log-probabilities, too

    Shape: two of any shape; the output's is () or, with "none", the same

    Example:
        >>> guess = clew.log_softmax(clew.tensor([[0.0, 1.0]]), dim=1)
        >>> nn.KLDivLoss(reduction="batchmean")(guess, clew.tensor([[0.5, 0.5]]))
        tensor(0.1201)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """The negative log likelihood of counts under a Poisson distribution.

    Args:
        log_input: whether the input is the logarithm of the rate
        full: add Stirling's approximation of the term that depends on the target alone
        size_average, reduce: deprecated; see `reduction`
        eps: what is added to the rate before its logarithm, if `log_input` is False
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: two of any shape; the output's is () or, with "none", the same

    Example:
        >>> nn.PoissonNLLLoss()(clew.tensor([0.0, 1.0]), clew.tensor([1.0, 3.0]))
        tensor(0.3591)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log likelihood of the target under normal distributions.

    Args:
        full: add the constant, half the logarithm of 2 pi
        eps: a lower bound for the variances
        reduction: "mean" or "sum" of all losses, or "none": each of them

    Shape: means, targets (N, *), and variances of that shape or with a last dimension of 1, to ()

    Example:
        >>> mean, target, variance = clew.tensor([0.0, 1.0]), clew.tensor([1.0, 1.0]), clew.ones(2)
        >>> nn.GaussianNLLLoss()(mean, target, variance)
        tensor(0.2500)
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class CTCLoss(_Loss):
    """The negative log likelihood of a sequence of labels over all its alignments.

    Args:
        blank: the class that stands for no label
        reduction: "mean": each loss divided by the length of its target, then the mean over the
            batch; "sum"; or "none"
        zero_infinity: make losses of targets that are too long for their input 0, not infinite

    Shape: log-probabilities (T, N, C), targets (N, S) or all in one row, and the lengths (N) of
        both, to ()

    Example:
        >>> _ = clew.manual_seed(0)
        >>> log_probs = clew.randn(10, 2, 5).log_softmax(2)
        >>> targets = clew.tensor([[1, 2, 3], [4, 4, 0]])
        >>> nn.CTCLoss()(log_probs, targets, (10, 10), (3, 2)).shape
        torch.Size([])
    """

    __constants__ = ["blank", "reduction"]

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor,
        target_lengths: Tensor,
    ) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths,
            self.blank, self.reduction, self.zero_infinity,
        )  # fmt: skip
