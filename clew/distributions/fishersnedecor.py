"""Fisher and Snedecor's F distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.backend.dtypes import finfo
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.gamma import Gamma
from clew.distributions.parametrized import Parametrized

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Parametrized):
    """The F distribution: the ratio of two chi-squared variables, each over its degrees of freedom.

    Args:
        df1: degrees of freedom of the numerator
        df2: degrees of freedom of the denominator; the mean exists above 2
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import FisherSnedecor
        >>> FisherSnedecor(clew.tensor(3.), clew.tensor([2., 4.])).mean
        tensor([nan, 2.])
    """

    arg_constraints: ClassVar = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._broadcast_parameters(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        spread = self.df1 * (df2 - 2).pow(2) * (df2 - 4)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / spread

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        tiny = finfo(self.df2.dtype).tiny
        numerator, denominator = (
            Gamma(df * 0.5, df, validate_args=False).rsample(sample_shape)
            for df in (self.df1, self.df2)
        )
        denominator.detach().clamp_(min=tiny)
        ratio = numerator / denominator
        ratio.detach().clamp_(min=tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * value.log()
        return normalizer + power - (half1 + half2) * (ratio * value).log1p()
