"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.exponential import Exponential
from clew.distributions.transformed_distribution import TransformedDistribution
from clew.distributions.transforms import AffineTransform, PowerTransform
from clew.distributions.utils import broadcast_all, euler_constant
from clew.ops.create.constants import ones_like

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """A power of an exponential variable, stretched by `scale`.

    Args:
        scale: the unit of the values; positive
        concentration: the shape parameter: below 1, failures become rarer with age, above it more
            frequent
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Weibull
        >>> Weibull(clew.tensor(2.), clew.tensor([1., 2.])).mean
        tensor([2.0000, 1.7725])
    """

    arg_constraints: ClassVar = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms: list[Any] = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def concentration_reciprocal(self) -> Tensor:
        return self.concentration.reciprocal()

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + self.concentration_reciprocal).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        fraction = (self.concentration - 1) / self.concentration
        return self.scale * fraction**self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        second = (1 + 2 * self.concentration_reciprocal).lgamma().exp()
        squared_first = (2 * (1 + self.concentration_reciprocal).lgamma()).exp()
        return self.scale.pow(2) * (second - squared_first)

    def entropy(self) -> Tensor:
        reciprocal = self.concentration_reciprocal
        return euler_constant * (1 - reciprocal) + (self.scale * reciprocal).log() + 1
