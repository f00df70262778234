"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.parametrized import Parametrized, SymmetricAboutLoc
from clew.distributions.utils import _standard_normal
from clew.ops.create.sampling import normal

__all__ = ["Normal"]


class Normal(SymmetricAboutLoc, Parametrized, ExponentialFamily):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    Args:
        loc: the mean
        scale: the standard deviation; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Normal
        >>> _ = clew.manual_seed(0)
        >>> scale = clew.tensor(2., requires_grad=True)
        >>> Normal(0., scale).rsample().backward()  # the sample is noise * scale
        >>> scale.grad
        tensor(1.5410)
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._broadcast_parameters(validate_args, loc=loc, scale=scale)

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        squared = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -squared - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        standardized = (value - self.loc) * self.scale.reciprocal()
        return 0.5 * (1 + (standardized / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        precision = self.scale.pow(2).reciprocal()
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
