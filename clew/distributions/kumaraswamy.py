"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.transformed_distribution import TransformedDistribution
from clew.distributions.transforms import AffineTransform, PowerTransform
from clew.distributions.uniform import Uniform
from clew.distributions.utils import broadcast_all, euler_constant
from clew.ops.create.constants import full_like

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """A distribution on [0, 1] like beta, whose cdf is 1 - (1 - x^a)^b.

    Args:
        concentration1: a; positive
        concentration0: b; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Kumaraswamy
        >>> Kumaraswamy(clew.tensor(2.), clew.tensor(1.)).cdf(clew.tensor(0.5))
        tensor(0.2500)
    """

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zero, one = full_like(self.concentration0, 0), full_like(self.concentration0, 1)
        super().__init__(
            Uniform(zero, one, validate_args=validate_args),
            [
                PowerTransform(exponent=self.concentration0.reciprocal()),
                AffineTransform(loc=1.0, scale=-1.0),
                PowerTransform(exponent=self.concentration1.reciprocal()),
            ],
            validate_args=validate_args,
        )

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        ratio = 1 + n / a
        return b * (ratio.lgamma() + b.lgamma() - (ratio + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return mode.masked_fill((a < 1) | (b < 1), math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
