"""Distributions: samples of the same seed, densities, moments, their gradients, and errors."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew
from tests.distribution_cases import CASES, Built, both, build, drawn, gradients
from tests.oracle import assert_same, to_clew
from tests.twice import raised, twice

NAMES = list(CASES)
# torch computes dx/dα of gamma numbers by approximations with a relative error of up to 1e-3 (the
# exact derivatives are tested below), and the Bessel functions of von Mises to single precision.
APPROXIMATE_IN_TORCH = {
    "Beta", "Chi2", "Dirichlet", "Dirichlet_corners", "FisherSnedecor", "Gamma", "InverseGamma",
    "StudentT", "StudentT_defaults", "Wishart", "Wishart_factor", "Wishart_precision",
}  # fmt: skip
# torch's formula for this mode gives nan everywhere; clew gives ((a - 1) / (ab - 1))^(1/a).
WRONG_IN_TORCH = ("Kumaraswamy", "mode")


def observe(library: Any, function: Callable[[], Any], leaves: list[Any]) -> Any:
    """A result and its gradients, or the error in place of them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function()
    except NotImplementedError:
        return "not implemented"
    return [result, gradients(library, result, leaves)]


def compare(mine: Built, theirs: Built, method: Callable[[Any, Any], Any], **tolerance: Any) -> Any:
    expected = observe(torch, lambda: method(theirs.distribution, torch), theirs.leaves)
    actual = observe(clew, lambda: method(mine.distribution, clew), mine.leaves)
    assert_same(actual, expected, **tolerance)
    return expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_samples_of_the_same_seed(name: str, dtype: str) -> None:
    mine, theirs = both(name, dtype)
    for shape in [(), (3,), (2, 4)]:
        assert_same(drawn(mine, shape), drawn(theirs, shape))
        assert_same(clew.rand(3), torch.rand(3))  # the streams go on alike


