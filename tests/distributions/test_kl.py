"""Divergences: every registered pair against torch, with gradients, and how pairs are found."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import clew
from tests.distribution_cases import CASES, Builder, build, gradients
from tests.oracle import assert_same
from tests.twice import raised, twice

COVARIANCE = [[1.5, 0.2], [0.2, 0.7]]

# Two members of each family: supports that fit into each other in one direction only.
MEMBERS: dict[str, list[Builder]] = {
    "Bernoulli": [
        lambda D, t: D.Bernoulli(t([0.3, 0.0, 1.0, 0.6])),
        lambda D, t: D.Bernoulli(logits=t([0.5, 1.0, 0.1, -0.4])),
    ],
    "Beta": [
        lambda D, t: D.Beta(t([0.5, 2.0]), t([1.5, 0.7])),
        lambda D, t: D.Beta(t([3.0, 1.2]), t([1.0, 2.0])),
    ],
    "Binomial": [
        lambda D, t: D.Binomial(7, t([0.2, 0.6])),
        lambda D, t: D.Binomial(7, t([0.4, 0.9])),
        lambda D, t: D.Binomial(5, t([0.4, 0.9])),
    ],
    "Categorical": [
        lambda D, t: D.Categorical(t([[0.2, 0.5, 0.3], [0.0, 0.1, 0.9]])),
        lambda D, t: D.Categorical(logits=t([0.1, 0.5, -0.3])),
        lambda D, t: D.Categorical(t([0.0, 0.5, 0.5])),
    ],
    "Cauchy": [
        lambda D, t: D.Cauchy(t([0.3, 1.0]), t([1.0, 2.0])),
        lambda D, t: D.Cauchy(t([-0.5, 2.0]), t([0.4, 3.0])),
    ],
    "ContinuousBernoulli": [
        lambda D, t: D.ContinuousBernoulli(t([0.3, 0.5])),
        lambda D, t: D.ContinuousBernoulli(t([0.8, 0.2])),
    ],
    "Dirichlet": [
        lambda D, t: D.Dirichlet(t([[0.5, 1.5, 3.0], [2.0, 2.0, 1.0]])),
        lambda D, t: D.Dirichlet(t([1.0, 0.3, 2.0])),
    ],
    "Exponential": [
        lambda D, t: D.Exponential(t([0.5, 2.0])),
        lambda D, t: D.Exponential(t([1.5, 0.7])),
    ],
    "Gamma": [
        lambda D, t: D.Gamma(t([0.5, 2.0]), t([1.0, 3.0])),
        lambda D, t: D.Gamma(t([1.5, 4.0]), t([0.3, 2.0])),
    ],
    "Geometric": [
        lambda D, t: D.Geometric(t([0.2, 0.7])),
        lambda D, t: D.Geometric(logits=t([0.5, -1.0])),
    ],
    "Gumbel": [
        lambda D, t: D.Gumbel(t([0.3, 1.0]), t([1.0, 2.0])),
        lambda D, t: D.Gumbel(t([-0.5, 2.0]), t([0.4, 3.0])),
    ],
    "HalfNormal": [
        lambda D, t: D.HalfNormal(t([1.0, 2.0])),
        lambda D, t: D.HalfNormal(t([0.4, 3.0])),
    ],
    "Independent": [
        lambda D, t: D.Independent(D.Normal(t([[0.3, 1.0]] * 2), t([1.0, 2.0])), 1),
        lambda D, t: D.Independent(D.Normal(t([[0.1, -1.0]] * 2), t([0.5, 1.0])), 1),
    ],
    "Laplace": [
        lambda D, t: D.Laplace(t([0.3, 1.0]), t([1.0, 2.0])),
        lambda D, t: D.Laplace(t([-0.5, 2.0]), t([0.4, 3.0])),
    ],
    "LowRankMultivariateNormal": [
        lambda D, t: D.LowRankMultivariateNormal(t([0.1, 0.2]), t([[1.0], [0.5]]), t([0.5, 2.0])),
        lambda D, t: D.LowRankMultivariateNormal(
            t([[0.1, 0.2], [1.0, -1.0]]), t([[[0.3, 1.0], [0.5, 0.1]]] * 2), t([1.5, 0.2])
        ),
    ],
    "MultivariateNormal": [
        lambda D, t: D.MultivariateNormal(t([0.1, 0.2]), t(COVARIANCE)),
        lambda D, t: D.MultivariateNormal(
            t([[0.1, 0.2], [1.0, -1.0]]), scale_tril=t([[[1.0, 0.0], [0.4, 0.6]]] * 2)
        ),
    ],
    "Normal": [
        lambda D, t: D.Normal(t([0.3, 1.0]), t([1.0, 2.0])),
        lambda D, t: D.Normal(t([-0.5, 2.0]), t([0.4, 3.0])),
    ],
    "OneHotCategorical": [
        lambda D, t: D.OneHotCategorical(t([[0.2, 0.5, 0.3], [0.0, 0.1, 0.9]])),
        lambda D, t: D.OneHotCategorical(logits=t([0.1, 0.5, -0.3])),
    ],
    "Pareto": [
        lambda D, t: D.Pareto(t([1.0, 2.0, 0.5]), t([0.8, 1.5, 3.0])),
        lambda D, t: D.Pareto(t([0.3, 2.5, 0.5]), t([2.5, 4.0, 1.0])),
        lambda D, t: D.Pareto(t([0.1, 2.5]), t([0.7, 4.0])),
    ],
    "Poisson": [
        lambda D, t: D.Poisson(t([0.5, 4.0, 2.0, 1.0])),
        lambda D, t: D.Poisson(t([1.5, 3.0, 0.2, 1.0])),
    ],
    "TransformedDistribution": [
        lambda D, t: D.LogNormal(t([0.3, 1.0]), t([1.0, 2.0])),
        lambda D, t: D.LogNormal(t([-0.5, 2.0]), t([0.4, 3.0])),
    ],
    "Uniform": [
        lambda D, t: D.Uniform(t([0.0, -1.0]), t([1.0, 2.0])),
        lambda D, t: D.Uniform(t([0.2, -2.0]), t([0.8, 3.0])),
        lambda D, t: D.Uniform(t([0.6, 2.6]), t([0.9, 3.0])),
    ],
    # Without a batch: torch sums the term of the degrees of freedom over the batch.
    "ExponentialFamily": [CASES["Wishart_precision"], CASES["Wishart_factor"]],
}
PAIRS = [(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY]


def test_the_same_pairs_are_registered() -> None:
    # Programs and examples of docstrings may have registered pairs of their own.
    pairs = [pair for pair in clew.distributions.kl._KL_REGISTRY if "clew." in pair[0].__module__]
    mine = {(p.__name__, q.__name__) for p, q in pairs}
    assert mine == set(PAIRS)


def divergence(library: Any, p: Builder, q: Builder) -> Any:
    one, other = build(p, library), build(q, library)
    result = library.distributions.kl_divergence(one.distribution, other.distribution)
    leaves = [*one.leaves, *other.leaves]
    finite = library.where(result.isinf(), 0.0, result)
    return [result, gradients(library, finite, leaves)]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=lambda name: name)
def test_divergence(p: str, q: str) -> None:
    compared = 0
    for one in MEMBERS[p]:
        for other in MEMBERS[q]:
            try:
                expected = divergence(torch, one, other)
            except (NotImplementedError, RuntimeError, IndexError) as error:
                # Shapes that do not go together, or q counts more trials than p.
                assert raised(divergence, clew, one, other)[0] == type(error).__name__
                continue
            assert_same(divergence(clew, one, other), expected)
            compared += 1
    assert compared


@twice
def test_divergences_that_do_not_exist(m: Any) -> Any:
    D = m.distributions
    normal = D.Normal(m.zeros(2), 1.0)
    one, other = m.ones(2), m.ones(3)
    return [
        raised(D.kl_divergence, D.Cauchy(0.0, 1.0), D.Normal(0.0, 1.0), words=15),
        # torch has no words where it says 0.
        raised(D.kl_divergence, D.Independent(normal, 1), D.Independent(normal, 0), words=0),
        raised(D.kl_divergence, D.Binomial(3, m.tensor(0.5)), D.Binomial(5, m.tensor(0.5))),
        raised(D.kl_divergence, D.LogNormal(0.0, 1.0), D.Gumbel(0.0, 1.0), words=0),
        raised(D.kl_divergence, D.Dirichlet(one), D.Poisson(one)),
        raised(
            D.kl_divergence,
            D.MultivariateNormal(one, m.eye(2)),
            D.MultivariateNormal(other, m.eye(3)),
        ),
    ]


@twice
def test_any_class_can_be_registered(m: Any) -> Any:
    """Distributions of other packages need not derive from PyTorch's."""
    D = m.distributions
    return [raised(D.register_kl, int, D.Normal), raised(D.register_kl, D.Normal, str)]


