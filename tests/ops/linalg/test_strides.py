"""Where results of LAPACK's functions lie in memory: column by column, also where a size is 1."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import twice

SHAPES = [(5, 5), (2, 5, 5), (2, 2, 3, 3), (1, 1), (3, 1, 1)]


def _matrix(m: Any, *shape: int) -> Any:
    return m.eye(*shape[-2:], dtype=m.float64) + m.full(shape, 0.1, dtype=m.float64)


def _seen(results: Any) -> Any:
    tensors = results if isinstance(results, tuple) else (results,)
    return [(each, tuple(each.stride()), each._is_view()) for each in tensors]


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_solutions_lie_by_columns(shape: tuple[int, ...], columns: int) -> None:
    @twice
    def scenario(m: Any) -> Any:
        A, right = _matrix(m, *shape), m.ones(*shape[:-1], columns, dtype=m.float64)
        left, linalg = right.mT.contiguous(), m.linalg
        factors = linalg.lu_factor(A)
        results = [
            linalg.solve(A, right), linalg.solve(A, left, left=False),
            linalg.solve_triangular(A, right, upper=True),
            linalg.solve_triangular(A, left, upper=True, left=False),
            m.triangular_solve(right, A), m.triangular_solve(right, A, transpose=True),
            m.cholesky_solve(right, A),
            *(linalg.lu_solve(*factors, right, adjoint=adjoint) for adjoint in (False, True)),
            *(linalg.lu_solve(*factors, left, left=False, adjoint=a) for a in (False, True)),
            linalg.solve(A, right[..., 0]),
        ]  # fmt: skip
        return [_seen(each) for each in results]

    scenario()


@twice
def test_one_vector_for_several_matrices(m: Any) -> Any:
    A = _matrix(m, 2, 3, 3)
    return _seen(m.linalg.solve(A, m.ones(3, 1, dtype=m.float64)))


@twice
def test_least_squares_leave_the_top_of_the_right_hand_sides(m: Any) -> Any:
    return [
        tuple(m.linalg.lstsq(_matrix(m, *shape), m.ones(*shape[:-1], k, dtype=m.float64)).solution
              .stride())
        for shape in [(4, 3), (2, 4, 3), (3, 3), (3, 4), (4, 1), (2, 3, 1, 1)]
        for k in (1, 2)
    ]  # fmt: skip


@pytest.mark.parametrize("shape", [(5, 4), (5, 1), (2, 1, 5, 3), (1, 1)])
def test_products_of_reflections(shape: tuple[int, ...]) -> None:
    @twice
    def scenario(m: Any) -> Any:
        A = _matrix(m, *shape).requires_grad_()
        tau = m.full((*shape[:-2], shape[-1]), 0.5, dtype=m.float64)
        other = m.ones(*shape[:-1], 2, dtype=m.float64)
        results = [m.linalg.householder_product(A, tau)]
        for transpose in (False, True):
            results.append(m.ormqr(A, tau, other, transpose=transpose))
            results.append(m.ormqr(A, tau, other.mT, left=False, transpose=transpose))
        (gradient,) = m.autograd.grad(sum((each**2).sum() for each in results), A)
        return _seen(tuple(results)), [each.grad_fn.name() for each in results], gradient

    scenario()


@twice
def test_gradients_of_the_copy_of_a_triangle(m: Any) -> Any:
    A = _matrix(m, 3, 3).requires_grad_()
    solution, copy = m.triangular_solve(m.ones(3, 2, dtype=m.float64), A, upper=False)
    return m.autograd.grad((solution**2).sum() + (copy**3).sum(), A)
