"""Losses of scores for classes."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

import warnings
from math import prod
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.linear import Linear
from clew.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from clew.nn.modules.loss_base import _WeightedLoss
from clew.source import user_stacklevel


class _ClassLoss(_WeightedLoss):
    """A loss over classes, with one index whose targets do not count."""

    __constants__ = ["ignore_index", "reduction"]
    ignore_index: int

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss(_ClassLoss):
    """The negative of the log-probability of the target class.

    Args:
        weight: a factor for each class
        size_average: deprecated; see `reduction`
        ignore_index: a target that takes no part
        reduce: deprecated; see `reduction`
        reduction: "mean", weighted by class; "sum"; or "none": each of the losses

    Shape: (N, C, *) and targets (N, *), or (C) and (), to ()

    Example:
        >>> log_probs = clew.log_softmax(clew.tensor([[2.0, 0.0], [0.0, 2.0]]), dim=1)
        >>> nn.NLLLoss()(log_probs, clew.tensor([0, 0]))
        tensor(1.1269)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """Deprecated: the older name of `NLLLoss`."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead: it takes the same "
            "arguments.",
            FutureWarning,
            stacklevel=user_stacklevel(),
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_ClassLoss):
    """The cross entropy of the softmax of scores and a target: class indices or probabilities.

    Args:
        weight: a factor for each class
        size_average: deprecated; see `reduction`
        ignore_index: a class index that takes no part
        reduce: deprecated; see `reduction`
        reduction: "mean", weighted by class; "sum"; or "none": each of the losses
        label_smoothing: how much of the target goes to all classes alike, from 0 to 1

    Shape: scores (N, C, *) and class indices (N, *) or probabilities (N, C, *), to ()

    Example:
        >>> scores = clew.tensor([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        >>> nn.CrossEntropyLoss()(scores, clew.tensor([0, 1]))
        tensor(0.2395)
        >>> nn.CrossEntropyLoss()(scores, clew.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]))
        tensor(0.7395)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, ignore_index, reduce, reduction)
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input, target, self.weight, ignore_index=self.ignore_index,
            reduction=self.reduction, label_smoothing=self.label_smoothing,
        )  # fmt: skip


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of the scores of a linear layer that the loss itself owns.

    Args:
        in_features: the size of the input's last dimension
        num_classes: the number of classes
        out_features: sizes of further dimensions of the scores, (N, num_classes, *out_features)
        bias: whether the linear layer has a bias
        device, dtype: of the parameters
        reduction: "mean", weighted by class; "sum"; or "none": each of the losses
        weight: a factor for each class
        ignore_index: a class index that takes no part
        label_smoothing: how much of the target goes to all classes alike, from 0 to 1
        options: how the work is split; None does it in one piece

    Shape: (N, in_features) and targets (N, *out_features), to ()

    Example:
        >>> loss = nn.LinearCrossEntropyLoss(8, 3)
        >>> loss(clew.zeros(4, 8), clew.tensor([0, 1, 2, 0]))
        tensor(1.0986, grad_fn=<NllLossBackward0>)
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be ({num_classes},), got {tuple(weight.shape)}"
                + errors.at_user_line()
            )
        if not 0.0 <= label_smoothing <= 1.0:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
                + errors.at_user_line()
            )
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.linear = Linear(
            in_features, num_classes * prod(self.out_features), bias, device, dtype
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*shape, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight,
            reduction=self.reduction, ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
