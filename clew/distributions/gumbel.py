"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.backend.dtypes import finfo
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.transformed_distribution import TransformedDistribution
from clew.distributions.transforms import AffineTransform, ExpTransform
from clew.distributions.uniform import Uniform
from clew.distributions.utils import broadcast_all, euler_constant
from clew.ops.create.constants import full_like, ones_like

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, that of the largest of many: loc - scale log(-log u).

    Args:
        loc: where the density is highest
        scale: its width; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Gumbel
        >>> d = Gumbel(clew.tensor(0.), clew.tensor(1.))
        >>> d.mode, d.mean
        (tensor(0.), tensor(0.5772))
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low, high = full_like(self.loc, limits.tiny), full_like(self.loc, 1 - limits.eps)
        super().__init__(
            Uniform(low, high, validate_args=validate_args),
            [
                ExpTransform().inv,
                AffineTransform(loc=0, scale=-ones_like(self.scale)),
                ExpTransform().inv,
                AffineTransform(loc=self.loc, scale=-self.scale),
            ],
            validate_args=validate_args,
        )

    def log_prob(self, value: Tensor) -> Tensor:
        # The base cannot check the value: its bounds are kept away from 0 and 1.
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