@pytest.mark.parametrize("name", NAMES)
def test_reparametrized_samples(name: str) -> None:
    mine, theirs = both(name)
    tolerance = {"rtol": 3e-3, "atol": 1e-4} if name in APPROXIMATE_IN_TORCH else {}
    built = {clew: mine, torch: theirs}
    assert mine.distribution.has_rsample == theirs.distribution.has_rsample
    compare(mine, theirs, lambda d, m: drawn(built[m], (3, 2), "rsample"), **tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_log_prob(name: str) -> None:
    mine, theirs = both(name)
    value = drawn(theirs, (3,))
    continuous = not theirs.distribution.support.is_discrete
    values = {torch: value.requires_grad_(continuous)}
    values[clew] = to_clew(values[torch])
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if name == "VonMises" else {}
    mine.leaves.extend([values[clew]] * continuous)
    theirs.leaves.extend([values[torch]] * continuous)
    compare(mine, theirs, lambda d, m: d.log_prob(values[m]), **tolerance)


@pytest.mark.parametrize("method", ["cdf", "icdf"])
@pytest.mark.parametrize("name", NAMES)
def test_cumulative_distribution(name: str, method: str) -> None:
    mine, theirs = both(name)
    value = drawn(theirs, (3,))
    shape = value.shape
    if method == "icdf":
        value = torch.linspace(0.01, 0.99, value.numel(), dtype=theirs.leaves[0].dtype)
        value = value.reshape(shape)
    values = {torch: value, clew: to_clew(value)}
    if name in ("Gamma", "Chi2", "InverseGamma"):  # igamma has no derivative by its first argument
        mine, theirs = Built(mine.distribution, []), Built(theirs.distribution, [])
    compare(mine, theirs, lambda d, m: getattr(d, method)(values[m]))


MOMENTS = [
    (name, what)
    for name in NAMES
    for what in ["mean", "variance", "stddev", "mode", "entropy", "perplexity"]
    if (name, what) != WRONG_IN_TORCH
]


@pytest.mark.parametrize(("name", "what"), MOMENTS)
def test_moments_and_entropy(name: str, what: str) -> None:
    mine, theirs = both(name)
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if name == "VonMises" else {}

    def ask(distribution: Any, library: Any) -> Any:
        value = getattr(distribution, what)
        return value() if callable(value) else value

    compare(mine, theirs, ask, **tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_description(name: str) -> None:
    mine, theirs = (each.distribution for each in both(name))
    assert repr(mine) == repr(theirs)
    assert repr(mine.support) == repr(theirs.support)
    assert repr(mine.arg_constraints) == repr(theirs.arg_constraints)
    assert mine.batch_shape == tuple(theirs.batch_shape)
    assert mine.event_shape == tuple(theirs.event_shape)
    assert isinstance(mine.batch_shape, clew.Size)
    assert mine.has_enumerate_support == theirs.has_enumerate_support


@pytest.mark.parametrize("expand", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_enumerate_support(name: str, expand: bool) -> None:
    mine, theirs = both(name)
    compare(mine, theirs, lambda d, m: d.enumerate_support(expand))


@pytest.mark.parametrize("name", NAMES)
def test_expand(name: str) -> None:
    built = both(name)
    shape = (4, *built[1].distribution.batch_shape)
    mine, theirs = (Built(each.distribution.expand(shape), each.leaves) for each in built)
    assert repr(mine.distribution) == repr(theirs.distribution)
    assert type(mine.distribution) is type(built[0].distribution)
    assert mine.distribution.batch_shape == shape
    value = drawn(theirs, (2,))
    assert_same(drawn(mine, (2,)), value)
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if name == "VonMises" else {}
    values = {torch: value, clew: to_clew(value)}
    compare(mine, theirs, lambda d, m: d.log_prob(values[m]), **tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_a_value_outside_the_support(name: str) -> None:
    mine, theirs = both(name)
    value = drawn(theirs, (3,))
    for wrong in [torch.full_like(value, -3.5), value * torch.nan, value[..., :1].flatten(), 3.0]:
        # An error within the support check of an empty or oddly shaped value is torch's own.
        expected = raised(lambda wrong=wrong: theirs.distribution.log_prob(wrong))
        actual = raised(lambda wrong=wrong: mine.distribution.log_prob(to_clew(wrong)))
        if expected == "nothing raised":
            assert actual == expected
        else:
            assert actual[0] == expected[0]
            assert actual[-1] == expected[-1]


def test_every_public_name_is_there() -> None:
    theirs = torch.distributions
    for module, names in [
        ("", theirs.__all__),
        ("constraints", theirs.constraints.__all__),
        ("transforms", theirs.transforms.__all__),
        ("utils", theirs.utils.__all__),
        ("constraint_registry", theirs.constraint_registry.__all__),
        ("kl", theirs.kl.__all__),
    ]:
        owner = getattr(clew.distributions, module) if module else clew.distributions
        assert sorted(owner.__all__) == sorted(names)
        assert all(hasattr(owner, each) for each in names)


def test_modules_lie_where_torch_has_them() -> None:
    for name in torch.distributions.__all__:
        theirs = getattr(torch.distributions, name)
        if isinstance(theirs, type) and issubclass(theirs, torch.distributions.Distribution):
            mine = getattr(clew.distributions, name)
            path = mine.__module__.removeprefix("clew.")
            assert path == theirs.__module__.removeprefix("torch.")


def test_kumaraswamy_mode() -> None:
    distribution = clew.distributions.Kumaraswamy(clew.tensor([2.0, 0.5]), clew.tensor([3.0, 3.0]))
    mode = distribution.mode
    grid = clew.linspace(0.001, 0.999, 999).unsqueeze(-1)
    highest = grid[distribution.log_prob(grid)[:, 0].argmax()]
    assert abs(mode[0].item() - highest.item()) < 1e-3
    assert mode[1].isnan()


# -- scenarios that run in both libraries ----------------------------------------------------


@twice
def test_numbers_as_parameters(m: Any) -> Any:
    D = m.distributions
    found = [
        D.Normal(0, 1), D.Uniform(0, 2), D.Beta(2, 3.0), D.Gamma(1, 1), D.Bernoulli(0.5),
        D.StudentT(3), D.Exponential(2.0), D.Geometric(logits=0.1), D.LKJCholesky(2),
        D.Gumbel(0.0, 1), D.HalfNormal(2), D.Weibull(1, 2), D.Poisson(3), D.Chi2(2),
    ]  # fmt: skip
    return [(repr(d), d.sample((2,)), list(d.batch_shape), d.mean if i != 8 else 0)
            for i, d in enumerate(found)]  # fmt: skip


@twice
def test_a_tensor_gives_its_dtype_to_numbers(m: Any) -> Any:
    D = m.distributions
    loc = m.zeros(2, dtype=m.float64)
    d = D.Normal(loc, 1)
    return d.scale, d.sample(), D.utils.broadcast_all(1, loc, 2.5), D.Normal(0, loc + 1).loc


@twice
def test_parameters_of_mistaken_kinds(m: Any) -> Any:
    D, t, ones, eye = m.distributions, m.tensor, m.ones, m.eye
    return [
        raised(D.Normal, 0.0, -1.0),
        raised(D.Normal, "a", 1.0),
        raised(D.Normal, t([0.0, float("nan")]), 1.0),
        raised(D.Bernoulli),
        raised(D.Bernoulli, 0.5, 0.5),
        raised(D.Bernoulli, t(1.5)),
        raised(D.Categorical, t(1.0)),
        raised(D.Categorical, logits=t(1.0)),
        raised(D.Categorical, -ones(3)),
        raised(D.OneHotCategorical, t(1.0)),
        raised(D.Dirichlet, t(1.0)),
        raised(D.Dirichlet, t([1.0, -1.0])),
        raised(D.Beta, -1.0, 1.0),
        raised(D.Gamma, 1.0, 0.0),
        raised(D.Uniform, 1.0, 0.0),
        raised(D.Geometric, 0.0),
        raised(D.Poisson, -1.0),
        raised(D.Binomial, -1, t(0.5)),
        raised(D.NegativeBinomial, -1.0, t(0.5)),
        raised(D.NegativeBinomial, 1.0, t(1.0)),
        raised(D.Multinomial, t([3]), ones(2), words=5),
        raised(D.VonMises, t(0.0), t(-1.0)),
        raised(D.ContinuousBernoulli, t(1.5), validate_args=True),
        raised(D.LKJCholesky, 1),
        raised(D.Independent, D.Normal(0.0, 1.0), 1),
        raised(D.MultivariateNormal, t(1.0), eye(2)),
        raised(D.MultivariateNormal, ones(2)),
        raised(D.MultivariateNormal, ones(2), ones(2)),
        raised(D.MultivariateNormal, ones(2), precision_matrix=ones(2)),
        raised(D.MultivariateNormal, ones(2), scale_tril=ones(2)),
        raised(D.MultivariateNormal, ones(2), -eye(2)),
        raised(D.MultivariateNormal, ones(2), scale_tril=ones(2, 2)),
        raised(D.LowRankMultivariateNormal, t(0.0), ones(2), ones(2)),
        raised(D.LowRankMultivariateNormal, ones(2), ones(2), ones(2)),
        raised(D.LowRankMultivariateNormal, ones(2), ones(3, 1), ones(2)),
        raised(D.LowRankMultivariateNormal, ones(2), ones(2, 1), ones(3)),
        raised(D.LowRankMultivariateNormal, ones(3, 2), ones(2, 2, 1), ones(2)),
        raised(D.Wishart, t(1.0), eye(2)),
        raised(D.Wishart, t(3.0), ones(2)),
        raised(D.Wishart, t(3.0)),
        raised(D.MixtureSameFamily, D.Normal(0.0, 1.0), D.Normal(ones(2), 1.0)),
        raised(D.MixtureSameFamily, D.Categorical(ones(2)), 3),
        raised(D.MixtureSameFamily, D.Categorical(ones(3)), D.Normal(ones(2), 1.0)),
        raised(D.MixtureSameFamily, D.Categorical(ones(2, 3)), D.Normal(ones(3, 3), 1.0)),
        raised(D.TransformedDistribution, D.Normal(0.0, 1.0), [3]),
        raised(D.TransformedDistribution, D.Normal(0.0, 1.0), 3),
        raised(D.TransformedDistribution, D.Normal(0.0, 1.0), D.StickBreakingTransform()),
        raised(D.TransformedDistribution, D.Normal(ones(2), 1.0), D.ReshapeTransform((3,), (3, 1))),
        raised(D.Distribution.set_default_validate_args, 3),
    ]


@twice
def test_checks_can_be_turned_off(m: Any) -> Any:
    D = m.distributions
    unchecked = D.Normal(0.0, -1.0, validate_args=False)
    expanded = D.Normal(m.zeros(1), 1.0, validate_args=False).expand((3,))
    D.Distribution.set_default_validate_args(False)
    try:
        outside = D.Exponential(1.0).log_prob(m.tensor(-1.0))
    finally:
        D.Distribution.set_default_validate_args(True)
    return unchecked.log_prob(m.tensor(0.5)), outside, expanded._validate_args


@twice
def test_values_of_mistaken_shapes(m: Any) -> Any:
    D = m.distributions
    vector = D.MultivariateNormal(m.zeros(2), m.eye(2))
    return [
        raised(vector.log_prob, m.zeros(3), words=20),
        raised(D.Normal(m.zeros(2), 1.0).log_prob, m.zeros(3), words=20),
        raised(D.Normal(0.0, 1.0).log_prob, 1.0, words=8),
        raised(D.Categorical(m.ones(3)).log_prob, m.tensor(5), words=20),
        raised(D.Binomial(m.tensor([2, 3]), m.ones(2) / 2).enumerate_support),
        raised(D.Binomial(m.tensor([2, 3]), m.ones(2) / 2).entropy),
    ]


@twice
def test_what_is_not_implemented(m: Any) -> Any:
    D = m.distributions
    normal, poisson = D.Normal(0.0, 1.0), D.Poisson(1.0)
    # torch has no words for most of these.
    return [
        raised(normal.enumerate_support, words=0), raised(poisson.rsample, words=0),
        raised(poisson.entropy, words=0), raised(poisson.cdf, m.tensor(1.0), words=0),
        raised(poisson.icdf, m.tensor(0.5), words=0),
        raised(D.Independent(D.Bernoulli(m.ones(2) / 2), 1).enumerate_support),
        raised(lambda: D.TransformedDistribution(normal, D.ExpTransform()).mean, words=0),
    ]  # fmt: skip


def test_what_is_not_implemented_is_named_with_a_way_around() -> None:
    poisson = clew.distributions.Poisson(1.0)
    with pytest.raises(NotImplementedError, match=r"Poisson.* does not implement entropy\n  Est"):
        poisson.entropy()
    with pytest.raises(NotImplementedError, match=r"AbsTransform.* has no sign"):
        _ = clew.distributions.AbsTransform().sign
    with pytest.raises(NotImplementedError, match=r"They have 1 and 0\."):
        normal = clew.distributions.Normal(clew.zeros(2), 1.0)
        wrap = clew.distributions.Independent
        clew.distributions.kl_divergence(wrap(normal, 1), wrap(normal, 0))


@twice
def test_a_distribution_of_ones_own(m: Any) -> Any:
    D = m.distributions

    class Shifted(D.Normal):
        def __init__(self, shift: Any) -> None:
            super().__init__(shift, 1.0)

    class Plain(D.Distribution):
        pass

    class Point(D.Distribution):
        arg_constraints: Any = {}  # noqa: RUF012  # as users write it

        def rsample(self, sample_shape: Any = ()) -> Any:
            return m.ones(self._extended_shape(sample_shape))

        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return value * 0

    plain = Plain()
    return [
        raised(Shifted(1.0).expand, (2,), words=20),
        Shifted(1.0).log_prob(m.tensor(0.0)),
        # torch has no words for these.
        raised(plain.sample, words=0), raised(plain.expand, (2,), words=0),
        raised(lambda: plain.support, words=0), raised(lambda: plain.arg_constraints, words=0),
        raised(lambda: plain.mean, words=0), raised(plain.log_prob, m.tensor(1.0), words=0),
        raised(plain.entropy, words=0),
        Point((2,)).sample((3,)), Point().log_prob(m.tensor(1.0)), repr(Point()),
    ]  # fmt: skip


@twice
def test_the_other_parameter_is_computed_once(m: Any) -> Any:
    D = m.distributions
    given = m.tensor([0.2, 0.7], requires_grad=True)
    d = D.Bernoulli(given)
    with m.no_grad():
        d.logits.sum()
    d.logits.sum().backward()
    return d.logits is d.logits, given.grad, d.logits, repr(d), d.param_shape


@twice
def test_extreme_probabilities(m: Any) -> Any:
    D = m.distributions
    sure = m.tensor([0.0, 1.0, 0.5])
    d = D.Bernoulli(sure)
    c = D.Categorical(m.tensor([0.0, 1.0]))
    return [
        d.log_prob(m.tensor([0.0, 1.0, 1.0])), d.log_prob(m.tensor([1.0, 0.0, 1.0])), d.entropy(),
        c.log_prob(m.tensor([0, 1])), c.entropy(), d.mode,
        D.Categorical(logits=m.tensor([-m.inf, 0.0])).entropy(),
        D.Geometric(m.tensor(1.0)).log_prob(m.tensor([0.0, 2.0])),
        D.Multinomial(2, m.tensor([0.0, 1.0])).log_prob(m.tensor([[0.0, 2.0], [1.0, 1.0]])),
        D.Binomial(3, m.tensor([0.0, 1.0])).log_prob(m.tensor([0.0, 3.0])),
        D.NegativeBinomial(0.0, m.tensor(0.5)).log_prob(m.tensor([0.0])),
        D.Poisson(m.tensor(0.0)).log_prob(m.tensor([0.0, 1.0])),
        D.Uniform(0.0, 1.0).log_prob(m.tensor([0.0, 0.5, 1.0])),
    ]  # fmt: skip


@twice
def test_low_degrees_of_freedom_warn(m: Any) -> Any:
    return repr(m.distributions.Wishart(m.tensor(1.5), m.eye(2)))


@twice
def test_matrices_of_a_normal_vector(m: Any) -> Any:
    D = m.distributions
    matrix = m.tensor([[2.0, 0.5], [0.5, 1.0]])
    by_precision = D.MultivariateNormal(m.zeros(2), precision_matrix=matrix)
    low = D.LowRankMultivariateNormal(m.zeros(2), m.ones(2, 1), m.tensor([1.0, 2.0]))
    return [
        by_precision.covariance_matrix, by_precision.scale_tril,
        low.covariance_matrix, low.precision_matrix, low.scale_tril, low.variance,
    ]  # fmt: skip


def test_distributions_are_imported_when_asked_for() -> None:
    code = (
        "import sys, clew; before = 'clew.distributions' in sys.modules; "
        "print(before, clew.distributions.Normal.__name__)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["False", "Normal"], result.stderr


def test_an_expanded_distribution_shares_memory() -> None:
    built = build(CASES["Normal"], clew)
    expanded = built.distribution.expand((1000, 2))
    assert expanded.loc._array.base is not None
    assert expanded.loc.stride() == (0, 1)


@twice
def test_continuous_bernoulli_with_large_logits(lib: Any) -> Any:
    D, logits = lib.distributions, lib.tensor([100.0, -100.0, 1e4], dtype=lib.float64)
    one = D.ContinuousBernoulli(logits=logits)
    return one.log_prob(lib.tensor([1.0, 0.0, 0.0], dtype=lib.float64)), one.probs, one.mean
