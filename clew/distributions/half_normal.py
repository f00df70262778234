"""The half-normal distribution."""

from __future__ import annotations

import math

from clew.core.tensor import Tensor
from clew.distributions.half import Half
from clew.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The absolute value of a normal variable with mean 0 and deviation `scale`.

    Args:
        scale: the standard deviation of the normal variable; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import HalfNormal
        >>> d = HalfNormal(clew.tensor(1.))
        >>> d.mean, d.stddev
        (tensor(0.7979), tensor(0.6028))
    """

    _whole = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
