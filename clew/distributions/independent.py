"""Batch dimensions taken as dimensions of the event."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from clew import errors
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.utils import _sum_rightmost

__all__ = ["Independent"]

Base = TypeVar("Base", bound=Distribution)


class Independent(Distribution, Generic[Base]):
    """The joint distribution of the last `reinterpreted_batch_ndims` dimensions of a batch.

    These dimensions become part of the event, so `log_prob` sums over them.

    Args:
        base_distribution: the distribution whose batch it is
        reinterpreted_batch_ndims: how many batch dimensions become event dimensions
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Independent, Normal
        >>> d = Independent(Normal(clew.zeros(4, 3), clew.ones(4, 3)), 1)
        >>> d.batch_shape, d.event_shape
        (torch.Size([4]), torch.Size([3]))
        >>> d.log_prob(clew.zeros(3)).shape
        torch.Size([4])
    """

    arg_constraints: ClassVar = {}
    base_dist: Base

    def __init__(
        self,
        base_distribution: Base,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch_ndims = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > batch_ndims:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {batch_ndims}" + errors.at_user_line()
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        left = batch_ndims - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:left], shape[left:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        reinterpreted = self.event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(Size(batch_shape) + reinterpreted)
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return self._finish_expanded(new, batch_shape)

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        result = self.base_dist.support
        if not self.reinterpreted_batch_ndims:
            return result
        return constraints.independent(result, self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                "Enumeration over cartesian product is not implemented\n"
                "  Each distribution's own values: base_dist.enumerate_support()"
                + errors.at_user_line()
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
