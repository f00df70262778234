"""The half-normal distribution."""

from __future__ import annotations

import math

from clew.core.tensor import Tensor
from clew.distributions.half import Half
from clew.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The absolute value of a normal variable with mean 0 and deviation `scale`."""

    _whole = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
