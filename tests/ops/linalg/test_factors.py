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
