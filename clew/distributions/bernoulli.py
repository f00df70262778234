"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.parametrized import ProbsOrLogits
from clew.distributions.utils import broadcast_all
from clew.ops.create.sampling import bernoulli
from clew.ops.nn.loss.likelihood import binary_cross_entropy_with_logits

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability `probs`, else 0; given by `probs` or `logits`.

    Args:
        probs: the probabilities of 1
        logits: their log odds, log(p / (1 - p)), instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Bernoulli
        >>> coin = Bernoulli(probs=clew.tensor([0.25, 0.5]))
        >>> coin.log_prob(clew.tensor([1., 0.])).exp()
        tensor([0.2500, 0.5000])
        >>> coin.logits
        tensor([-1.0986,  0.0000])
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_probs_or_logits(probs, logits)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._all_below(2, self._param.dtype, expand)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return (1 + x.exp()).log()
