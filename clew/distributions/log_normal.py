"""The log-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.normal import Normal
from clew.distributions.transformed_distribution import TransformedDistribution, of_base
from clew.distributions.transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The exponential of a normal variable with mean `loc` and deviation `scale`.

    Args:
        loc: the mean of the logarithm
        scale: the standard deviation of the logarithm; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import LogNormal
        >>> d = LogNormal(clew.tensor(0.), clew.tensor(1.))
        >>> d.mode, d.mean
        (tensor(0.3679), tensor(1.6487))
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    loc = of_base("loc")
    scale = of_base("scale")

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
