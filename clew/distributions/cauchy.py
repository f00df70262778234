"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.parametrized import Parametrized
from clew.ops.create.constants import full

__all__ = ["Cauchy"]


class Cauchy(Parametrized):
    """The Cauchy distribution: median `loc`, half width at half height `scale`.

    Its tails are so heavy that mean and variance do not exist.

    Args:
        loc: the median
        scale: half the width at half the height; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Cauchy
        >>> d = Cauchy(clew.tensor(1.), clew.tensor(2.))
        >>> d.cdf(clew.tensor([-1., 1., 3.]))
        tensor([0.2500, 0.5000, 0.7500])
        >>> d.mean
        tensor(nan)
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._broadcast_parameters(validate_args, loc=loc, scale=scale)

    def _everywhere(self, number: float) -> Tensor:
        kind, device = self.loc.dtype, self.loc.device
        return full(self._extended_shape(), number, dtype=kind, device=device)

    @property
    def mean(self) -> Tensor:
        return self._everywhere(math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._everywhere(math.inf)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        noise = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        standardized = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (standardized**2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
