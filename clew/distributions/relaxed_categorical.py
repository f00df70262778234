"""The relaxed one-hot categorical (Gumbel-softmax) distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Shape
from clew.distributions.one_hot_categorical import OverCategories
from clew.distributions.transformed_distribution import TransformedDistribution, of_base
from clew.distributions.transforms import ExpTransform
from clew.distributions.utils import broadcast_all, clamp_probs
from clew.ops.create.random import rand

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategories):
    """The logarithm of a relaxed one-hot vector."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    # Every vector is admitted; the samples lie where the sum of exponentials is 1.
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbels = -((-(noise.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        log_scale = math.lgamma(count) + self.temperature.log() * (count - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of shares near the corners; the lower the `temperature`, the nearer.

    Also called the Concrete or Gumbel-softmax distribution. Its samples pass gradients to the
    parameters, which those of `OneHotCategorical` cannot.

    Args:
        temperature: how soft the vectors are; positive
        probs: weights of the classes, shape (..., classes); normalized to sum 1
        logits: their logarithms, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import RelaxedOneHotCategorical
        >>> _ = clew.manual_seed(0)
        >>> d = RelaxedOneHotCategorical(clew.tensor(0.5), probs=clew.tensor([0.2, 0.8]))
        >>> d.rsample().sum().round(decimals=4)
        tensor(1.)
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = of_base("temperature")
    logits = of_base("logits")
    probs = of_base("probs")