@twice
def test_the_closest_pair_of_classes_is_found(m: Any) -> Any:
    D = m.distributions

    class Left(D.Normal):
        pass

    class Right(Left):
        pass

    @D.register_kl(Left, D.Normal)
    def left(p: Any, q: Any) -> Any:
        return "left"

    found = [
        D.kl_divergence(Left(0.0, 1.0), D.Normal(0.0, 1.0)),
        D.kl_divergence(Right(0.0, 1.0), D.Normal(0.0, 1.0)),
        D.kl_divergence(D.Normal(0.0, 1.0), Left(0.0, 1.0)),
        D.kl_divergence(Left(0.0, 1.0), Left(0.0, 2.0)),
    ]

    @D.register_kl(D.Normal, Left)
    def right(p: Any, q: Any) -> Any:
        return "right"

    found.append(D.kl_divergence(Left(0.0, 1.0), Left(0.0, 2.0)))
    registry = D.kl._KL_REGISTRY
    for pair in [(Left, D.Normal), (D.Normal, Left)]:
        del registry[pair]
    return found


@twice
def test_divergence_of_subclasses_uses_that_of_their_base(m: Any) -> Any:
    D = m.distributions
    return D.kl_divergence(D.Chi2(3.0), D.Chi2(5.0)), D.kl_divergence(
        D.Chi2(3.0), D.Gamma(1.0, 2.0)
    )


@twice
def test_vae_loss(m: Any) -> Any:
    D = m.distributions
    loc = m.tensor([[0.1, -0.3]], requires_grad=True)
    log_scale = m.tensor([[0.2, 0.5]], requires_grad=True)
    posterior = D.Normal(loc, log_scale.exp())
    prior = D.Normal(m.zeros(1, 2), m.ones(1, 2))
    z = posterior.rsample()
    (D.kl_divergence(posterior, prior).sum() + z.square().sum()).backward()
    return z, loc.grad, log_scale.grad
