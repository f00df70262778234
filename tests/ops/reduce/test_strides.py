"""Where results of quantiles, sets and segments lie in memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twice import twice


def _seen(results: Any) -> Any:
    tensors = results if isinstance(results, tuple) else (results,)
    return [(each, tuple(each.stride()), each._is_view()) for each in tensors]


@pytest.mark.parametrize("function", ["quantile", "nanquantile"])
@pytest.mark.parametrize("dim", [None, 0, 1, 2, -1])
def test_quantiles(function: str, dim: int | None) -> None:
    @twice
    def scenario(m: Any) -> Any:
        x = m.arange(12.0).reshape(3, 2, 1, 2).requires_grad_()
        found = [
            getattr(m, function)(x, m.tensor(q), dim=dim, keepdim=keepdim)
            for keepdim in (False, True)
            for q in (0.5, [0.5], [0.25, 0.5])
        ]
        gradients = m.autograd.grad(sum((each**2).sum() for each in found), x)
        return [(_seen(each), each.grad_fn.name()) for each in found], gradients

    scenario()


@twice
def test_quantiles_of_examples(m: Any) -> Any:
    x, q = m.arange(12.0).reshape(3, 4), m.tensor([0.25, 0.5])
    _, tangent = m.func.jvp(lambda x: m.quantile(x, q, dim=0), (x,), (x**2,))
    return m.vmap(lambda row: m.quantile(row, q, keepdim=True))(x), tangent


@twice
def test_distinct_slices(m: Any) -> Any:
    x = m.tensor([[[1.0, 2, 2], [1, 2, 2], [3, 0, 0]], [[1, 5, 5], [1, 5, 5], [4, 0, 0]]])
    return [
        _seen(function(each, dim=dim))
        for function in (m.unique, m.unique_consecutive)
        for each in (x, m.ones(2, 3, 4))
        for dim in (0, 1, 2)
    ]


@twice
def test_coordinates_lie_next_to_each_other(m: Any) -> Any:
    positions = m.tensor([[0, 1], [2, 5]])
    return [_seen(m.unravel_index(each, (2, 3))) for each in (positions, positions[0, 1])]


@twice
def test_segments_of_each_row(m: Any) -> Any:
    lengths = m.tensor([[2, 1, 2], [1, 3, 1]])
    x = m.arange(20.0).reshape(2, 5, 2)
    reductions = ("sum", "mean", "max", "prod")
    return [_seen(m.segment_reduce(x, each, lengths=lengths, axis=1)) for each in reductions]
