"""Numbers that distributions draw: their exact derivatives, and what programs do with them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import clew
from tests.oracle import assert_same, to_clew
from tests.twice import raised, twice


@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.0, 2.0, 7.0, 40.0, 900.0])
def test_gamma_numbers_move_as_their_distribution_says(alpha: float) -> None:
    """dx/dα = -(∂P/∂α) / (∂P/∂x), with P from torch and ∂P/∂α by central differences."""
    a = torch.full((12,), alpha, dtype=torch.float64)
    x = torch._standard_gamma(a, generator=torch.Generator().manual_seed(4)).clamp(min=1e-12)
    step = 1e-5 * alpha
    rise = torch.special.gammainc(a + step, x) - torch.special.gammainc(a - step, x)
    density = torch.exp((a - 1) * x.log() - x - a.lgamma())
    expected = -rise / (2 * step) / density
    actual = clew._standard_gamma_grad(to_clew(a), to_clew(x))
    assert_same(actual, expected, rtol=2e-6)


# (x, α, β, dx/dα / (1 - x)), computed with 40 digits by mpmath.
BETA_DERIVATIVES = [
    (0.001, 0.1, 0.5, 0.0802858635522304),
    (0.3, 0.1, 0.1, 18.5884994257607),
    (0.9, 0.5, 0.2, 3.47365528184274),
    (0.02, 0.5, 3.0, 0.120073084366613),
    (0.5, 1.0, 1.0, 0.693147180559945),
    (0.2, 2.0, 5.0, 0.134683913578265),
    (0.7, 2.0, 0.5, 0.463046518013457),
    (0.1, 7.0, 60.0, 0.015026583487822),
    (0.55, 20.0, 20.0, 0.0266568564840608),
    (0.99, 30.0, 0.4, 0.0334978953455057),
    (0.03, 40.0, 1000.0, 0.000850812799457762),
    (1e-06, 0.05, 2.0, 0.000257263112527624),
    (0.999, 3.0, 0.05, 0.390922644696169),
    (0.4, 300.0, 500.0, 0.00129203468523196),
]


def test_beta_numbers_move_as_their_distribution_says() -> None:
    x, alpha, beta, expected = (
        torch.tensor(column, dtype=torch.float64) for column in zip(*BETA_DERIVATIVES)
    )
    actual = clew._dirichlet_grad(*to_clew([x, alpha, alpha + beta]))
    assert_same(actual, expected, rtol=1e-8)


@twice
def test_policy_gradient(m: Any) -> Any:
    logits = m.tensor([[0.1, 0.2, -0.3]] * 4, requires_grad=True)
    policy = m.distributions.Categorical(logits=logits)
    action = policy.sample()
    loss = -(policy.log_prob(action) * m.tensor([1.0, -0.5, 2.0, 0.1])).mean()
    (loss - 0.01 * policy.entropy().mean()).backward()
    return action, loss, logits.grad


@twice
def test_second_derivatives_of_drawn_gamma_numbers(m: Any) -> Any:
    alpha = m.tensor([2.0, 0.5], requires_grad=True)
    (first,) = m.autograd.grad(m._standard_gamma(alpha).sum(), alpha, create_graph=True)
    drawn = m.distributions.Dirichlet(alpha).rsample()
    (by_share,) = m.autograd.grad(drawn[0], alpha, create_graph=True)
    by_hand = m._dirichlet_grad(drawn.detach(), alpha, m.ones(2) * 2.5)
    return [
        raised(m.autograd.grad, first.sum(), alpha, words=3), by_share.requires_grad,
        raised(by_hand.sum().backward, words=0), by_hand.grad_fn.name(),
    ]  # fmt: skip


@twice
def test_sample_n(m: Any) -> Any:
    return m.distributions.Normal(0.0, 1.0).sample_n(3)


@twice
def test_large_samples_of_vectors(m: Any) -> Any:
    D = m.distributions
    d = D.MultivariateNormal(
        m.zeros(2, 1, 3), scale_tril=m.tensor([[[1.0, 0, 0], [2, 1, 0], [1, 1, 1]]])
    )
    value = d.sample((5, 4))
    return value, d.log_prob(value), d.precision_matrix, d.covariance_matrix, d.scale_tril


def test_singular_wishart_samples_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wishart = clew.distributions.Wishart(clew.tensor(4.0), clew.eye(2))
    clew.manual_seed(0)
    first, second, third = (wishart._bartlett_sampling((3,)) for _ in range(3))
    verdicts = iter([[True, False, True], [False, False, True], [False, True, False]])
    monkeypatch.setattr(wishart, "_is_singular", lambda sample: clew.tensor(next(verdicts)))
    clew.manual_seed(0)
    with pytest.warns(UserWarning, match="Singular sample detected"):
        drawn_again = wishart.rsample((3,))
    assert clew.equal(drawn_again, clew.stack([second[0], first[1], third[2]]))
