"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from clew.core.tensor import Tensor
from clew.distributions.cauchy import Cauchy
from clew.distributions.half import Half
from clew.ops.create.constants import full

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute value of a Cauchy variable around 0."""

    _whole = Cauchy

    @property
    def mean(self) -> Tensor:
        kind, device = self.scale.dtype, self.scale.device
        return full(self._extended_shape(), math.inf, dtype=kind, device=device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
