"""The Pareto distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.exponential import Exponential
from clew.distributions.transformed_distribution import TransformedDistribution
from clew.distributions.transforms import AffineTransform, ExpTransform
from clew.distributions.utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The Pareto distribution from `scale` on, with tail exponent `alpha`.

    Args:
        scale: the smallest value; positive
        alpha: how fast the tail falls: P(X > x) = (scale / x)^alpha; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Pareto
        >>> d = Pareto(clew.tensor(1.), clew.tensor(2.))
        >>> d.cdf(clew.tensor([1., 2.]))
        tensor([0.0000, 0.7500])
    """

    arg_constraints: ClassVar = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        stretch = AffineTransform(loc=0, scale=self.scale)
        super().__init__(base, [ExpTransform(), stretch], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        # Clamping makes the mean infinite where the tail is too heavy.
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
