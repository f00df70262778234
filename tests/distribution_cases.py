"""The table of distributions that the tests drive: each is built from leaves with either library.

A builder gets the module `distributions` and a function that makes a leaf tensor of its argument.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

import clew
import clew.distributions

Leaf = Callable[[Any], Any]
Builder = Callable[[Any, Leaf], Any]

ROWS = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
LOGITS = [[0.3, -1.0, 2.0], [0.0, 0.5, -0.5]]
COVARIANCE = [[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]]
FACTOR = [[1.2, 0.0, 0.0], [0.4, 0.9, 0.0], [-0.3, 0.2, 0.7]]
BATCHED_FACTOR = [FACTOR, [[0.5, 0.0, 0.0], [1.0, 2.0, 0.0], [0.1, 0.1, 0.1]]]


def _mixture(D: Any, t: Leaf) -> Any:
    components = D.Normal(t([-1.0, 0.5, 2.0]), t([0.5, 1.0, 0.3]))
    return D.MixtureSameFamily(D.Categorical(t([0.2, 0.5, 0.3])), components)


def _vector_mixture(D: Any, t: Leaf) -> Any:
    components = D.Independent(D.Normal(t([[[-1.0, 0.5], [2.0, 0.1]]] * 2), t([[[0.5, 1.0]]])), 1)
    return D.MixtureSameFamily(D.Categorical(logits=t([[0.1, 0.2], [0.5, -1.0]])), components)


def _transformed(D: Any, t: Leaf) -> Any:
    steps = [D.AffineTransform(t([0.3, -0.2]), t([2.0, -0.5])), D.SigmoidTransform()]
    return D.TransformedDistribution(D.Normal(t([0.0, 0.1]), t([1.0, 2.0])), steps)


def _broadcasting_transform(D: Any, t: Leaf) -> Any:
    base = D.Normal(t(0.5), t(1.5))
    return D.TransformedDistribution(base, D.AffineTransform(t([0.0, 1.0]), t([1.0, 2.0])))


CASES: dict[str, Builder] = {
    "Bernoulli": lambda D, t: D.Bernoulli(t([0.2, 0.5, 0.9])),
    "Bernoulli_logits": lambda D, t: D.Bernoulli(logits=t([[-1.0, 0.0], [0.3, 4.0]])),
    "Beta": lambda D, t: D.Beta(t([0.5, 2.0, 5.0]), t([1.5, 0.7, 3.0])),
    "Binomial": lambda D, t: D.Binomial(7, t([0.2, 0.5, 0.95])),
    "Binomial_logits": lambda D, t: D.Binomial(5, logits=t([-1.0, 0.4])),
    "Categorical": lambda D, t: D.Categorical(t(ROWS)),
    "Categorical_logits": lambda D, t: D.Categorical(logits=t(LOGITS)),
    "Categorical_single": lambda D, t: D.Categorical(t([1.0, 3.0, 2.0])),
    "Cauchy": lambda D, t: D.Cauchy(t([0.5, -1.0]), t([1.0, 2.5])),
    "Chi2": lambda D, t: D.Chi2(t([1.5, 4.0, 9.0])),
    "ContinuousBernoulli": lambda D, t: D.ContinuousBernoulli(t([0.1, 0.4, 0.5, 0.9])),
    "ContinuousBernoulli_logits": lambda D, t: D.ContinuousBernoulli(logits=t([-2.0, 0.001, 1.0])),
    "Dirichlet": lambda D, t: D.Dirichlet(t([[0.5, 2.0, 3.0], [1.5, 1.0, 4.0]])),
    "Dirichlet_corners": lambda D, t: D.Dirichlet(t([[0.5, 0.7, 0.2], [1.5, 1.0, 4.0]])),
    "Exponential": lambda D, t: D.Exponential(t([0.5, 2.0])),
    "FisherSnedecor": lambda D, t: D.FisherSnedecor(t([3.0, 5.0, 1.0]), t([5.0, 9.0, 1.5])),
    "Gamma": lambda D, t: D.Gamma(t([0.5, 2.0, 30.0]), t([1.0, 0.3, 5.0])),
    "GeneralizedPareto": lambda D, t: D.GeneralizedPareto(
        t([0.0, 1.0, -1.0, 0.5]), t([1.0, 2.0, 0.5, 1.0]), t([0.0, 0.3, -0.4, 1.2])
    ),
    "Geometric": lambda D, t: D.Geometric(t([0.2, 0.7])),
    "Geometric_logits": lambda D, t: D.Geometric(logits=t([0.3, -1.0])),
    "Gumbel": lambda D, t: D.Gumbel(t([0.5, -1.0]), t([1.0, 2.5])),
    "HalfCauchy": lambda D, t: D.HalfCauchy(t([1.0, 2.5])),
    "HalfNormal": lambda D, t: D.HalfNormal(t([1.0, 2.5])),
    "Independent": lambda D, t: D.Independent(D.Normal(t([[0.5, -1.0]] * 3), t([1.0, 2.0])), 1),
    "Independent_none": lambda D, t: D.Independent(D.Bernoulli(t([0.5, 0.2])), 0),
    "InverseGamma": lambda D, t: D.InverseGamma(t([0.8, 1.5, 4.0]), t([1.0, 2.0, 0.5])),
    "Kumaraswamy": lambda D, t: D.Kumaraswamy(t([0.5, 2.0]), t([1.5, 3.0])),
    "LKJCholesky": lambda D, t: D.LKJCholesky(3, t([0.5, 2.0])),
    "Laplace": lambda D, t: D.Laplace(t([0.5, -1.0]), t([1.0, 2.5])),
    "LogNormal": lambda D, t: D.LogNormal(t([0.5, -1.0]), t([1.0, 0.3])),
    "LogisticNormal": lambda D, t: D.LogisticNormal(t([[0.5, -1.0, 0.2]] * 2), t([1.0, 0.3, 2.0])),
    "LowRankMultivariateNormal": lambda D, t: D.LowRankMultivariateNormal(
        t([[0.5, -1.0, 0.2]] * 2), t([[1.0, 0.2], [0.5, -0.3], [0.1, 0.9]]), t([0.5, 1.0, 2.0])
    ),
    "MixtureSameFamily": _mixture,
    "MixtureSameFamily_vectors": _vector_mixture,
    "Multinomial": lambda D, t: D.Multinomial(6, t(ROWS)),
    "Multinomial_logits": lambda D, t: D.Multinomial(4, logits=t([0.3, -1.0, 2.0])),
    "MultivariateNormal": lambda D, t: D.MultivariateNormal(t([[0.5, -1.0, 0.2]]), t(COVARIANCE)),
    "MultivariateNormal_precision": lambda D, t: D.MultivariateNormal(
        t([0.5, -1.0, 0.2]), precision_matrix=t(COVARIANCE)
    ),
    "MultivariateNormal_factor": lambda D, t: D.MultivariateNormal(
        t([0.5, -1.0, 0.2]), scale_tril=t(BATCHED_FACTOR)
    ),
    "NegativeBinomial": lambda D, t: D.NegativeBinomial(t([3.0, 5.0]), t([0.2, 0.6])),
    "NegativeBinomial_logits": lambda D, t: D.NegativeBinomial(4, logits=t([0.2, -0.6])),
    "Normal": lambda D, t: D.Normal(t([0.5, -1.0]), t([1.0, 2.5])),
    "Normal_broadcast": lambda D, t: D.Normal(t([[0.5], [-1.0]]), t([1.0, 2.5, 0.1])),
    "Normal_many": lambda D, t: D.Normal(t([0.1 * i for i in range(20)]), t([1.0])),
    "OneHotCategorical": lambda D, t: D.OneHotCategorical(t(ROWS)),
    "OneHotCategorical_logits": lambda D, t: D.OneHotCategorical(logits=t(LOGITS)),
    "OneHotCategoricalStraightThrough": lambda D, t: D.OneHotCategoricalStraightThrough(t(ROWS)),
    "Pareto": lambda D, t: D.Pareto(t([1.0, 2.0, 0.5]), t([0.8, 1.5, 3.0])),
    "Poisson": lambda D, t: D.Poisson(t([0.5, 4.0, 30.0])),
    "RelaxedBernoulli": lambda D, t: D.RelaxedBernoulli(t(0.7), t([0.2, 0.5, 0.9])),
    "RelaxedBernoulli_logits": lambda D, t: D.RelaxedBernoulli(t([0.7, 2.0]), None, t([0.2, -1.0])),
    "RelaxedOneHotCategorical": lambda D, t: D.RelaxedOneHotCategorical(t(0.7), t(ROWS)),
    "RelaxedOneHotCategorical_logits": lambda D, t: D.RelaxedOneHotCategorical(
        t(1.5), logits=t(LOGITS)
    ),
    "StudentT": lambda D, t: D.StudentT(t([0.8, 1.5, 4.0]), t([0.1, 0.2, 0.3]), t([1.0, 2.0, 0.5])),
    "StudentT_defaults": lambda D, t: D.StudentT(t([3.0, 9.0])),
    "TransformedDistribution": _transformed,
    "TransformedDistribution_broadcast": _broadcasting_transform,
    "Uniform": lambda D, t: D.Uniform(t([0.0, -1.0]), t([1.0, 2.5])),
    "VonMises": lambda D, t: D.VonMises(t([0.5, -1.0, 0.0]), t([0.5, 4.0, 30.0])),
    "Weibull": lambda D, t: D.Weibull(t([1.0, 2.0]), t([1.5, 3.0])),
    "Wishart": lambda D, t: D.Wishart(t([4.0, 7.5]), t(COVARIANCE)),
    "Wishart_factor": lambda D, t: D.Wishart(5.0, scale_tril=t(FACTOR)),
    "Wishart_precision": lambda D, t: D.Wishart(t(6.0), precision_matrix=t(COVARIANCE)),
}  # fmt: skip


class Built(NamedTuple):
    distribution: Any
    leaves: list[Any]


def build(builder: Builder, library: Any, dtype: str = "float64") -> Built:
    """One distribution of a library, and the leaves it was made of."""
    leaves: list[Any] = []

    def leaf(data: Any) -> Any:
        kind = getattr(library, dtype)
        leaves.append(library.tensor(data, dtype=kind, requires_grad=True))
        return leaves[-1]

    return Built(builder(library.distributions, leaf), leaves)


def both(name: str, dtype: str | None = None) -> tuple[Built, Built]:
    """The same distribution of clew and of torch, by its name in the table."""
    # torch compares the index of a generalized Pareto distribution with a float32 zero, which
    # fails in float64.
    dtype = dtype or ("float32" if name == "GeneralizedPareto" else "float64")
    return build(CASES[name], clew, dtype), build(CASES[name], torch, dtype)


def drawn(built: Built, shape: tuple[int, ...], method: str = "sample") -> Any:
    """Draw from torch's distribution.

    torch's Wishart takes sound samples for singular ones and draws them again; told not to try
    again, it gives the first ones, as clew does.
    """
    library = torch if isinstance(built.leaves[0], torch.Tensor) else clew
    library.manual_seed(11)
    if isinstance(built.distribution, torch.distributions.Wishart):
        with warnings.catch_warnings(), torch.set_grad_enabled(method == "rsample"):
            warnings.simplefilter("ignore")
            return built.distribution.rsample(shape, max_try_correction=0)
    return getattr(built.distribution, method)(shape)


def gradients(library: Any, output: Any, leaves: list[Any]) -> list[Any]:
    """The gradients of a weighted sum of an output, None where it does not depend on a leaf."""
    if not output.requires_grad or not leaves:
        return [None] * len(leaves)
    weights = library.arange(1, output.numel() + 1, dtype=output.dtype) / output.numel()
    total = (output * weights.reshape(output.shape)).sum()
    return list(library.autograd.grad(total, leaves, allow_unused=True, retain_graph=True))
