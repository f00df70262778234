"""`make_fx`: graphs of operations compute what the function does, with other values."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew.fx.experimental.proxy_tensor import make_fx
from clew.nn import functional as F
from tests.twice import twice


def written(x: Any) -> Any:
    y, collected = x * 2, clew.zeros(3)
    y[0] = 1.0
    collected += x.sum(1)
    y.add_(1)
    return y, collected


def slope(x: Any) -> Any:
    return clew.func.grad(lambda t: (t.sin() * F.layer_norm(t, (4,))).sum())(x)


LAYER = clew.nn.Linear(4, 2)
# Of a tensor of 3 x 4 normal numbers.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "functions": lambda x: F.softmax(x @ x.t(), -1) + clew.cat([x, x])[:3, :3].relu(),
    "several results": lambda x: {"a": x.max(1), "b": [x.split(2, 1)[1], 3]},
    "a layer": lambda x: LAYER(x).tanh(),
    "constants": lambda x: x + clew.arange(4.0),
    "written": written,
    "gradients": slope,
    "normalized": lambda x: F.batch_norm(x, None, None, training=True) + F.gelu(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_compute_the_same(name: str) -> None:
    clew.manual_seed(0)
    program = PROGRAMS[name]
    traced = make_fx(program)(clew.randn(3, 4))
    assert all(node.op != "call_method" for node in traced.graph.nodes)
    for _ in range(2):
        x = clew.randn(3, 4)
        clew.testing.assert_close(traced(x), program(x))


def test_parameters_stay_parameters() -> None:
    traced = make_fx(PROGRAMS["a layer"])(clew.randn(3, 4))
    assert traced._param_constant0 is LAYER.weight or traced._param_constant1 is LAYER.weight
    traced(clew.ones(1, 4)).sum().backward()
    assert LAYER.weight.grad is not None
    LAYER.zero_grad()


@twice
def test_names(lib: Any) -> Any:
    """Arguments, nested ones too, are called as PyTorch calls them."""
    make = importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor").make_fx
    one, two = lib.ones(2, 3), lib.ones(3, 2)
    codes = [
        make(lambda x, y: x @ y)(one, two).code,
        make(lambda x, n: x.t() * 2)(one, 2).code,
        make(lambda *xs: xs[0] @ xs[1])(one, two).code,
    ]
    nested = make(lambda d, y: {"o": [d["x"] @ y]})({"x": one}, two)
    return codes, nested.code, nested({"x": one + 1}, two), type(nested).__name__


def test_what_is_not_traced() -> None:
    with pytest.raises(RuntimeError, match="would be the same in every run"):
        make_fx(lambda x: x + clew.randn(2))(clew.ones(2))
    with pytest.raises(NotImplementedError, match="tracing_mode='symbolic'"):
        make_fx(clew.sin, tracing_mode="symbolic")
    with pytest.raises(NotImplementedError, match="decomposition_table"):
        make_fx(clew.sin, {"aten.sin": clew.sin})
