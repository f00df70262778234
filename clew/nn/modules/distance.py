"""Layers that compare two batches of vectors."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module

__all__ = ["PairwiseDistance", "CosineSimilarity"]


class PairwiseDistance(Module):
    """The p-norm of the difference of each two vectors.

    Args:
        p: the order of the norm
        eps: what is added to every difference, so that the gradient is finite
        keepdim: keep the last dimension, with size 1

    Shape: two of (*, D) to (*), or (*, 1) with `keepdim`

    Example:
        >>> nn.PairwiseDistance()(clew.tensor([[3.0, 4.0]]), clew.zeros(1, 2))
        tensor([5.0000])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between each two vectors along `dim`.

    Args:
        dim: the dimension of the vectors
        eps: a lower bound for their lengths

    Shape: two of (*, D, *) to (*, *)

    Example:
        >>> nn.CosineSimilarity()(clew.tensor([[1.0, 1.0]]), clew.tensor([[1.0, 0.0]]))
        tensor([0.7071])
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
