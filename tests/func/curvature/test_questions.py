"""What is asked of a curvature matrix: traces, eigenvalues, densities, systems, influences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.func import curvature
from tests.func.curvature.models import exact_gauss_newton, exact_hessian, network, whole

KINDS = ("mlp", "mse", "conv")


def hessian_and_values(kind: str) -> tuple[curvature.Hessian, np.ndarray]:
    model, loss, data = network(kind)
    exact = np.linalg.eigvalsh(exact_hessian(model, loss, data).numpy())
    return curvature.Hessian(model, loss, [whole(data)]), exact


# -- traces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["hutchinson", "hutch++"])
@pytest.mark.parametrize("kind", KINDS)
def test_traces_are_within_their_errors(kind: str, method: str) -> None:
    matrix, values = hessian_and_values(kind)
    generator = clew.Generator().manual_seed(0)
    found = [curvature.trace(matrix, 60, method, generator) for _ in range(5)]
    for value, error in found:
        assert abs(value - values.sum()) < 4 * error + 1e-9
        assert error < 0.3 * np.abs(values).sum()


def test_hutch_plus_plus_is_exact_where_the_rank_is_low() -> None:
    model, loss, data = network("mse")
    few = [(x[:1], y[:1]) for x, y in data]  # two examples of three outputs: rank 6
    exact = float(exact_gauss_newton(model, loss, few).trace())
    matrix = curvature.GaussNewton(model, loss, [whole(few)])
    generator = clew.Generator().manual_seed(0)
    value, error = curvature.trace(matrix, 18, "hutch++", generator)
    assert value == pytest.approx(exact, rel=1e-9)
    assert error < 1e-9
    assert curvature.trace(matrix, 18, "hutchinson", generator).error > 1e-2


# -- eigenvalues -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", ["magnitude", "largest", "smallest"])
def test_eigenvalues_at_the_ends(kind: str, which: str) -> None:
    clew.manual_seed(0)
    matrix, values = hessian_and_values(kind)
    order = {"magnitude": -np.abs(values), "largest": -values, "smallest": values}[which]
    expected = values[np.argsort(order)][:4]
    found = curvature.eigenpairs(matrix, 4, which, tolerance=1e-10)
    np.testing.assert_allclose(found.values.numpy(), expected, rtol=1e-8)
    vectors = found.vectors
    away = (matrix @ vectors - vectors * found.values).norm(dim=0)
    assert float(away.max()) < 1e-8
    clew.testing.assert_close(vectors.T @ vectors, clew.eye(4, dtype=clew.float64))


def test_all_eigenvalues() -> None:
    clew.manual_seed(0)
    model, loss, data = network("mlp")
    names = ["0.bias", "2.bias", "4.bias"]
    matrix = curvature.Hessian(model, loss, data, parameters=names)
    found = curvature.eigenpairs(matrix, matrix.shape[0], "smallest")
    exact = np.linalg.eigvalsh((matrix @ clew.eye(16, dtype=clew.float64)).numpy())
    np.testing.assert_allclose(found.values.numpy(), exact, atol=1e-10)


def test_residuals_say_when_the_steps_were_not_enough() -> None:
    clew.manual_seed(0)
    matrix, _ = hessian_and_values("conv")
    found = curvature.eigenpairs(matrix, 3, tolerance=1e-10, steps=5)
    away = (matrix @ found.vectors - found.vectors * found.values).norm(dim=0)
    assert float(found.residuals.max()) > 1e-3
    clew.testing.assert_close(found.residuals, away)


# -- spectral densities ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_density_is_a_quadrature_of_the_spectrum(kind: str) -> None:
    """With m nodes for a start vector v, vᵀAᵏv is exact for k < 2m, and its mean the moment."""
    matrix, values = hessian_and_values(kind)
    density = curvature.spectral_density(matrix, 6, 3, clew.Generator().manual_seed(0))
    nodes, weights = density.nodes.numpy(), density.weights.numpy()
    assert len(nodes) == 18
    generator = clew.Generator().manual_seed(0)
    draws = [clew.randint(0, 2, (len(values), 1), generator=generator) * 2 - 1 for _ in range(3)]
    power = v = clew.cat(draws, 1).double()
    for k in range(12):
        exact = float((v * power).sum(0).mean()) / len(values)
        found = (weights * nodes**k).sum()
        assert found == pytest.approx(exact, rel=1e-8, abs=1e-10 * np.abs(nodes).max() ** k)
        power = matrix @ power


def test_a_density_is_drawn_with_an_area_of_1() -> None:
    matrix, values = hessian_and_values("mlp")
    density = curvature.spectral_density(matrix, 10, 2)
    grid = clew.linspace(values.min() - 1, values.max() + 1, 4000)
    drawn = density.at(grid, 0.1)
    assert float(drawn.sum() * (grid[1] - grid[0])) == pytest.approx(1, abs=1e-3)


# -- systems ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_system_is_solved(kind: str) -> None:
    model, loss, data = network(kind)
    matrix = curvature.GaussNewton(model, loss, [whole(data)])
    exact = exact_gauss_newton(model, loss, data)
    b = clew.linspace(-1, 1, matrix.shape[0], dtype=clew.float64)
    damped = exact + 0.05 * clew.eye(matrix.shape[0], dtype=clew.float64)
    found = curvature.solve(matrix, b, damping=0.05, tolerance=1e-10)
    clew.testing.assert_close(found.x, clew.linalg.solve(damped, b))
    assert found.residual <= 1e-10
    clew.testing.assert_close(matrix.inverse(0.05) @ b, found.x, rtol=1e-3, atol=1e-4)


def test_an_indefinite_matrix_and_too_few_steps_are_told() -> None:
    matrix, _ = hessian_and_values("mse")
    b = clew.ones(matrix.shape[0], dtype=clew.float64)
    with pytest.raises(ValueError, match="the matrix is not positive definite"):
        curvature.solve(matrix, b, steps=1000)
    model, loss, data = network("mse")
    inverse = curvature.Inverse(curvature.GaussNewton(model, loss, data), 1e-6, steps=2)
    with pytest.raises(RuntimeError, match=r"a residual of .* after 2 steps"):
        inverse @ b


# -- influences ------------------------------------------------------------------------------------


def logistic(seed: int = 0) -> tuple[nn.Module, Any, clew.Tensor, clew.Tensor]:
    """A problem with one solution: logistic regression with weight decay."""
    rng = np.random.default_rng(seed)
    x = clew.from_numpy(rng.normal(size=(40, 3)))
    y = clew.from_numpy((rng.normal(size=40) + x.numpy()[:, 0] > 0).astype(np.int64))
    model = nn.Linear(3, 2).double()
    return model, nn.CrossEntropyLoss(), x, y


DECAY = 0.02


def fitted(model: nn.Module, loss: Any, x: clew.Tensor, y: clew.Tensor, weights: Any) -> None:
    optimizer = clew.optim.LBFGS(
        model.parameters(), max_iter=200, tolerance_grad=1e-12, tolerance_change=1e-15,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> clew.Tensor:
        optimizer.zero_grad()
        each = nn.functional.cross_entropy(model(x), y, reduction="none")
        decay = sum(p.square().sum() for p in model.parameters())
        total = (each * weights).sum() / len(x) + DECAY / 2 * decay
        total.backward()
        return total

    optimizer.step(closure)


def test_influence_foretells_what_the_weight_of_an_example_does() -> None:
    model, loss, x, y = logistic()
    test_x, test_y = x[:3] + 0.3, y[:3]
    fitted(model, loss, x, y, clew.ones(40))
    inverse = curvature.GaussNewton(model, loss, [(x, y)]).inverse(DECAY)
    train = [(x[:25], y[:25]), (x[25:], y[25:])]
    less = 0.01  # of the weight: an influence is a derivative
    foretold = curvature.influence(inverse, train, [(test_x, test_y)]) * -less / len(x)
    assert foretold.shape == (3, 40)

    def losses() -> clew.Tensor:
        return nn.functional.cross_entropy(model(test_x), test_y, reduction="none").detach()

    before, changes = losses(), []
    for example in range(40):
        weights = clew.ones(40)
        weights[example] -= less
        fitted(model, loss, x, y, weights)
        changes.append(losses() - before)
    found = clew.stack(changes, 1)
    assert float((found - foretold).abs().max()) < 0.02 * float(found.abs().max())


# -- large models ----------------------------------------------------------------------------------


def test_a_million_parameters() -> None:
    """The same questions where the Hessian would have a million million elements."""
    clew.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 1000), nn.Tanh(), nn.Linear(1000, 1000), nn.Linear(1000, 3))
    x, y = clew.randn(16, 20), clew.randint(0, 3, (16,))
    matrix = curvature.GaussNewton(model, nn.functional.cross_entropy, [(x, y)])
    assert matrix.shape[0] > 1_000_000
    found = curvature.eigenpairs(matrix, 2, "largest", steps=30)
    away = (matrix @ found.vectors - found.vectors * found.values).norm(dim=0)
    assert float(away.max()) < 2e-3 * float(found.values[0])
    value, error = curvature.trace(matrix, 24, "hutchinson")
    assert float(found.values.sum()) < value + 4 * error
    factors = curvature.EKFAC(model, nn.functional.cross_entropy, [(x, y)], fisher="sampled")
    v = clew.randn(matrix.shape[0])
    inside = factors.inverse(0.1) @ (factors @ v + 0.1 * v)
    assert math.isclose(float(inside.dot(v)), float(v.dot(v)), rel_tol=1e-3)
