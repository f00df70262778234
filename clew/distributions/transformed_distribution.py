"""What becomes of a distribution when its values are transformed."""

from __future__ import annotations

from typing import Any, ClassVar

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.independent import Independent
from clew.distributions.transforms import ComposeTransform, Transform
from clew.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


def of_base(name: str) -> Any:
    """A property that is the base distribution's."""
    return property(lambda self: getattr(self.base_dist, name))


def _listed(transforms: Any) -> list[Transform]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(
            f"transforms must be a Transform or list, but was {transforms}" + errors.at_user_line()
        )
    if not all(isinstance(each, Transform) for each in transforms):
        raise ValueError(
            f"transforms must be a Transform or a list of Transforms, but was {transforms}"
            + errors.at_user_line()
        )
    return transforms


class TransformedDistribution(Distribution):
    """The distribution of t(x), where x comes from a base distribution and t is a transform.

    Args:
        base_distribution: the distribution of x
        transforms: a transform, or several, applied one after the other
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import ExpTransform, LogNormal, Normal, TransformedDistribution
        >>> d = TransformedDistribution(Normal(0., 1.), [ExpTransform()])
        >>> d.log_prob(clew.tensor(2.)), LogNormal(0., 1.).log_prob(clew.tensor(2.))
        (tensor(-1.8523), tensor(-1.8523))
    """

    arg_constraints: ClassVar = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = _listed(transforms)
        whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        event_dim = len(base_distribution.event_shape)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {shape}." + errors.at_user_line()
            )
        forward_shape = Size(whole.forward_shape(shape))
        # Parameters of the transforms may broadcast the batch of the base distribution.
        expanded = Size(whole.inverse_shape(forward_shape))
        if shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - event_dim])
        lacking = whole.domain.event_dim - event_dim
        if lacking > 0:
            base_distribution = Independent(base_distribution, lacking)
        self.base_dist: Any = base_distribution
        event_dim += whole.codomain.event_dim - whole.domain.event_dim
        cut = len(forward_shape) - max(whole.codomain.event_dim, event_dim)
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        batch_shape = Size(batch_shape)
        new.transforms = self.transforms
        shape = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = Size(transform.inverse_shape(shape))
        base_batch = shape[: len(shape) - len(self.base_dist.event_shape)]
        new.base_dist = self.base_dist.expand(base_batch)
        for name in self.arg_constraints:
            if name in self.__dict__:
                new.__dict__[name] = self.__dict__[name].expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        lacking = len(self.event_shape) - support.event_dim
        return constraints.independent(support, lacking) if lacking > 0 else support

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        """The base's log density, less the logarithm of how much the transforms stretch."""
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            log_prob = log_prob - _sum_rightmost(
                transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim
            )
            y = x
        base = self.base_dist.log_prob(y)
        return log_prob + _sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """The probability counted from the other end, where the transforms decrease."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        value = self._monotonize_cdf(value)
        return self._forward(self.base_dist.icdf(value))
