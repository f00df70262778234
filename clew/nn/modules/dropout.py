"""Layers that drop units at random while training."""

# ruff: noqa: RUF012  (`__constants__` is a list, as in PyTorch)

from __future__ import annotations

from clew import errors
from clew.core.tensor import Tensor
from clew.nn import functional as F
from clew.nn.modules.module import Module

__all__ = [
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "AlphaDropout",
    "FeatureAlphaDropout",
]


class _DropoutNd(Module):
    """What all forms of dropout share: the probability, and whether they write in place."""

    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(
                f"dropout probability has to be between 0 and 1, but got {p}"
                + errors.at_user_line()
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes each element with probability `p` and scales the others by 1 / (1 - p).

    In evaluation it returns its input.

    Args:
        p: how likely an element becomes 0
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> _ = clew.manual_seed(0)
        >>> nn.Dropout(0.5)(clew.ones(6))
        tensor([0., 0., 2., 0., 0., 0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, L) or (C, L).

    Args:
        p: how likely a channel becomes 0
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> _ = clew.manual_seed(0)
        >>> nn.Dropout1d()(clew.ones(3, 2))
        tensor([[0., 0.],
                [0., 0.],
                [2., 2.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, H, W) or (N, C, L).

    Args:
        p: how likely a channel becomes 0
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> _ = clew.manual_seed(0)
        >>> nn.Dropout2d()(clew.ones(1, 3, 1, 2)).flatten(1)
        tensor([[0., 0., 0., 0., 2., 2.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W).

    Args:
        p: how likely a channel becomes 0
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> _ = clew.manual_seed(0)
        >>> nn.Dropout3d()(clew.ones(1, 3, 1, 1, 2)).flatten(1)
        tensor([[0., 0., 0., 0., 2., 2.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


# The two forms below never write in place: in PyTorch they take the argument but do not use it.


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of what `SELU` puts out.

    Args:
        p: how likely an element is dropped, which gives it SELU's lowest value
        inplace: overwrite the input with the result

    Shape: any; the output's is the same

    Example:
        >>> _ = clew.manual_seed(0)
        >>> nn.AlphaDropout()(clew.zeros(4))
        tensor([-0.7792, -0.7792,  0.7792, -0.7792])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    Args:
        p: how likely a channel is dropped
        inplace: overwrite the input with the result

    Shape: (N, C, ...), the same out

    Example:
        >>> _ = clew.manual_seed(0)
        >>> nn.FeatureAlphaDropout()(clew.zeros(1, 2, 3))
        tensor([[[-0.7792, -0.7792, -0.7792],
                 [-0.7792, -0.7792, -0.7792]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
