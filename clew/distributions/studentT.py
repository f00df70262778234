"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.chi2 import Chi2
from clew.distributions.distribution import Shape
from clew.distributions.parametrized import Parametrized
from clew.distributions.utils import _standard_normal

__all__ = ["StudentT"]


class StudentT(Parametrized):
    """Student's t distribution with `df` degrees of freedom, moved by `loc`, scaled by `scale`.

    Args:
        df: degrees of freedom; the fewer, the heavier the tails
        loc: the centre
        scale: the width; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import StudentT
        >>> d = StudentT(clew.tensor([1., 2., 4.]))
        >>> d.variance
        tensor([nan, inf, 2.])
    """

    arg_constraints: ClassVar = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self._broadcast_parameters(validate_args, df=df, loc=loc, scale=scale)

    @property
    def _chi2(self) -> Chi2:
        return Chi2(self.df, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return finite.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        shrink = (self._chi2.rsample(sample_shape) / self.df).rsqrt()
        return self.loc + self.scale * (noise * shrink)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        standardized = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + (0.5 * self.df).lgamma()
            - (0.5 * (self.df + 1.0)).lgamma()
        )
        return -0.5 * (self.df + 1.0) * (standardized**2.0 / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half, half_next = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - half_next.lgamma()
        digammas = half_next * (half_next.digamma() - half.digamma())
        return self.scale.log() + digammas + 0.5 * self.df.log() + log_beta
