"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.gamma import Gamma
from clew.distributions.parametrized import ProbsOrLogits
from clew.distributions.utils import lazy_property
from clew.ops.create.sampling import poisson
from clew.ops.nn.activation.unary import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """The number of successes of probability `probs` before `total_count` failures.

    Args:
        total_count: the number of failures at which counting stops; not negative, need not be whole
        probs: the probability of success of one trial; below 1
        logits: its log odds, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import NegativeBinomial
        >>> d = NegativeBinomial(2, probs=clew.tensor(0.75))
        >>> d.mean, d.variance
        (tensor(6.), tensor(24.))
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_trials(total_count, probs, logits)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        # The distribution of the rate of a Poisson variable, which is then negative binomial.
        rate = (-self.logits).exp()
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        trials = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = (
            (self.total_count + value).lgamma() - (1.0 + value).lgamma() - self.total_count.lgamma()
        )
        # With no failure to wait for, the only value is 0, with probability 1.
        return trials + ways.masked_fill(self.total_count + value == 0.0, 0.0)
