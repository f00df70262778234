"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from clew.core.tensor import Tensor
from clew.distributions.cauchy import Cauchy
from clew.distributions.half import Half
from clew.ops.create.constants import full

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute value of a Cauchy variable around 0.

    Args:
        scale: the median, half the width of the Cauchy variable at half its height; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import HalfCauchy
        >>> HalfCauchy(clew.tensor(2.)).cdf(clew.tensor([0., 2.]))
        tensor([0.0000, 0.5000])
    """

    _whole = Cauchy

    @property
    def mean(self) -> Tensor:
        kind, device = self.scale.dtype, self.scale.device
        return full(self._extended_shape(), math.inf, dtype=kind, device=device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
