"""svd_lowrank, pca_lowrank, lobpcg: values and gradients as torch's, vectors up to their signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import clew
from tests import oracle

FUNCTIONS = ["svd_lowrank", "pca_lowrank"]


def _matrix(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def _positive(*shape: int) -> Any:
    a = _matrix(*shape)
    return a @ a.swapaxes(-2, -1) / shape[-1]


def _seeded(library: Any) -> Any:
    library.manual_seed(3)
    return library


def _both(name: str, a: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """The results of both libraries, from the same random numbers."""
    given = {
        key: (torch.tensor(v) if isinstance(v, np.ndarray) else v) for key, v in kwargs.items()
    }
    theirs = getattr(_seeded(torch), name)(torch.tensor(a), *args, **given)
    given = {key: (clew.tensor(v) if isinstance(v, np.ndarray) else v) for key, v in kwargs.items()}
    return getattr(_seeded(clew), name)(clew.tensor(a), *args, **given), theirs


@pytest.mark.parametrize("shape", [(8, 5), (5, 8), (2, 6, 6)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_singular_vectors_are_torchs_up_to_signs(name: str, shape: tuple[int, ...]) -> None:
    ours, theirs = _both(name, _matrix(*shape), 3, niter=1)
    for mine, expected in zip(ours, theirs, strict=True):
        oracle.assert_same(mine.abs(), expected.abs())


def test_a_matrix_to_subtract_is_broadcast() -> None:
    ours, theirs = _both("svd_lowrank", _matrix(6, 4), 2, M=_matrix(4, seed=1))
    oracle.assert_same(ours[1], theirs[1])


@pytest.mark.parametrize("center", [True, False])
def test_gradient_of_principal_values(center: bool) -> None:
    gradients = []
    for m in (_seeded(clew), _seeded(torch)):
        a = m.tensor(_matrix(7, 4), requires_grad=True)
        U, S, V = m.pca_lowrank(a, 2, center=center)
        ((U * S.unsqueeze(-2)) @ V.mT).square().sum().backward()
        gradients.append(a.grad)
    oracle.assert_same(*gradients)


@pytest.mark.parametrize("arguments", [{"q": 5}, {"q": -1}, {"niter": -1}])
def test_pca_refuses(arguments: dict[str, int]) -> None:
    a = _matrix(6, 4)
    _, expected = oracle.outcome(torch.pca_lowrank, torch.tensor(a), **arguments)
    _, error = oracle.outcome(clew.pca_lowrank, clew.tensor(a), **arguments)
    assert expected is not None
    oracle.assert_same_error(error, expected)


# ---------------------------------------------------------------- lobpcg


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"largest": False},
        {"n": 4},
        {"method": "basic"},
        {"X": _matrix(20, 2, seed=1)},
        {"B": np.diag(np.linspace(1, 3, 20))},
        {"iK": np.linalg.inv(_positive(20, 20) + np.eye(20)), "largest": False},
    ],
    ids=lambda arguments: "-".join(arguments) or "plain",
)
def test_eigenpairs(arguments: dict[str, Any]) -> None:
    a = _positive(20, 20)
    (values, vectors), (expected, _) = _both("lobpcg", a, 2, niter=300, tol=1e-12, **arguments)
    oracle.assert_same(values, expected)
    b = arguments.get("B", np.eye(20))
    x = vectors.numpy()
    assert np.allclose(a @ x, b @ x * values.numpy(), atol=1e-6)
    assert np.allclose(x.T @ b @ x, np.eye(2), atol=1e-9)


def test_eigenpairs_of_a_batch() -> None:
    (values, vectors), (expected, _) = _both("lobpcg", _positive(2, 3, 12, 12), 3, tol=1e-11)
    oracle.assert_same(values, expected)
    assert vectors.shape == (2, 3, 12, 3)


def test_gradients_of_eigenpairs() -> None:
    gradients = []
    guess, weights = _matrix(12, 2, seed=1), _matrix(12, 12, seed=2)
    for m in (clew, torch):
        a = m.tensor(_positive(12, 12), requires_grad=True)
        values, x = m.lobpcg(a, 2, X=m.tensor(guess), niter=500, tol=1e-14)
        # Signs are free, so the loss has none.
        projection = (x * m.tensor([1.0, 2.0], dtype=m.float64)) @ x.mT
        (values.sum() + (projection * m.tensor(weights)).sum()).backward()
        gradients.append(a.grad)
    oracle.assert_same(*gradients, 1e-6, 1e-6)


@pytest.mark.parametrize(
    ("shape", "arguments"),
    [((5, 5), {"k": 2}), ((3, 4), {}), ((9, 9), {"k": 2, "X": (8, 2)})],
)
def test_lobpcg_refuses(shape: tuple[int, ...], arguments: dict[str, Any]) -> None:
    raised = []
    for m in (clew, torch):
        given = {k: (m.ones(*v) if isinstance(v, tuple) else v) for k, v in arguments.items()}
        raised.append(oracle.outcome(m.lobpcg, m.ones(*shape), **given)[1])
    assert raised[1] is not None
    oracle.assert_same_error(*raised)


def test_gradient_of_a_generalized_problem_is_refused() -> None:
    raised = []
    for m in (clew, torch):
        a = m.tensor(_positive(9, 9), requires_grad=True)
        values, _ = m.lobpcg(a, 1, B=m.eye(9, dtype=m.float64) * 2)
        raised.append(oracle.outcome(values.sum().backward)[1])
    assert raised[1] is not None
    oracle.assert_same_error(*raised)
