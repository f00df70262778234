"""The logistic normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.normal import Normal
from clew.distributions.transformed_distribution import TransformedDistribution
from clew.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Vectors of shares from a normal vector with one entry fewer.

    Args:
        loc: the means of the normal entries, shape (..., n); the shares are n + 1
        scale: their standard deviations; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import LogisticNormal
        >>> _ = clew.manual_seed(0)
        >>> shares = LogisticNormal(clew.zeros(3), clew.ones(3)).sample()
        >>> shares.shape, shares.sum().round(decimals=4)
        (torch.Size([4]), tensor(1.))
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base: Any = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    # The normal entries are independent, so the base is an `Independent` around them.
    @property
    def loc(self) -> Tensor:
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.base_dist.scale
