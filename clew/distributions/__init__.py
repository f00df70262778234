"""Probability distributions: sampling, densities, entropies, divergences, transforms.

The names and shapes are those of `torch.distributions`: a distribution has a `batch_shape` of
independent parameters and an `event_shape` of one value; `sample(shape)` has the shape
`shape + batch_shape + event_shape`, and `log_prob` sums over the event.
"""

from clew.aliasing import explain_missing
from clew.distributions.bernoulli import Bernoulli
from clew.distributions.beta import Beta
from clew.distributions.binomial import Binomial
from clew.distributions.categorical import Categorical
from clew.distributions.cauchy import Cauchy
from clew.distributions.chi2 import Chi2
from clew.distributions.constraint_registry import biject_to, transform_to
from clew.distributions.continuous_bernoulli import ContinuousBernoulli
from clew.distributions.dirichlet import Dirichlet
from clew.distributions.distribution import Distribution
from clew.distributions.exp_family import ExponentialFamily
from clew.distributions.exponential import Exponential
from clew.distributions.fishersnedecor import FisherSnedecor
from clew.distributions.gamma import Gamma
from clew.distributions.generalized_pareto import GeneralizedPareto
from clew.distributions.geometric import Geometric
from clew.distributions.gumbel import Gumbel
from clew.distributions.half_cauchy import HalfCauchy
from clew.distributions.half_normal import HalfNormal
from clew.distributions.independent import Independent
from clew.distributions.inverse_gamma import InverseGamma
from clew.distributions.kl import kl_divergence, register_kl
from clew.distributions.kumaraswamy import Kumaraswamy
from clew.distributions.laplace import Laplace
from clew.distributions.lkj_cholesky import LKJCholesky
from clew.distributions.log_normal import LogNormal
from clew.distributions.logistic_normal import LogisticNormal
from clew.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from clew.distributions.mixture_same_family import MixtureSameFamily
from clew.distributions.multinomial import Multinomial
from clew.distributions.multivariate_normal import MultivariateNormal
from clew.distributions.negative_binomial import NegativeBinomial
from clew.distributions.normal import Normal
from clew.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from clew.distributions.pareto import Pareto
from clew.distributions.poisson import Poisson
from clew.distributions.relaxed_bernoulli import RelaxedBernoulli
from clew.distributions.relaxed_categorical import RelaxedOneHotCategorical
from clew.distributions.studentT import StudentT
from clew.distributions.transformed_distribution import TransformedDistribution
from clew.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from clew.distributions.uniform import Uniform
from clew.distributions.von_mises import VonMises
from clew.distributions.weibull import Weibull
from clew.distributions.wishart import Wishart

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli",
    "Dirichlet", "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "Poisson", "Uniform",
    "VonMises", "Weibull", "Wishart", "TransformedDistribution", "biject_to", "kl_divergence",
    "register_kl", "transform_to",
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform",
    "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftplusTransform",
    "TanhTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform", "Transform",
    "identity_transform",
]  # fmt: skip

explain_missing(__name__)
