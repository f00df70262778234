"""Softmax over very many classes, with rare classes in clusters of smaller layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.container import ModuleList, Sequential
from clew.nn.modules.linear import Linear
from clew.nn.modules.module import Module
from clew.ops.shape.joining import cat

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes that are numbered from the most to the least frequent.

    The head scores the classes below the first cutoff and one entry for each cluster of rarer
    classes; the tail holds, for each cluster, a layer to fewer features and one to its classes.

    Args:
        in_features: the size of the input's last dimension
        n_classes: the number of classes
        cutoffs: the first class of each cluster, increasing
        div_value: each cluster has so many times fewer features than the one before
        head_bias: whether the head has a bias
        device, dtype: of the parameters

    Shape: (N, in_features) and targets (N) to (output, loss): log-probabilities (N) of the targets,
        and ()

    Example:
        >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, n_classes=20, cutoffs=[5, 10])
        >>> output, loss = layer(clew.zeros(3, 16), clew.tensor([0, 7, 19]))
        >>> output.shape, loss.shape
        (torch.Size([3]), torch.Size([]))
        >>> layer.log_prob(clew.zeros(3, 16)).shape
        torch.Size([3, 20])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(self._clusters()):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, width, False, device, dtype),
                    Linear(width, high - low, False, device, dtype),
                )
            )

    def _clusters(self) -> list[tuple[int, int]]:
        """The first class of each cluster, and the one after its last."""
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for to_features, to_classes in self.tail:
            to_features.reset_parameters()
            to_classes.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check_target(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        head = F.log_softmax(self.head(input), 1)
        output = self._log_probabilities(input, target, head)
        if not batched:
            output = output.squeeze(0)
        return _ASMoutput(output, (-output).mean())

    def _log_probabilities(self, input: Tensor, target: Tensor, head: Tensor) -> Tensor:
        """The log-probability of each row's target, computing only the clusters that occur."""
        # Where to read in the head: the class itself, or the entry of its cluster.
        column = target.clone()
        within = input.new_zeros(target.shape[0])
        for i, (low, high) in enumerate(self._clusters()):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(-1)
            if not rows.numel():
                continue
            column[rows] = self.shortlist_size + i
            scores = F.log_softmax(self.tail[i](input.index_select(0, rows)), 1)
            own = (target.index_select(0, rows) - low).unsqueeze(1)
            within = within.index_copy(0, rows, scores.gather(1, own.long()).squeeze(1))
        return within + head.gather(1, column.long().unsqueeze(1)).squeeze(1)

    def _check_target(self, input: Tensor, target: Tensor) -> None:
        if target.dim() > 1:
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported"
                + errors.at_user_line()
            )
        if target.dim() == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension."
                + errors.at_user_line()
            )
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but "
                f"found inputs with size {input.shape}" + errors.at_user_line()
            )
        if not target.numel():
            return
        low, high = int(target.min()), int(target.max())
        if low < 0 or high >= self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{low}, {high}] were found. " + errors.at_user_line()
            )

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """Log-probabilities of all classes, from what the head puts out."""
        head = F.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for i, layers in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(layers(input), 1) + cluster)
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes for each row of the input."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row; clusters are computed only for rows in need."""
        head = self.head(input)
        best = head.argmax(1)
        unsure = best >= self.shortlist_size
        if unsure.any():
            full = self._get_full_log_prob(input[unsure], head[unsure])
            best[unsure] = full.argmax(1)
        return best


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError(
            "cutoffs should be a sequence of length larger than 0" + errors.at_user_line()
        )
    whole = all(int(cutoff) == cutoff for cutoff in cutoffs)
    rising = all(low < high for low, high in zip([0, *cutoffs], [*cutoffs, n_classes], strict=True))
    if not whole or not rising:
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            f"order, where each value is between 1 and n_classes-1, but got {cutoffs} with "
            f"n_classes={n_classes}" + errors.at_user_line()
        )
