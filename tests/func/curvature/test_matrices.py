"""Curvature matrices: equal to the exact ones of small models, and to those of curvlinops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.func import curvature, grad, vmap
from tests.func.curvature.models import (
    as_function,
    exact_gauss_newton,
    exact_hessian,
    formed,
    network,
    whole,
)

KINDS = ("mlp", "mse", "conv")
# Of curvlinops 3.0.1 under PyTorch 2.13, KFAC and EKFAC of "type-2" with the bias in the weight:
# the trace, vᵀAv and the sum of |Av| for v from -1 to 1 in equal steps.
CURVLINOPS = {
    ("mlp", "Hessian"): (2.6148935011063332, 0.7797747025084509, 5.172091430818705),
    ("mlp", "GaussNewton"): (2.2496113559261524, 0.18737589097845092, 1.8756025046645983),
    ("mlp", "KFAC"): (2.320892806377536, 0.4185686758590214, 1.0608138558614795),
    ("mlp", "EKFAC"): (2.2496113559261515, 0.24677411267992444, 0.8613736918832575),
    ("mse", "Hessian"): (7.100783517974641, 0.5315114417335481, 26.59591398319756),
    ("mse", "GaussNewton"): (11.218156572029747, 8.701318546930837, 17.37623459591269),
    ("mse", "KFAC"): (12.34399586689661, 12.594779231498837, 19.784523499190698),
    ("mse", "EKFAC"): (11.218156572029752, 10.951505198114218, 16.315214817959465),
    ("conv", "Hessian"): (12.879989682952264, 7.343154309059588, 38.18867743641792),
    ("conv", "GaussNewton"): (12.817308379058055, 2.1206589886139895, 19.7176871860286),
    ("conv", "KFAC"): (12.90797256727459, 3.308663411462068, 13.045504615332785),
    ("conv", "EKFAC"): (12.817308379058057, 3.2530643431832407, 13.986706161137622),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("exact", [exact_hessian, exact_gauss_newton])
def test_products_are_those_of_the_exact_matrix(kind: str, exact: Any) -> None:
    model, loss, data = network(kind)
    make = curvature.Hessian if exact is exact_hessian else curvature.GaussNewton
    expected = exact(model, loss, data)
    clew.testing.assert_close(formed(make(model, loss, data)), expected)
    clew.testing.assert_close(formed(make(model, loss, [whole(data)])), expected)


@pytest.mark.parametrize(("kind", "name"), CURVLINOPS)
def test_they_are_those_of_curvlinops(kind: str, name: str) -> None:
    matrix = formed(getattr(curvature, name)(*network(kind))).numpy()
    along = np.linspace(-1, 1, len(matrix))
    product = matrix @ along
    found = (np.trace(matrix), along @ product, np.abs(product).sum())
    np.testing.assert_allclose(found, CURVLINOPS[kind, name], rtol=1e-12)


def test_a_part_of_the_parameters() -> None:
    model, loss, data = network("mlp")
    names = ["0.bias", "4.weight"]
    places = np.r_[35:42, 90:108]
    part = formed(curvature.Hessian(model, loss, data, parameters=names))
    exact = exact_hessian(model, loss, data).numpy()
    np.testing.assert_allclose(part.numpy(), exact[np.ix_(places, places)], atol=1e-12)
    model.requires_grad_(False)
    for name in names:
        model.get_parameter(name).requires_grad_()
    clew.testing.assert_close(formed(curvature.Hessian(model, loss, data)), part)


@pytest.mark.parametrize("name", ["Hessian", "KFAC"])
def test_it_stays_where_it_was_made(name: str) -> None:
    """Training on does not move the matrix, and the matrix does not touch the model."""
    model, loss, data = network("mlp")
    gradients = [clew.ones_like(each) for each in model.parameters()]
    for each, gradient in zip(model.parameters(), gradients):
        each.grad = gradient
    matrix = getattr(curvature, name)(model, loss, [whole(data)])
    before = formed(matrix)
    with clew.no_grad():
        for each in model.parameters():
            each.add_(1)
    assert formed(matrix).equal(before)
    assert all(each.grad is gradient for each, gradient in zip(model.parameters(), gradients))
    assert all(bool((gradient == 1).all()) for gradient in gradients)


def test_dropout_and_batch_norm_do_not_change_between_products() -> None:
    clew.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 3)
    )
    model = model.double()
    _, loss, data = network("mlp")
    matrix = curvature.Hessian(model, loss, data)
    state = clew.get_rng_state()
    first = formed(matrix)
    assert clew.get_rng_state().equal(state)
    assert formed(matrix).equal(first)
    clew.testing.assert_close(first, first.T)
    assert int(model[1].num_batches_tracked) == 0
    assert float(model[1].running_mean.abs().sum()) == 0


def test_parameters_that_the_loss_does_not_depend_on() -> None:
    model = nn.Linear(3, 1)
    data = [(clew.randn(4, 3), clew.zeros(4, 1))]
    matrix = curvature.Hessian(model, lambda out, target: out.mean(), data)
    assert (matrix @ clew.ones(4)).tolist() == [0.0] * 4


# -- K-FAC -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["KFAC", "EKFAC"])
def test_a_linear_model_has_it_exactly(name: str) -> None:
    """With squared errors, what comes back is the same for all examples."""
    _, loss, data = network("mse")
    model = nn.Linear(5, 3).double()
    exact = exact_gauss_newton(model, loss, data)
    clew.testing.assert_close(formed(getattr(curvature, name)(model, loss, data)), exact)


@pytest.mark.parametrize("kind", KINDS)
def test_measured_eigenvalues_are_nearer(kind: str) -> None:
    model, loss, data = network(kind)
    blocks = _blocks(model, exact_gauss_newton(model, loss, data))
    away = [
        float((formed(make(model, loss, data)) - blocks).norm())
        for make in (curvature.EKFAC, curvature.KFAC)
    ]
    assert away[0] < 0.95 * away[1]


def _blocks(model: nn.Module, matrix: clew.Tensor) -> clew.Tensor:
    """Without what lies between layers."""
    layers = [sum(p.numel() for p in m.parameters()) for m in model if list(m.parameters())]
    mask = clew.block_diag(*[clew.ones(n, n, dtype=clew.float64) for n in layers])
    return matrix * mask


@pytest.mark.parametrize("name", ["KFAC", "EKFAC"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_inverse_undoes_it(kind: str, name: str) -> None:
    matrix = getattr(curvature, name)(*network(kind))
    damped = formed(matrix) + 0.1 * clew.eye(matrix.shape[0], dtype=clew.float64)
    product = formed(matrix.inverse(0.1)) @ damped
    clew.testing.assert_close(product, clew.eye(matrix.shape[0], dtype=clew.float64))


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_exact_matrix_as_their_mean(kind: str) -> None:
    clew.manual_seed(0)
    model, loss, data = network(kind)
    exact = formed(curvature.KFAC(model, loss, data))
    few, many = (
        float(
            (formed(curvature.KFAC(model, loss, data, fisher="sampled", samples=n)) - exact).norm()
        )
        for n in (1, 300)
    )
    assert many < 0.15 * float(exact.norm())
    assert many < 0.5 * few


def test_the_empirical_one_has_the_gradients_of_the_examples() -> None:
    """The eigenvalues of EKFAC keep the trace, which is the mean square of those gradients."""
    model, loss, data = network("conv")
    x, y = whole(data)

    def one(vector: clew.Tensor, x: clew.Tensor, y: clew.Tensor) -> clew.Tensor:
        return loss(as_function(model, x.unsqueeze(0))[0](vector), y.unsqueeze(0))

    vector = as_function(model, x)[1]
    gradients = vmap(grad(one), in_dims=(None, 0, 0))(vector, x, y)
    found = formed(curvature.EKFAC(model, loss, data, fisher="empirical")).trace()
    clew.testing.assert_close(found, gradients.square().sum(1).mean())


def test_a_layer_that_is_called_twice_and_one_that_is_written_over() -> None:
    """Two calls are two positions; what an in-place ReLU makes of an output is not the output."""

    class Twice(nn.Module):
        def __init__(self, inplace: bool) -> None:
            super().__init__()
            self.layer, self.relu = nn.Linear(5, 5), nn.ReLU(inplace)

        def forward(self, x: clew.Tensor) -> clew.Tensor:
            return self.layer(self.relu(self.layer(x)))

    _, loss, data = network("mlp")
    first, second = Twice(True).double(), Twice(False).double()
    second.load_state_dict(first.state_dict())
    data = [(x, y) for x, y in data]
    found = [formed(curvature.EKFAC(model, loss, data)) for model in (first, second)]
    assert found[0].equal(found[1])
    # The diagonal in EKFAC's basis keeps the trace of the whole Gauss-Newton matrix.
    clew.testing.assert_close(found[0].trace(), exact_gauss_newton(second, loss, data).trace())


def test_preconditioned_gradients() -> None:
    model, loss, data = network("mlp")
    x, y = whole(data)
    loss(model(x), y).backward()
    before = nn.utils.parameters_to_vector([each.grad for each in model.parameters()])
    inverse = curvature.KFAC(model, loss, data).inverse(0.1)
    inverse.precondition_()
    after = nn.utils.parameters_to_vector([each.grad for each in model.parameters()])
    clew.testing.assert_close(after, inverse @ before)


# -- what does not fit -----------------------------------------------------------------------------


def _made(name: str, model: nn.Module, data: Any, **options: Any) -> Any:
    return getattr(curvature, name)(model, nn.functional.mse_loss, data, **options)


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (TypeError, "data must be a list of batches",
         lambda m, x: _made("Hessian", m, (x, x))),
        (TypeError, "data is needed once for every product, and a list_iterator is used up",
         lambda m, x: _made("KFAC", m, iter([(x, x)]))),
        (ValueError, "there is no data", lambda m, x: _made("GaussNewton", m, [])),
        (ValueError, "there is no data", lambda m, x: _made("EKFAC", m, [])),
        (ValueError, "the model has no parameter 'w'; it has weight, bias",
         lambda m, x: _made("Hessian", m, [(x, x)], parameters=["w"])),
        (ValueError, 'fisher must be "exact"', lambda m, x: _made("KFAC", m, [(x, x)], fisher="x")),
        (ValueError, "1.weight, 1.bias: of no Linear",
         lambda m, x: _made("KFAC", nn.Sequential(m, nn.LayerNorm(2)), [(x, x)])),
        (ValueError, "the model has no parameters to train",
         lambda m, x: _made("Hessian", nn.Tanh(), [(x, x)])),
        (RuntimeError, "mat1 and mat2 shapes cannot be multiplied",
         lambda m, x: _made("Hessian", m, [(x, x)]) @ clew.ones(5)),
        (TypeError, "the model must return one tensor, and returned tuple",
         lambda m, x: _made("Hessian", nn.LSTM(2, 2), [(x, x)])),
        (ValueError, "the loss is not convex",
         lambda m, x: curvature.KFAC(m, lambda out, y: -(out**2).mean(), [(x, x)])),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_a_reason(error: Any, words: str, call: Any) -> None:
    with pytest.raises(error) as caught:
        call(nn.Linear(2, 2), clew.randn(3, 2))
    assert str(caught.value).startswith(words)
    assert "test_matrices.py" in str(caught.value)
