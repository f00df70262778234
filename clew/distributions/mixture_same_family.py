"""Mixtures whose components come from one family."""

from __future__ import annotations

from typing import Any, ClassVar

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.categorical import Categorical
from clew.distributions.distribution import Distribution, Shape

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A value of the component that a categorical distribution chooses.

    Args:
        mixture_distribution: the Categorical that chooses
        component_distribution: the components, along its last batch dimension
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Categorical, MixtureSameFamily, Normal
        >>> weights = Categorical(clew.tensor([0.25, 0.75]))
        >>> parts = Normal(clew.tensor([-2., 2.]), clew.tensor([1., 1.]))
        >>> MixtureSameFamily(weights, parts).mean
        tensor(1.)
    """

    arg_constraints: ClassVar = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._check_parts(mixture_distribution, component_distribution)
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        batch_shape = component_distribution.batch_shape[:-1]
        event_shape = component_distribution.event_shape
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    @staticmethod
    def _check_parts(mixture: Any, component: Any) -> None:
        if not isinstance(mixture, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                f"torch.distributions.Categorical, not {type(mixture).__name__}"
                + errors.at_user_line()
            )
        if not isinstance(component, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                f"torch.distributions.Distribution, not {type(component).__name__}"
                + errors.at_user_line()
            )
        batch = component.batch_shape[:-1]
        for have, want in zip(reversed(mixture.batch_shape), reversed(batch)):
            if have != 1 and want != 1 and have != want:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not "
                    f"compatible with `component_distribution.batch_shape`({batch})"
                    + errors.at_user_line()
                )
        have, want = mixture.logits.shape[-1], component.batch_shape[-1]
        if have != want:
            raise ValueError(
                f"`mixture_distribution component` ({have}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({want})" + errors.at_user_line()
            )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        count = self._mixture_distribution._num_events
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            Size(batch_shape) + (count,)
        )
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _average(self, values: Tensor) -> Tensor:
        """The mean over the components, weighted by how probable they are."""
        event_ndims = len(self._event_shape)
        probs = self.mixture_distribution.probs
        weights = probs.reshape(probs.shape + (1,) * event_ndims)
        return (weights * values).sum(dim=-1 - event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._average(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances plus the variance of the means."""
        own_mean = self.mean.unsqueeze(-1 - len(self._event_shape))
        spread = (self.component_distribution.mean - own_mean).pow(2.0)
        return self._average(self.component_distribution.variance) + self._average(spread)

    def _for_each_component(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - len(self._event_shape))

    def cdf(self, x: Tensor) -> Tensor:
        cdf = self.component_distribution.cdf(self._for_each_component(x))
        return (cdf * self.mixture_distribution.probs).sum(dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(self._for_each_component(x))
        return (log_prob + self.mixture_distribution.logits.log_softmax(dim=-1)).logsumexp(dim=-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            component_dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (len(self.event_shape) + 1))
            index = index.expand(chosen.shape + (1,) + self.event_shape)
            return values.gather(component_dim, index).squeeze(component_dim)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
