"""The geometric distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.autograd.grad_mode import no_grad
from clew.backend.dtypes import finfo
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.parametrized import ProbsOrLogits
from clew.distributions.utils import broadcast_all
from clew.ops.create.constants import zeros_like
from clew.ops.nn.loss.likelihood import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """The number of failures before the first success of probability `probs`.

    Args:
        probs: the probability of success of one trial; above 0
        logits: its log odds, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Geometric
        >>> d = Geometric(probs=clew.tensor(0.5))
        >>> d.log_prob(clew.tensor([0., 1., 2.])).exp()
        tensor([0.5000, 0.2500, 0.1250])
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_probs_or_logits(probs, logits)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            positive = self.probs > 0
            if not positive.all():
                invalid = self.probs[~positive]
                raise self._invalid_parameter("probs", "be positive", invalid)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # No failure at probability 1 has probability 1, where 0 * log(0) would be nan.
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        cross_entropy = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return cross_entropy / self.probs
