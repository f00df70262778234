"""Divergences between members of different families.

Where the entropy of p is known, the divergence is the mean of -log q(x) under p, less the entropy.
"""

from __future__ import annotations

import math
from typing import Any

from clew.core.tensor import Tensor
from clew.distributions.bernoulli import Bernoulli
from clew.distributions.beta import Beta
from clew.distributions.binomial import Binomial
from clew.distributions.continuous_bernoulli import ContinuousBernoulli
from clew.distributions.exponential import Exponential
from clew.distributions.gamma import Gamma
from clew.distributions.gumbel import Gumbel
from clew.distributions.kl.registry import register_kl
from clew.distributions.kl.within_families import infinite_where
from clew.distributions.laplace import Laplace
from clew.distributions.normal import Normal
from clew.distributions.pareto import Pareto
from clew.distributions.poisson import Poisson
from clew.distributions.uniform import Uniform
from clew.distributions.utils import euler_constant
from clew.ops.create.constants import full_like

_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)

# -- p has values that are impossible under q ------------------------------------------------


def _infinite(parameter: str) -> Any:
    def divergence(p: Any, q: Any) -> Tensor:
        return full_like(getattr(p, parameter), math.inf)

    return divergence


_BOUNDED = (Beta, ContinuousBernoulli, Uniform)
_POSITIVE = (Exponential, Gamma, Pareto)
_OUTSIDE: list[tuple[type, str, tuple[type, ...]]] = [
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (*_BOUNDED, Pareto)),
    (Gamma, "concentration", (*_BOUNDED, Pareto)),
    (Gumbel, "loc", (*_BOUNDED, *_POSITIVE)),
    (Laplace, "loc", (*_BOUNDED, *_POSITIVE)),
    (Normal, "loc", (*_BOUNDED, *_POSITIVE)),
    (Pareto, "scale", _BOUNDED),
    (Poisson, "rate", (Bernoulli, Binomial)),
]
for _p, _parameter, _others in _OUTSIDE:
    for _q in _others:
        register_kl(_p, _q)(_infinite(_parameter))

# -- the mean of -log q(x) from moments of x -------------------------------------------------


def _to_normal(mean: Tensor, variance: Tensor, q: Normal) -> Tensor:
    squares = variance + (mean - q.loc).pow(2)
    return _HALF_LOG_2_PI + q.scale.log() + 0.5 * squares / q.scale.pow(2)


def _to_exponential(mean: Tensor, q: Exponential) -> Tensor:
    return q.rate * mean - q.rate.log()


def _to_gamma(mean: Tensor, mean_log: Tensor, q: Gamma) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return normalizer - (q.concentration - 1) * mean_log + q.rate * mean


def _to_gumbel(mean: Tensor, mean_exp: Tensor, q: Gumbel) -> Tensor:
    """`mean_exp` is the mean of exp(-x / scale)."""
    offset = q.loc / q.scale
    return q.scale.log() + mean / q.scale - offset + offset.exp() * mean_exp


def _to_continuous_bernoulli(mean: Tensor, q: ContinuousBernoulli) -> Tensor:
    return -mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - p.probs * q.rate.log() - p.entropy()


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return _to_continuous_bernoulli(p.mean, q) - p.entropy()


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _mean_exponential(p: Any, q: Exponential) -> Tensor:
    return _to_exponential(p.mean, q) - p.entropy()


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _moments_normal(p: Any, q: Normal) -> Tensor:
    return _to_normal(p.mean, p.variance, q) - p.entropy()


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    total = p.concentration1 + p.concentration0
    mean_log = p.concentration1.digamma() - total.digamma()
    return _to_gamma(p.mean, mean_log, q) - p.entropy()


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    return _to_gamma(p.mean, -euler_constant - p.rate.log(), q) - p.entropy()


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = (q.high - q.low).log() - p.entropy()
    return infinite_where((q.low > 0) | (q.high < 1), result)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    result = (q.high - q.low).log() - p.entropy()
    return infinite_where((q.low >= 0) | (q.high <= 1), result)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    product = p.rate * q.scale
    return _to_gumbel(p.mean, product / (product + 1), q) - p.entropy()


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    mean_exp = (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration)
    return _to_gumbel(p.mean, mean_exp, q) - p.entropy()


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    mean_exp = (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()
    return _to_gumbel(p.loc, mean_exp, q) - p.entropy()


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    offset = p.loc - q.loc
    standardized = offset / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * (-0.5 * standardized.pow(2)).exp()
    mean_distance = near + offset * (math.sqrt(0.5) * standardized).erf()
    return (2 * q.scale).log() + mean_distance / q.scale - p.entropy()


# -- from Pareto, whose moments may be infinite ----------------------------------------------


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    mean = p.alpha * p.scale / (p.alpha - 1)
    return infinite_where(p.alpha <= 1, _to_exponential(mean, q) - p.entropy())


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    mean = p.alpha * p.scale / (p.alpha - 1)
    mean_log = p.scale.log() + p.alpha.reciprocal()
    return infinite_where(p.alpha <= 1, _to_gamma(mean, mean_log, q) - p.entropy())


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Tensor:
    part = p.scale / (p.alpha - 1)
    mean, variance = p.alpha * part, p.alpha * part.pow(2) / (p.alpha - 2)
    return infinite_where(p.alpha <= 2, _to_normal(mean, variance, q) - p.entropy())


# -- from uniform ----------------------------------------------------------------------------


def _x_log_x(x: Tensor) -> Tensor:
    return x.xlogy(x)


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log(x) over [low, high]."""
    return (_x_log_x(high) - _x_log_x(low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    near_zero = (a - 1) * _mean_log(p.low, p.high)
    near_one = (b - 1) * _mean_log(1 - p.high, 1 - p.low)
    result = normalizer - near_zero - near_one - p.entropy()
    return infinite_where((p.high > 1) | (p.low < 0), result)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    result = _to_continuous_bernoulli(p.mean, q) - p.entropy()
    return infinite_where((p.high >= 1) | (p.low <= 0), result)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return infinite_where(p.low < 0, _to_exponential(p.mean, q) - p.entropy())


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    result = _to_gamma(p.mean, _mean_log(p.low, p.high), q) - p.entropy()
    return infinite_where(p.low < 0, result)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    falls = (-p.low / q.scale).exp() - (-p.high / q.scale).exp()
    mean_exp = falls * q.scale / (p.high - p.low)
    return _to_gumbel(p.mean, mean_exp, q) - p.entropy()


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    mean_minus_log_q = (q.alpha + 1) * _mean_log(p.low, p.high) - (
        q.alpha * q.scale.pow(q.alpha)
    ).log()
    return infinite_where(p.low < q.scale, mean_minus_log_q - p.entropy())
