"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from typing import Any, ClassVar

from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.categorical import Categorical
from clew.distributions.distribution import Distribution, Shape
from clew.ops.create.ranges import eye
from clew.ops.nn.embedding import one_hot

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OverCategories(Distribution):
    """A distribution over vectors with one entry for each class of a categorical one."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shapes = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        Distribution.__init__(self, *shapes, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._blank(_instance)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expanded(new, batch_shape)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape


class OneHotCategorical(OverCategories):
    """A one-hot vector whose 1 is placed by a categorical distribution.

    Args:
        probs: weights of the classes, shape (..., classes); normalized to sum 1
        logits: their logarithms, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import OneHotCategorical
        >>> d = OneHotCategorical(probs=clew.tensor([0.25, 0.75]))
        >>> d.log_prob(clew.tensor([0., 1.])).exp()
        tensor(0.7500)
    """

    support = constraints.one_hot
    has_enumerate_support = True

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._at(self.probs.argmax(dim=-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _at(self, index: Tensor) -> Tensor:
        return one_hot(index, self._categorical._num_events).to(self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._at(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = eye(count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((count,) + (1,) * len(self.batch_shape) + (count,))
        return values.expand((count,) + self.batch_shape + (count,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples that pass their gradients to the probabilities, as if they were equal.

    Args:
        probs: weights of the classes, shape (..., classes); normalized to sum 1
        logits: their logarithms, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import OneHotCategoricalStraightThrough
        >>> logits = clew.zeros(2, requires_grad=True)
        >>> sample = OneHotCategoricalStraightThrough(logits=logits).rsample()
        >>> (sample * clew.tensor([1., 3.])).sum().backward()
        >>> logits.grad
        tensor([-0.5000,  0.5000])
    """

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
