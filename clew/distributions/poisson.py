"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.parametrized import Parametrized
from clew.distributions.utils import broadcast_all
from clew.ops.create.sampling import poisson

__all__ = ["Poisson"]


class Poisson(Parametrized, ExponentialFamily):
    """The Poisson distribution: counts at `rate`.

    Args:
        rate: the mean count; not negative
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Poisson
        >>> Poisson(clew.tensor(1.)).log_prob(clew.tensor([0., 1., 2.])).exp()
        tensor([0.3679, 0.3679, 0.1839])
    """

    arg_constraints: ClassVar = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._broadcast_parameters(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()
