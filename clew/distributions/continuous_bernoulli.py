"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from clew import errors
from clew.autograd.grad_mode import no_grad
from clew.core.tensor import Tensor
from clew.distributions import constraints
from clew.distributions.distribution import Distribution, Shape
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.parametrized import ProbsOrLogits
from clew.distributions.utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
)
from clew.ops.create.constants import ones_like, zeros_like
from clew.ops.create.random import rand
from clew.ops.nn.loss.likelihood import binary_cross_entropy_with_logits
from clew.ops.pointwise.clamping import where

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Density proportional to p^x (1 - p)^(1 - x) on [0, 1].

    The formulas divide by 1 - 2p; between `lims`, where that loses precision, a Taylor expansion
    around 1/2 stands in.

    Args:
        probs: p, between 0 and 1
        logits: log(p / (1 - p)), instead of `probs`
        lims: the interval of p in which the expansion is used
        validate_args: whether to check arguments and values; by default, yes

    Example:
        >>> from clew.distributions import ContinuousBernoulli
        >>> d = ContinuousBernoulli(probs=clew.tensor([0.5, 0.8]))
        >>> d.mean
        tensor([0.5000, 0.6120])
    """

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._set_probs_or_logits(probs, logits)
        if probs is not None:
            # Checked before clamping, which would hide what is wrong.
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError(
                    f"The parameter probs has invalid values\n{self.probs}" + errors.at_user_line()
                )
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        Distribution.__init__(self, self.param_shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        # At 0 and 1 the normalizing constant would be infinite.
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._lims = self._lims
        return new

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probabilities where the formulas are used, a harmless number where they are not."""
        return where(
            self._outside_unstable_region(), self.probs, self._lims[0] * ones_like(self.probs)
        )

    def _stable(self, exact: Tensor, expansion: Tensor) -> Tensor:
        return where(self._outside_unstable_region(), exact, expansion)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the factor that makes the density integrate to 1."""
        cut = self._cut_probs()
        below = where(cut <= 0.5, cut, zeros_like(cut))
        above = where(cut >= 0.5, cut, ones_like(cut))
        distance = where(cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        log_norm = ((-cut).log1p() - cut.log()).abs().log() - distance
        x = (self.probs - 0.5).pow(2)
        return self._stable(log_norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        return self._stable(exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / (
            (-cut).log1p() - cut.log()
        ).pow(2)
        x = (self.probs - 0.5).pow(2)
        return self._stable(exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        unnormalized = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return unnormalized + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        powers = cut.pow(value) * (1.0 - cut).pow(1.0 - value)
        inside = self._stable((powers + cut - 1.0) / (2.0 * cut - 1.0), value)
        upper = where(value >= 1.0, ones_like(value), inside)
        return where(value <= 0.0, zeros_like(value), upper)

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        grown = (-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()
        return self._stable(grown / (cut.log() - (-cut).log1p()), value)

    def entropy(self) -> Tensor:
        log_failure, log_success = (-self.probs).log1p(), self.probs.log()
        gain = self.mean * (log_failure - log_success)
        return gain - self._cont_bern_log_norm() - log_failure

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.probs.logit(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = (x <= low) | (x > high)
        cut = where(outside, x, low * ones_like(x))
        exact = (cut.exp() - 1.0).abs().log() - cut.abs().log()
        return where(outside, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
