"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.parametrized import Parametrized
from clew.ops.create.random import rand

__all__ = ["Uniform"]


class Uniform(Parametrized):
    """The uniform distribution on [low, high).

    Args:
        low: the lower end
        high: the upper end, which samples do not reach
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Uniform
        >>> d = Uniform(clew.tensor(0.), clew.tensor(4.))
        >>> d.mean, d.cdf(clew.tensor(1.))
        (tensor(2.), tensor(0.2500))
    """

    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._broadcast_parameters(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        fraction = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + fraction * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        from_low = self.low.le(value).type_as(self.low)
        below_high = self.high.gt(value).type_as(self.low)
        return from_low.mul(below_high).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
