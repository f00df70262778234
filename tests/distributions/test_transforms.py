"""Transforms, constraints, the registry between them, and the helpers of distributions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew
from clew.autograd.functional import jacobian
from tests.distribution_cases import gradients
from tests.oracle import assert_same
from tests.twice import raised, twice

Maker = Callable[[Any, Any], Any]

VECTOR = [[0.3, -1.2, 0.7], [2.0, 0.1, -0.4]]
POSITIVE = [[0.3, 1.2, 0.7], [2.0, 0.1, 5.0]]
MATRIX = [[[0.3, -1.2], [0.7, 0.5]], [[1.0, 0.2], [-0.3, 2.0]]]

# What to make, and an input.
TRANSFORMS: dict[str, tuple[Maker, Any]] = {
    "Exp": (lambda D, t: D.ExpTransform(), VECTOR),
    "Exp_inverse": (lambda D, t: D.ExpTransform().inv, POSITIVE),
    "Power": (lambda D, t: D.PowerTransform(t([2.0, 0.5, -1.5])), POSITIVE),
    "Power_number": (lambda D, t: D.PowerTransform(3), POSITIVE),
    "Sigmoid": (lambda D, t: D.SigmoidTransform(), VECTOR),
    "Softplus": (lambda D, t: D.SoftplusTransform(), VECTOR),
    "Tanh": (lambda D, t: D.TanhTransform(), VECTOR),
    "Abs": (lambda D, t: D.AbsTransform(), VECTOR),
    "Affine": (lambda D, t: D.AffineTransform(t([0.5, 1.0, 0.0]), t([2.0, -1.0, 0.3])), VECTOR),
    "Affine_numbers": (lambda D, t: D.AffineTransform(1.0, -2.0), VECTOR),
    "Affine_events": (lambda D, t: D.AffineTransform(1.0, t([2.0, -1.0, 0.3]), 1), VECTOR),
    "Affine_number_events": (lambda D, t: D.AffineTransform(1.0, 2.0, event_dim=2), VECTOR),
    "Cumulative": (
        lambda D, t: D.CumulativeDistributionTransform(D.Normal(t([0.1, 0.2, 0.3]), 2.0)), VECTOR
    ),
    "Compose": (
        lambda D, t: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1, 2)]), VECTOR
    ),
    "Compose_vectors": (
        lambda D, t: D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.StickBreakingTransform()]),
        VECTOR,
    ),
    "Compose_nothing": (lambda D, t: D.identity_transform, VECTOR),
    "Compose_inverse": (
        lambda D, t: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0, 2)]).inv, POSITIVE
    ),
    "Independent": (lambda D, t: D.IndependentTransform(D.ExpTransform(), 1), VECTOR),
    "Reshape": (lambda D, t: D.ReshapeTransform((3,), (1, 3, 1)), VECTOR),
    "Softmax": (lambda D, t: D.SoftmaxTransform(), VECTOR),
    "StickBreaking": (lambda D, t: D.StickBreakingTransform(), VECTOR),
    "CorrCholesky": (lambda D, t: D.CorrCholeskyTransform(), VECTOR),
    "LowerCholesky": (lambda D, t: D.LowerCholeskyTransform(), MATRIX),
    "PositiveDefinite": (lambda D, t: D.PositiveDefiniteTransform(), MATRIX),
    "Cat": (
        lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [2, 1]), VECTOR
    ),
    "Cat_first": (lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], 0), VECTOR),
    "Stack": (
        lambda D, t: D.StackTransform(
            [D.ExpTransform(), D.TanhTransform(), D.AffineTransform(0, 2)], -1
        ),
        VECTOR,
    ),
}  # fmt: skip


def applied(library: Any, name: str) -> Any:
    """Everything a transform says about an input, with gradients."""
    maker, data = TRANSFORMS[name]
    leaves: list[Any] = []

    def leaf(values: Any) -> Any:
        leaves.append(library.tensor(values, dtype=library.float64, requires_grad=True))
        return leaves[-1]

    transform = maker(library.distributions, leaf)
    x = leaf(data)
    y = transform(x)
    back = transform.inv(y.detach())
    found = [y, back, gradients(library, y, leaves), transform.bijective, repr(transform)]
    found += [list(transform.forward_shape(x.shape)), list(transform.inverse_shape(y.shape))]
    found += [repr(transform.domain), repr(transform.codomain), repr(transform.inv)]
    try:
        stretch = transform.log_abs_det_jacobian(x, y)
        found.append([stretch, gradients(library, stretch, leaves)])
    except NotImplementedError:
        found.append("not implemented")
    try:
        found.append(transform.sign)
    except NotImplementedError:
        found.append("no sign")
    return found


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_transform(name: str) -> None:
    assert_same(applied(clew, name), applied(torch, name))


BIJECTIONS_OF_VECTORS = ["Exp", "Sigmoid", "Softplus", "Tanh", "Affine", "Compose", "Independent"]


@pytest.mark.parametrize("name", BIJECTIONS_OF_VECTORS)
def test_stretch_is_that_of_the_jacobian(name: str) -> None:
    maker, data = TRANSFORMS[name]
    transform = maker(clew.distributions, lambda v: clew.tensor(v, dtype=clew.float64))
    x = clew.tensor(data[0], dtype=clew.float64)
    exact = clew.linalg.slogdet(jacobian(transform, x)).logabsdet
    assert clew.allclose(transform.log_abs_det_jacobian(x, transform(x)).sum(), exact)


def test_stretch_of_shares_is_that_of_the_jacobian() -> None:
    transform = clew.distributions.StickBreakingTransform()
    x = clew.tensor(VECTOR[0], dtype=clew.float64)
    exact = clew.linalg.slogdet(jacobian(lambda v: transform(v)[:-1], x)).logabsdet
    assert clew.allclose(transform.log_abs_det_jacobian(x, transform(x)), exact)


def test_stretch_of_correlations_is_that_of_the_jacobian() -> None:
    transform = clew.distributions.CorrCholeskyTransform()
    x = clew.tensor(VECTOR[0], dtype=clew.float64)
    below = clew.distributions.utils.tril_matrix_to_vec
    exact = clew.linalg.slogdet(jacobian(lambda v: below(transform(v), diag=-1), x)).logabsdet
    assert clew.allclose(transform.log_abs_det_jacobian(x, transform(x)), exact)


@twice
def test_inverse_of_an_inverse_is_the_transform(m: Any) -> Any:
    D = m.distributions
    transform = D.ExpTransform()
    composed = D.ComposeTransform([transform, D.AffineTransform(1, 2)])
    return (
        transform.inv.inv is transform,
        composed.inv.inv is composed,
        transform.inv is transform.inv,
    )


@twice
def test_equality(m: Any) -> Any:
    D = m.distributions
    exp, one = D.ExpTransform(), m.ones(2)
    return [
        exp == D.ExpTransform(), exp == D.TanhTransform(), exp.inv == D.ExpTransform().inv,
        D.AffineTransform(1, 2) == D.AffineTransform(1, 2),
        D.AffineTransform(1, 2) == D.AffineTransform(1, 3),
        D.AffineTransform(one, 2) == D.AffineTransform(one, 2),
        D.AffineTransform(one, 2) == exp,
        D.PowerTransform(2.0) == D.PowerTransform(2.0),
        D.PowerTransform(2.0) == D.PowerTransform(3.0),
        D.ComposeTransform([exp]) == D.ComposeTransform([exp]),
        D.ComposeTransform([exp]) == exp, exp != D.ExpTransform(),
        D.ReshapeTransform((2,), (2,)) == D.ReshapeTransform((2,), (2,)),
        raised(hash, exp, words=2),
    ]  # fmt: skip


@twice
def test_cache(m: Any) -> Any:
    D = m.distributions
    found = []
    for make in [
        lambda: D.ExpTransform(cache_size=1),
        lambda: D.AffineTransform(1.0, 2.0, cache_size=1),
        lambda: D.ExpTransform().with_cache(),
        lambda: D.PowerTransform(2.0).with_cache(),
        lambda: D.IndependentTransform(D.ExpTransform(), 1).with_cache(),
        lambda: D.ReshapeTransform((2,), (1, 2)).with_cache(),
        lambda: D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)).with_cache(),
        lambda: D.CatTransform([D.ExpTransform()] * 2).with_cache(),
        lambda: D.StackTransform([D.ExpTransform()] * 2).with_cache(),
        lambda: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0, 2)], cache_size=1),
        lambda: D.TanhTransform().inv.with_cache().inv,
    ]:
        transform, x = make(), m.tensor([0.5, 0.3])
        y = transform(x)
        found.append(
            (transform(x) is y, transform.inv(y) is x, transform.with_cache(1) is transform)
        )
    return [*found, raised(D.ExpTransform, cache_size=2)]


@twice
def test_mistakes_with_transforms(m: Any) -> Any:
    D = m.distributions
    reshape, corr = D.ReshapeTransform((2,), (1, 2)), D.CorrCholeskyTransform()
    return [
        # torch has no words for these three.
        raised(D.Transform(), m.tensor(1.0), words=0),
        raised(D.AbsTransform().log_abs_det_jacobian, m.ones(1), m.ones(1), words=0),
        raised(lambda: D.AbsTransform().sign, words=0),
        raised(D.ReshapeTransform, (2,), (3,)),
        raised(reshape.forward_shape, (3,)),
        raised(reshape.forward_shape, (), words=4),
        raised(reshape, m.zeros(3)),
        raised(D.SoftmaxTransform().forward_shape, (), words=4),
        raised(D.StickBreakingTransform().inverse_shape, (), words=4),
        raised(corr.forward_shape, (4,)),
        raised(corr.inverse_shape, (4, 3), words=3),
        raised(corr.inverse_shape, (4,), words=3),
        raised(corr, m.zeros(4)),
        raised(D.IndependentTransform(D.ExpTransform(), 1), m.tensor(1.0), words=4),
        raised(D.CatTransform, [D.ExpTransform()], lengths=[2, 3]),
        raised(D.CatTransform([D.ExpTransform()], lengths=[2]), m.zeros(3)),
        raised(D.StackTransform([D.ExpTransform()]), m.zeros(3)),
        raised(D.StackTransform, [3]),
        raised(D.CatTransform([D.ExpTransform()], dim=3), m.ones(2)),
        raised(lambda: D.StickBreakingTransform().sign, words=0),  # nor for this
        raised(lambda: D.ReshapeTransform((2,), (1, 2)).event_dim),
    ]


def test_transforms_survive_copying() -> None:
    for transform in [clew.distributions.ExpTransform(), clew.distributions.AffineTransform(1, 2)]:
        inverse = transform.inv
        assert pickle.loads(pickle.dumps(transform)) == transform
        assert copy.deepcopy(transform) == transform
        assert inverse.inv is transform


def test_distributions_survive_copying() -> None:
    normal = clew.distributions.Normal(clew.zeros(2), clew.ones(2))
    for again in [pickle.loads(pickle.dumps(normal)), copy.deepcopy(normal)]:
        assert repr(again) == repr(normal)
        assert clew.equal(again.log_prob(clew.ones(2)), normal.log_prob(clew.ones(2)))


# -- constraints -----------------------------------------------------------------------------

CONSTRAINTS: dict[str, Callable[[Any], Any]] = {
    "boolean": lambda c: c.boolean,
    "real": lambda c: c.real,
    "real_vector": lambda c: c.real_vector,
    "positive": lambda c: c.positive,
    "nonnegative": lambda c: c.nonnegative,
    "greater_than": lambda c: c.greater_than(0.5),
    "greater_than_eq": lambda c: c.greater_than_eq(1),
    "less_than": lambda c: c.less_than(1.0),
    "interval": lambda c: c.interval(-1.0, 1.0),
    "half_open_interval": lambda c: c.half_open_interval(0.0, 1.0),
    "unit_interval": lambda c: c.unit_interval,
    "integer_interval": lambda c: c.integer_interval(0, 2),
    "nonnegative_integer": lambda c: c.nonnegative_integer,
    "positive_integer": lambda c: c.positive_integer,
    "integer_less_than": lambda c: c._IntegerLessThan(1),
    "one_hot": lambda c: c.one_hot,
    "simplex": lambda c: c.simplex,
    "multinomial": lambda c: c.multinomial(2),
    "lower_triangular": lambda c: c.lower_triangular,
    "lower_cholesky": lambda c: c.lower_cholesky,
    "corr_cholesky": lambda c: c.corr_cholesky,
    "square": lambda c: c.square,
    "symmetric": lambda c: c.symmetric,
    "positive_semidefinite": lambda c: c.positive_semidefinite,
    "positive_definite": lambda c: c.positive_definite,
    "independent": lambda c: c.independent(c.positive, 2),
    "cat": lambda c: c.cat([c.positive, c.real], dim=-1, lengths=[1, 1]),
    "stack": lambda c: c.stack([c.positive, c.real], dim=-1),
    "stack_first": lambda c: c.stack([c.positive, c.real], dim=0),
    "mixture": lambda c: c.MixtureSameFamilyConstraint(c.positive),
    "dependent_known": lambda c: c.dependent(is_discrete=True, event_dim=1),
}
VALUES = [
    [[0.0, 1.0], [1.0, 0.0]],
    [[0.5, 0.5], [0.2, 0.8]],
    [[1.0, 0.0], [0.6, 0.8]],
    [[2.0, 0.3], [0.3, 1.0]],
    [[-1.0, float("nan")], [1.5, float("inf")]],
    [[0.0, 2.0], [1.0, 1.0]],
    [[1.0, 2.0], [2.0, 4.0]],
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
]


@pytest.mark.parametrize("name", list(CONSTRAINTS))
def test_constraint(name: str) -> None:
    mine = CONSTRAINTS[name](clew.distributions.constraints)
    theirs = CONSTRAINTS[name](torch.distributions.constraints)
    assert repr(mine) == repr(theirs)
    assert (mine.is_discrete, mine.event_dim) == (theirs.is_discrete, theirs.event_dim)
    for value in VALUES:
        try:
            expected = theirs.check(torch.tensor(value))
        except (ValueError, RuntimeError, AssertionError) as error:
            found = raised(mine.check, clew.tensor(value), words=3)
            assert found[0] == type(error).__name__, (found, error)
            continue
        assert_same(mine.check(clew.tensor(value)), expected)


@twice
def test_constraints_that_depend(m: Any) -> Any:
    c = m.distributions.constraints
    uniform = m.distributions.Uniform
    return [
        raised(c.dependent.check, m.ones(1)), raised(lambda: c.dependent.event_dim),
        raised(lambda: c.dependent.is_discrete), repr(c.dependent), c.is_dependent(c.dependent),
        c.is_dependent(c.real), c.is_dependent(uniform.support), uniform.support.event_dim,
        repr(uniform(0.0, 1.0).support), raised(c.Constraint().check, m.ones(1)),
        raised(c.independent(c.real, 1).check, m.tensor(1.0)),
        raised(c.independent, c.real, -1), raised(c.independent, 3, 1),
        raised(c.independent, c.real, 1.5), raised(c.MixtureSameFamilyConstraint, 3),
        raised(c.cat([c.real]).check, m.tensor(1.0)), raised(c.stack([c.real]).check, m.ones(())),
        raised(c.MixtureSameFamilyConstraint(c.simplex).check, m.tensor(1.0)),
        raised(c.cat, [3]), raised(c.cat, [c.real], 0, [1, 2]), raised(c.stack, [3]),
    ]  # fmt: skip


# -- registry --------------------------------------------------------------------------------


@twice
def test_transforms_onto_constraints(m: Any) -> Any:
    D, c = m.distributions, m.distributions.constraints
    x = m.tensor([[0.3, -0.7, 1.2], [0.1, 0.5, -2.0], [1.0, 0.0, 0.4]])
    found = []
    for registry in (D.transform_to, D.biject_to):
        for constraint in [
            c.real, c.positive, c.nonnegative, c.greater_than(2.0), c.greater_than_eq(-1.0),
            c.less_than(3.0), c.interval(-1.0, 2.0), c.half_open_interval(0.0, 1.0),
            c.unit_interval, c.simplex, c.corr_cholesky, c.independent(c.positive, 1),
            c.cat([c.positive, c.unit_interval], -1, [1, 2]),
            c.stack([c.positive, c.real, c.less_than(0.0)], 0),
        ]:  # fmt: skip
            transform = registry(constraint)
            y = transform(x)
            found.append([repr(transform), y, transform.inv(y), constraint.check(y)])
    for constraint in [c.lower_cholesky, c.positive_definite, c.positive_semidefinite]:
        found.append([D.transform_to(constraint)(x), raised(D.biject_to, constraint)])
    return [*found, raised(D.biject_to, c.boolean), raised(D.biject_to, 3)]


@twice
def test_registering_a_constraint(m: Any) -> Any:
    D, c = m.distributions, m.distributions.constraints

    class Even(c.Constraint):
        pass

    registry = D.constraint_registry.ConstraintRegistry()
    registry.register(Even, lambda constraint: D.ExpTransform())

    @registry.register(c.real)
    def onto_real(constraint: Any) -> Any:
        return D.TanhTransform()

    return [
        repr(registry(Even())), repr(registry(c.real)),
        raised(registry.register, 3, lambda constraint: None),
        raised(registry.register, int, lambda constraint: None),
    ]  # fmt: skip


# -- helpers ---------------------------------------------------------------------------------


@twice
def test_triangles(m: Any) -> Any:
    utils = m.distributions.utils
    mat = m.arange(32.0).reshape(2, 4, 4)
    found: list[Any] = []
    for diag in (-2, -1, 0, 1, 2):
        vector = utils.tril_matrix_to_vec(mat, diag)
        found += [vector, utils.vec_to_tril_matrix(vector, diag)]
    return [
        *found, raised(utils.tril_matrix_to_vec, mat, 4), raised(utils.tril_matrix_to_vec, mat, -5),
        raised(utils.vec_to_tril_matrix, m.ones(4)),
    ]  # fmt: skip


@twice
def test_probabilities_and_logits(m: Any) -> Any:
    utils = m.distributions.utils
    probs = m.tensor([[0.0, 0.3, 1.0], [0.2, 0.3, 0.5]])
    return [
        utils.probs_to_logits(probs), utils.probs_to_logits(probs, is_binary=True),
        utils.logits_to_probs(probs), utils.logits_to_probs(probs, is_binary=True),
        utils.clamp_probs(probs), utils.clamp_probs(probs.double()),
        raised(utils.broadcast_all, "a", 1.0), utils.broadcast_all(1, 2.0),
        utils.broadcast_all(m.ones(2, 1), m.zeros(3)),
    ]  # fmt: skip


@twice
def test_lazy_property(m: Any) -> Any:
    lazy_property = m.distributions.utils.lazy_property
    computed = []

    class Thing:
        @lazy_property
        def square(self) -> Any:
            computed.append(m.is_grad_enabled())
            return 4

    thing = Thing()
    with m.no_grad():
        first = thing.square
    return first, thing.square, computed, isinstance(Thing.square, lazy_property)


@twice
def test_events_through_transforms(m: Any) -> Any:
    D = m.distributions
    base = D.Normal(m.zeros(4, 3), m.ones(3))
    found = []
    for transforms in [
        [D.StickBreakingTransform()],
        [D.ExpTransform(), D.StickBreakingTransform()],
        [D.StickBreakingTransform(), D.ExpTransform()],
        [D.ReshapeTransform((3,), (3, 1))],
        [D.IndependentTransform(D.ExpTransform(), 2)],
        [D.CorrCholeskyTransform()],
        [D.AffineTransform(m.zeros(2, 1, 1), 2.0)],
        [],
    ]:
        d = D.TransformedDistribution(base, transforms)
        value = d.sample((2,))
        shapes = list(d.batch_shape), list(d.event_shape), repr(d.support), repr(d.base_dist)
        found.append([value, d.log_prob(value), shapes, d.expand((5, *d.batch_shape)).sample()])
    return found
