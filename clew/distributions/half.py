"""The absolute value of a variable that is symmetric around zero."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution
from clew.distributions.transformed_distribution import TransformedDistribution, of_base
from clew.distributions.transforms import AbsTransform
from clew.ops.create.constants import zeros_like
from clew.ops.pointwise.clamping import where


class Half(TransformedDistribution):
    """The upper half of a symmetric distribution, with twice the density."""

    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _whole: type[Distribution]

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        whole: Any = self._whole
        super().__init__(
            whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args
        )

    scale = of_base("scale")

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        doubled = self.base_dist.log_prob(value) + math.log(2)
        return where(value >= 0, doubled, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
