"""The gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.backend.dtypes import finfo
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.parametrized import Parametrized
from clew.ops.create.sampling import standard_gamma
from clew.ops.pointwise.special import igamma, xlogy

__all__ = ["Gamma"]


class Gamma(Parametrized, ExponentialFamily):
    """The gamma distribution with shape `concentration` and inverse scale `rate`.

    Args:
        concentration: the shape parameter, often called alpha; positive
        rate: the inverse of the scale, often called beta; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Gamma
        >>> d = Gamma(clew.tensor(3.), clew.tensor(2.))
        >>> d.mean, d.mode, d.variance
        (tensor(1.5000), tensor(1.), tensor(0.7500))
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._broadcast_parameters(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # Zero lies outside the domain of the logarithm that log_prob takes.
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = value if isinstance(value, Tensor) else self.rate.new_tensor(value)
        if self._validate_args:
            self._validate_sample(value)
        return (
            xlogy(self.concentration, self.rate)
            + xlogy(self.concentration - 1, value)
            - self.rate * value
            - self.concentration.lgamma()
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return igamma(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - self.rate.log()
            + self.concentration.lgamma()
            + (1.0 - self.concentration) * self.concentration.digamma()
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
