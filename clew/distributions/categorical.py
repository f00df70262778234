"""The categorical distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from clew import errors
from clew.backend.dtypes import finfo, int64
from clew.core.tensor import Size, Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.parametrized import ProbsOrLogits
from clew.ops.create.constants import full
from clew.ops.create.sampling import multinomial
from clew.ops.shape.broadcasting import broadcast_tensors

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits):
    """One of the integers from 0, with probabilities along the last dimension.

    `probs` need not sum to 1 and `logits` may be any log weights: both are normalized.

    Args:
        probs: weights of the classes, shape (..., classes); not negative
        logits: their logarithms, instead of `probs`
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import Categorical
        >>> d = Categorical(probs=clew.tensor([1., 3., 4.]))
        >>> d.probs
        tensor([0.1250, 0.3750, 0.5000])
        >>> d.log_prob(clew.tensor(2)).exp()
        tensor(0.5000)
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_probs_or_logits(probs, logits)
        name = "logits" if probs is None else "probs"
        if self._param.dim() < 1:
            raise ValueError(
                f"`{name}` parameter must be at least one-dimensional." + errors.at_user_line()
            )
        if probs is None:
            self.logits = self.logits - self.logits.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = self.probs / self.probs.sum(-1, keepdim=True)
        Distribution.__init__(self, self.param_shape[:-1], validate_args=validate_args)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    def _undefined(self) -> Tensor:
        kind, device = self.probs.dtype, self.probs.device
        return full(self._extended_shape(), math.nan, dtype=kind, device=device)

    @property
    def mean(self) -> Tensor:
        return self._undefined()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self._undefined()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        drawn = multinomial(rows, Size(sample_shape).numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index, log_probs = value.long().unsqueeze(-1), self.logits
        if index.shape[:-1] != log_probs.shape[:-1]:
            index, log_probs = broadcast_tensors(index, log_probs)
            index = index[..., :1]
        return log_probs.gather(-1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        # An impossible class has the logit -inf, and 0 * -inf would be nan.
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._all_below(self._num_events, int64, expand)
