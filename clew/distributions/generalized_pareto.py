"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.parametrized import Parametrized
from clew.ops.create.constants import zeros_like
from clew.ops.create.random import rand
from clew.ops.pointwise.clamping import where

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Parametrized):
    """Excesses over the threshold `loc`, with tail index `concentration`.

    A positive index gives a heavy tail, zero an exponential one, a negative one a finite end.

    Args:
        loc: the threshold, the smallest value
        scale: the unit of the excesses; positive
        concentration: the tail index
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import GeneralizedPareto
        >>> d = GeneralizedPareto(clew.tensor(1.), clew.tensor(1.), clew.tensor([0., 0.5]))
        >>> d.cdf(clew.tensor(3.))
        tensor([0.8647, 0.7500])
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self._broadcast_parameters(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = self.loc - self.scale / self.concentration
        upper = where(self.concentration < 0, end, math.inf)
        return constraints.interval(self.loc, upper)

    def _is_exponential(self) -> Tensor:
        return self.concentration.isclose(zeros_like(self.concentration))

    def _safe_index(self) -> Tensor:
        """The tail index, with 1 where it is zero and the exponential formulas are used."""
        return self.concentration.masked_fill(self._is_exponential(), 1.0)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of values above `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z, index = self._z(value), self._safe_index()
        return where(self._is_exponential(), -z, -(index * z).log1p() / index)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        index = self._safe_index()
        tail = -(-value).log1p()
        excess = where(self._is_exponential(), tail, (index * tail).expm1() / index)
        return self.loc + self.scale * excess

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, index = self._z(value), self._safe_index()
        power = (1 + 1 / index) * (index * z).log1p()
        return -self.scale.log() - where(self._is_exponential(), z, power)

    @property
    def mean(self) -> Tensor:
        mean = self.loc + self.scale / (1 - self.concentration)
        return where(self.concentration < 1, mean, math.nan)

    @property
    def variance(self) -> Tensor:
        index = self.concentration
        variance = self.scale**2 / ((1 - index) ** 2 * (1 - 2 * index))
        return where(index < 0.5, variance, math.nan)

    def entropy(self) -> Tensor:
        entropy = self.scale.log() + self.concentration + 1
        return entropy.broadcast_to(self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc
