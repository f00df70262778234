"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

from clew import errors
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.binomial import Binomial
from clew.distributions.distribution import Shape
from clew.distributions.one_hot_categorical import OverCategories
from clew.distributions.utils import broadcast_all
from clew.ops.create.constants import ones_like

__all__ = ["Multinomial"]


class Multinomial(OverCategories):
    """How often each class occurs in `total_count` draws of a categorical distribution.

    Args:
        total_count: the number of draws, the same for the whole batch
        probs: weights of the classes, shape (..., classes); normalized to sum 1
        logits: their logarithms, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Multinomial
        >>> d = Multinomial(4, probs=clew.tensor([1., 1., 2.]))
        >>> d.mean
        tensor([1., 1., 2.])
        >>> d.log_prob(clew.tensor([1., 1., 2.])).exp()
        tensor(0.1875)
    """

    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                "inhomogeneous total_count is not supported"
                f" (it is a {type(total_count).__name__}, not an int)\n"
                "  Make one Multinomial for each total_count." + errors.at_user_line()
            )
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.total_count = self.total_count
        new._binomial = self._binomial.expand(Size(batch_shape) + self.event_shape)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        draws = self._categorical.sample((self.total_count, *sample_shape))
        draws = draws.permute(*range(1, draws.dim()), 0)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, draws, ones_like(draws))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        count = self.total_count
        draws = count * self._categorical.entropy() - math.lgamma(count + 1)
        # The order of draws is not seen: E[log(x!)] for each class, from its marginal.
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = (support + 1).lgamma()
        return draws + (self._binomial.log_prob(support).exp() * weights).sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        # A class that is impossible and does not occur contributes nothing, not 0 * -inf.
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return ways + (logits * value).sum(-1)
