"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.gamma import Gamma
from clew.distributions.transformed_distribution import TransformedDistribution, of_base
from clew.distributions.transforms import PowerTransform
from clew.ops.pointwise.clamping import where

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma variable.

    Args:
        concentration: the shape parameter of the gamma variable; positive
        rate: its inverse scale; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import InverseGamma
        >>> d = InverseGamma(clew.tensor(3.), clew.tensor(2.))
        >>> d.mean, d.mode
        (tensor(1.), tensor(0.5000))
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        reciprocal = PowerTransform(base.rate.new_tensor(-1.0))
        super().__init__(base, reciprocal, validate_args=validate_args)

    concentration = of_base("concentration")
    rate = of_base("rate")

    @property
    def mean(self) -> Tensor:
        mean = self.rate / (self.concentration - 1)
        return where(self.concentration > 1, mean, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        variance = (self.rate / (self.concentration - 1)).square() / (self.concentration - 2)
        return where(self.concentration > 2, variance, math.inf)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            + self.rate.log()
            + self.concentration.lgamma()
            - (1 + self.concentration) * self.concentration.digamma()
        )
