"""The binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.parametrized import ProbsOrLogits
from clew.ops.create.sampling import binomial

__all__ = ["Binomial"]


def _positive_part(x: Tensor) -> Tensor:
    """max(x, 0), with the derivative 1/2 at 0, as the smooth function around it has."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ProbsOrLogits):
    """The number of successes in `total_count` trials, each with probability `probs`.

    Args:
        total_count: the number of trials; may differ from one distribution of the batch to another
        probs: the probability of success of one trial
        logits: its log odds, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Binomial
        >>> d = Binomial(3, probs=clew.tensor(0.5))
        >>> d.log_prob(clew.tensor([0., 1., 2., 3.])).exp()
        tensor([0.1250, 0.3750, 0.3750, 0.1250])
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_trials(total_count, probs, logits)
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        ways = (
            (self.total_count + 1).lgamma()
            - (value + 1).lgamma()
            - (self.total_count - value + 1).lgamma()
        )
        # log(1 + exp(logits)), written so that exp cannot overflow.
        softplus = _positive_part(self.logits) + (-self.logits.abs()).exp().log1p()
        return value * self.logits + ways - self.total_count * softplus

    def _common_count(self, method: str) -> int:
        """The number of trials, if it is the same everywhere."""
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(
                f"Inhomogeneous total count not supported by `{method}`.\n"
                "  Make one Binomial for each total_count." + errors.at_user_line()
            )
        return count

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._common_count("enumerate_support")
        return self._all_below(1 + count, self._param.dtype, expand)
