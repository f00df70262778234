"""The Laplace distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.backend.dtypes import finfo
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.parametrized import Parametrized, SymmetricAboutLoc

__all__ = ["Laplace"]


class Laplace(SymmetricAboutLoc, Parametrized):
    """The Laplace distribution: exponential on both sides of `loc`.

    Args:
        loc: mean, median and mode
        scale: the mean distance from `loc`; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Laplace
        >>> d = Laplace(clew.tensor(0.), clew.tensor(2.))
        >>> d.variance, d.log_prob(clew.tensor(0.)).exp()
        (tensor(8.), tensor(0.2500))
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._broadcast_parameters(validate_args, loc=loc, scale=scale)

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        # The open end at -1 keeps log1p(-|u|) finite.
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        offset = value - self.loc
        return 0.5 - 0.5 * offset.sign() * (-offset.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        centred = value - 0.5
        return self.loc - self.scale * centred.sign() * (-2 * centred.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
