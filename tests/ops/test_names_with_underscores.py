"""Functions of torch's own namespace whose names begin with an underscore."""

from __future__ import annotations

import importlib
from typing import Any

from tests.twice import leaf, raised, twice


@twice
def test_chunk_cat(lib: Any) -> Any:
    a, b = lib.arange(6.0).view(3, 2), lib.arange(3.0) + 10
    out = lib.empty(0)
    return [
        lib._chunk_cat([a, b], 0, 2),
        lib._chunk_cat([a, a + 10], 1, 2),
        lib._chunk_cat([a, a + 10], -1, 2),
        lib._chunk_cat([a], 0, 5),
        lib._chunk_cat([a, b], 0, 2, out=out),
        out,
        raised(lib._chunk_cat, [], 0, 2),
        raised(lib._chunk_cat, [a], 0, 0),
        raised(lib._chunk_cat, [a, b], 1, 2),
        raised(lib._chunk_cat, [a, b.int()], 0, 2),
        raised(lib._chunk_cat, [a, lib.empty(0)], 0, 2),
        raised(lib._chunk_cat, [lib.zeros(2, 3), lib.zeros(4, 3)], 1, 2),
    ]


@twice
def test_safe_softmax(lib: Any) -> Any:
    inf = float("inf")
    x = leaf(lib, [[-inf, -inf], [1.0, -inf], [1.0, 2.0]])
    result = lib._safe_softmax(x, 1)
    (result * lib.tensor([1.0, 2.0])).sum().backward()
    return [
        result,
        x.grad,
        lib._safe_softmax(lib.tensor([1, 2]), 0, dtype=lib.float64),
        raised(lib._safe_softmax, lib.tensor([1, 2]), 0),
        raised(lib._safe_softmax, lib.tensor([1j, 2]), 0),
    ]


@twice
def test_softmax_backward_data(lib: Any) -> Any:
    y, g = leaf(lib, [[0.25, 0.75], [0.5, 0.5]]), leaf(lib, [[1.0, 2.0], [0.5, -1.0]])
    result = lib._softmax_backward_data(g, y, 1, lib.float32)
    result.square().sum().backward()
    return [
        result,
        y.grad,
        g.grad,
        raised(lib._softmax_backward_data, g[:1], y, 1, lib.float32),
        raised(lib._softmax_backward_data, g.half(), y, 1, lib.float32),
        raised(lib._softmax_backward_data, g.int(), y.int(), 1, lib.int32),
        raised(lib._softmax_backward_data, g, y, 5, lib.float32),
    ]


@twice
def test_addmm_activation(lib: Any) -> Any:
    a, b, c = leaf(lib, [0.5, -1.0]), lib.arange(-3.0, 3.0).double().view(2, 3), lib.ones(3, 2)
    c, out = c.double(), lib.empty(0, dtype=lib.float64)
    with lib.autocast("cpu"):
        low = lib._addmm_activation(a.detach().float(), b.float(), c.float(), use_gelu=True)
    return [
        lib._addmm_activation(a.detach(), b, c),
        a.detach()._addmm_activation(b, c, beta=2, alpha=3, use_gelu=True),
        lib._addmm_activation(a.detach(), b, c, out=out), out, low,
        raised(lib._addmm_activation, a.detach(), b, b),
    ]  # fmt: skip


@twice
def test_dirichlet_backward(lib: Any) -> Any:
    """What a distribution's samples pass back to its weights."""
    dirichlet = importlib.import_module(f"{lib.__name__}.distributions.dirichlet")
    x = lib.tensor([[0.2, 0.3, 0.5]], dtype=lib.float64)
    weights = lib.tensor([[1.0, 2.0, 0.5]], dtype=lib.float64)
    return dirichlet._Dirichlet_backward(x, weights, lib.eye(3, dtype=lib.float64)[:1])
