"""Compact factors: how they lie in memory, and which are refused."""

from __future__ import annotations

from typing import Any

from tests.twice import raised, twice


@twice
def test_geqrf_lies_by_columns(lib: Any) -> Any:
    shapes = ((5, 2), (2, 5), (2, 3, 3))
    return [lib.geqrf(lib.ones(shape)).a.stride() for shape in shapes]


@twice
def test_pivots_that_no_factoring_gives(lib: Any) -> Any:
    factors, pivots = lib.linalg.ldl_factor(lib.eye(3))
    seen = []
    for wrong in (0, 4, -4):
        pivots[0] = wrong
        seen.append(raised(lib.linalg.ldl_solve, factors, pivots, lib.ones(3, 1), words=10))
    return seen


@twice
def test_indices_into_out_of_another_dtype(lib: Any) -> Any:
    x, out = lib.ones(2), lib.ones(2, 1)
    return [
        raised(lib.nonzero, x, out=out),
        raised(lib.nonzero_static, x, size=2, out=out),
    ]


@twice
def test_stacks_in_which_some_fail(lib: Any) -> Any:
    """Of small matrices and of large ones; the others have their results."""
    seen = []
    for size in (3, 70):
        stack = lib.eye(size, dtype=lib.float64).repeat(2, 2, 1, 1) * 4 + 0.01
        stack[0, 1, size - 1, size - 1] = -1
        stack[1, 0, 1, 1] = 0
        for upper in (False, True):
            factors, info = lib.linalg.cholesky_ex(stack, upper=upper)
            seen += [factors[info == 0], info, factors.stride()]
        stack[0, 1] = 0
        inverses, info = lib.linalg.inv_ex(stack)
        solved, infos = lib.linalg.solve_ex(stack, stack.mT @ stack)
        seen += [inverses[info == 0], info, inverses.stride(), solved[info == 0], infos]
        seen += [raised(lib.linalg.inv, stack, words=12), raised(lib.linalg.cholesky, stack)]
    return seen


@twice
def test_complex_stack_in_which_one_fails(lib: Any) -> Any:
    stack = lib.eye(3, dtype=lib.complex128).repeat(4, 1, 1) * 2
    stack[:, 1, 0], stack[:, 0, 1] = 0.5j, -0.5j
    stack[2, 2, 2] = -1
    factors, info = lib.linalg.cholesky_ex(stack)
    return factors[info == 0], info


@twice
def test_ldl_of_matrices_in_any_memory(lib: Any) -> Any:
    values = lib.arange(50.0, dtype=lib.float64).sin()
    stack = values.reshape(5, 5, 2).permute(2, 0, 1)
    wide = values.reshape(2, 5, 5)[:, ::2, ::2]
    return [tuple(lib.linalg.ldl_factor(each)) for each in (stack, stack.mT, wide)]


@twice
def test_vectors_where_matrices_are_wanted(lib: Any) -> Any:
    vector, square, pivots = lib.ones(3), lib.ones(3, 3), lib.ones(3, dtype=lib.int32)
    return [
        raised(lib.linalg.lu_solve, vector, pivots, lib.ones(3, 1), words=12),
        raised(lib.linalg.lu_solve, square, pivots, vector, words=12),
        raised(lib.lu_solve, vector, square, pivots, words=12),
        raised(lib.lu_unpack, vector, pivots, words=12),
        raised(lib.triangular_solve, vector, square, words=12),
        raised(lib.triangular_solve, square, vector, words=12),
    ]
