"""The beta distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.dirichlet import Dirichlet
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.utils import broadcast_all
from clew.ops.shape.joining import stack

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution over [0, 1]: the first share of a Dirichlet distribution of two.

    Args:
        concentration1: the weight of 1, often called alpha; positive
        concentration0: the weight of 0, often called beta; positive
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Beta
        >>> d = Beta(clew.tensor(3.), clew.tensor(1.))
        >>> d.mean, d.mode
        (tensor(0.7500), tensor(1.))
    """

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        Distribution.__init__(self, self._dirichlet.batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    @property
    def concentration1(self) -> Tensor:
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()
