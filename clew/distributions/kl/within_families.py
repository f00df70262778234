"""Divergences between two members of one family."""

from __future__ import annotations

import math
from typing import Any

from clew import errors
from clew.autograd.backward import grad
from clew.core.tensor import Tensor
from clew.distributions.bernoulli import Bernoulli
from clew.distributions.beta import Beta
from clew.distributions.binomial import Binomial
from clew.distributions.categorical import Categorical
from clew.distributions.cauchy import Cauchy
from clew.distributions.continuous_bernoulli import ContinuousBernoulli
from clew.distributions.dirichlet import Dirichlet
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.exponential import Exponential
from clew.distributions.gamma import Gamma
from clew.distributions.geometric import Geometric
from clew.distributions.gumbel import Gumbel
from clew.distributions.half_normal import HalfNormal
from clew.distributions.independent import Independent
from clew.distributions.kl.registry import kl_divergence, register_kl
from clew.distributions.laplace import Laplace
from clew.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_mahalanobis,
)
from clew.distributions.multivariate_normal import (
    MultivariateNormal,
    _batch_mahalanobis,
    log_diagonal_sum,
)
from clew.distributions.normal import Normal
from clew.distributions.one_hot_categorical import OneHotCategorical
from clew.distributions.pareto import Pareto
from clew.distributions.poisson import Poisson
from clew.distributions.transformed_distribution import TransformedDistribution
from clew.distributions.uniform import Uniform
from clew.distributions.utils import _sum_rightmost, euler_constant
from clew.ops.linalg.solve import solve_triangular
from clew.ops.nn.activation.unary import softplus
from clew.ops.pointwise.clamping import where

# What to do where there is no formula.
_BY_SAMPLES = "\n  Estimate it: x = p.sample((n,)); (p.log_prob(x) - q.log_prob(x)).mean(0)"


def infinite_where(condition: Tensor, otherwise: Tensor) -> Tensor:
    """Infinity where p has values that are impossible under q."""
    return where(condition, math.inf, otherwise)


def _each_outcome(p_prob: Tensor, q_prob: Tensor, term: Tensor) -> Tensor:
    """The term of one outcome: nothing if p excludes it, infinite if only q does."""
    return where(p_prob == 0, 0.0, where(q_prob == 0, math.inf, term))


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    success = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    failure = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return _each_outcome(p.probs, q.probs, success) + _each_outcome(
        1 - p.probs, 1 - q.probs, failure
    )


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    p_total, q_total = p.concentration.sum(-1), q.concentration.sum(-1)
    normalizers = p_total.lgamma() - q_total.lgamma()
    parts = (q.concentration.lgamma() - p.concentration.lgamma()).sum(-1)
    log_shares = p.concentration.digamma() - p_total.digamma().unsqueeze(-1)
    return normalizers + parts + ((p.concentration - q.concentration) * log_shares).sum(-1)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
            + _BY_SAMPLES
            + errors.at_user_line()
        )
    one_trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return infinite_where(p.total_count > q.total_count, p.total_count * one_trial)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return _each_outcome(p.probs, q.probs, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    p_constant = p._cont_bern_log_norm() + (-p.probs).log1p()
    q_constant = q._cont_bern_log_norm() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + p_constant - q_constant


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Chyzak and Nielsen (2019)."""
    together = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return together.log() - (4 * p.scale * q.scale).log()


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log normalizer, from q's natural parameters to p's."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences" + _BY_SAMPLES + errors.at_user_line()
        )
    p_params = [param.detach().requires_grad_() for param in p._natural_params]
    p_normalizer = p._log_normalizer(*p_params)
    means = grad(p_normalizer.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - p_normalizer
    for p_param, q_param, mean in zip(p_params, q._natural_params, means):
        term = (q_param - p_param) * mean
        # A parameter may have fewer dimensions than an event: the degrees of freedom of a matrix.
        result = result - _sum_rightmost(term, term.dim() - result.dim())
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + q.concentration.lgamma()
        - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, offset = p.scale / q.scale, (p.loc - q.loc) / q.scale
    constant = 1 + euler_constant
    tail = ((1 + ratio).lgamma() - offset).exp()
    return offset - ratio.log() + ratio * euler_constant + tail - constant


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * (-distance / p.scale).exp() - ratio.log() - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return infinite_where(p.scale < q.scale, result)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return infinite_where((q.low > p.low) | (q.high < p.high), result)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """A bijection changes nothing, if it is the same for both."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between distributions with different transforms is not implemented"
            + _BY_SAMPLES
            + errors.at_user_line()
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents of different reinterpreted_batch_ndims is not implemented\n"
            f"  They have {p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}."
            + errors.at_user_line()
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# -- normal vectors --------------------------------------------------------------------------


def _require_equal_events(p: Any, q: Any) -> None:
    if p.event_shape != q.event_shape:
        kinds = " and ".join(sorted({_plural(type(p)), _plural(type(q))}))
        raise ValueError(
            f"KL-divergence between two {kinds} with different event shapes cannot be computed: "
            f"{p.event_shape} and {q.event_shape}" + errors.at_user_line()
        )


def _plural(kind: type) -> str:
    low_rank = issubclass(kind, LowRankMultivariateNormal)
    return "Low Rank Multivariate Normals" if low_rank else "Multivariate Normals"


def _squared_norm(*factors: Tensor) -> Tensor:
    """The trace of X Xᵀ, where the matrices X stand side by side."""
    total = factors[0].pow(2).sum((-2, -1))
    for factor in factors[1:]:
        total = total + factor.pow(2).sum((-2, -1))
    return total


def _whitened_by_low_rank(q: LowRankMultivariateNormal, *factors: Tensor) -> Tensor:
    """tr(Σq⁻¹ X Xᵀ) by the Woodbury formula, where the matrices X stand side by side."""
    diag, factor = q._unbroadcasted_cov_diag, q._unbroadcasted_cov_factor
    root = diag.rsqrt().unsqueeze(-1)
    correction = solve_triangular(q._capacitance_tril, factor.mT / diag.unsqueeze(-2), upper=False)
    return _squared_norm(*(root * x for x in factors)) - _squared_norm(
        *(correction @ x for x in factors)
    )


def _whitened(q: MultivariateNormal, *factors: Tensor) -> Tensor:
    """tr(Σq⁻¹ X Xᵀ), where the matrices X stand side by side."""
    factor = q._unbroadcasted_scale_tril
    return _squared_norm(*(solve_triangular(factor, x, upper=False) for x in factors))


def _factors(p: Any) -> list[Tensor]:
    """Matrices X that, side by side, have X Xᵀ = Σp."""
    if isinstance(p, LowRankMultivariateNormal):
        return [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]
    return [p._unbroadcasted_scale_tril]


def _log_det(p: Any) -> Tensor:
    if isinstance(p, LowRankMultivariateNormal):
        return p._log_det()
    return 2 * log_diagonal_sum(p._unbroadcasted_scale_tril)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _to_low_rank(p: Any, q: LowRankMultivariateNormal) -> Tensor:
    _require_equal_events(p, q)
    distance = _batch_lowrank_mahalanobis(
        q._unbroadcasted_cov_factor,
        q._unbroadcasted_cov_diag,
        q.loc - p.loc,
        q._capacitance_tril,
    )
    trace = _whitened_by_low_rank(q, *_factors(p))
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, MultivariateNormal)
def _to_multivariate(p: Any, q: MultivariateNormal) -> Tensor:
    _require_equal_events(p, q)
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    trace = _whitened(q, *_factors(p))
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0])
