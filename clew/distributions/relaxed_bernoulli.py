"""The relaxed Bernoulli distribution: values between 0 and 1 through which gradients flow."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.parametrized import ProbsOrLogits
from clew.distributions.transformed_distribution import TransformedDistribution, of_base
from clew.distributions.transforms import SigmoidTransform
from clew.distributions.utils import broadcast_all, clamp_probs
from clew.ops.create.random import rand

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The logit of a relaxed Bernoulli variable."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._set_probs_or_logits(probs, logits)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        noise = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        logistic = noise.log() - (-noise).log1p()
        return (logistic + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Values near 0 and 1; the lower the `temperature`, the nearer.

    Its samples pass gradients to the parameters, which those of `Bernoulli` cannot.

    Args:
        temperature: how soft the values are; positive
        probs: the probabilities of 1
        logits: their log odds, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import RelaxedBernoulli
        >>> _ = clew.manual_seed(0)
        >>> d = RelaxedBernoulli(clew.tensor(0.1), probs=clew.tensor([0.3, 0.9]))
        >>> d.rsample().round()
        tensor([0., 1.])
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature = of_base("temperature")
    logits = of_base("logits")
    probs = of_base("probs")
