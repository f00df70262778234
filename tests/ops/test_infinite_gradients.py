"""Infinite and undefined values and gradients: they stay where they belong, as in PyTorch.

A derivative that is chosen by a mask must be chosen: multiplied by 0 and 1, one infinite element
would make all the others NaN.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew

inf, nan = math.inf, math.nan
INPUTS = [
    [1.0, inf, 2.0, inf], [inf, inf, inf, inf], [-inf, 1.0, 0.0, -inf], [nan, 1.0, 2.0, 3.0],
    [1.0, nan, inf, nan], [-inf, -inf, inf, inf], [0.0, 0.0, 0.0, -0.0], [3.0, 1.0, 2.0, 2.0],
    [inf, 3.0, -inf, 1.0],
]  # fmt: skip
GRADIENTS = [[1.0], [inf], [0.0, inf, -inf, 2.0], [0.0, nan]]
OTHERS = [[1.0, inf, -inf, 2.0], [nan, 1.0, 2.0, nan], [0.0, 0.0, 0.0, 0.0]]
Function = Callable[[Any, Any], Any]


def _named(name: str, *args: Any, **options: Any) -> Function:
    """A function or a method of that name, of the argument and fixed others."""
    return lambda m, x: getattr(m, name)(x, *args, **options)


def _layer(name: str, *args: Any, **options: Any) -> Function:
    return lambda m, x: getattr(m.nn.functional, name)(x, *args, **options)


def _square(function: Function) -> Function:
    return lambda m, x: function(m, x.reshape(2, 2))


def _with(name: str, other: list[float], *, first: bool) -> Function:
    def call(m: Any, x: Any) -> Any:
        function = m.special.xlog1py if name == "xlog1py" else getattr(m, name)
        return function(x, m.tensor(other)) if first else function(m.tensor(other), x)

    return call


FUNCTIONS: dict[str, Function] = {
    "trace": _square(_named("trace")),
    "clamp": _named("clamp", 0.0, 2.0),
    "clamp to infinity": _named("clamp", 0.0, inf),
    "hardtanh": _layer("hardtanh"),
    "threshold": _layer("threshold", 1.0, 5.0),
    "max_pool1d": lambda m, x: m.nn.functional.max_pool1d(x.reshape(1, 1, 4), 2, 1),
    "max_pool2d": lambda m, x: m.nn.functional.max_pool2d(x.reshape(1, 1, 2, 2), 2, 1, 1),
    "where": lambda m, x: m.where(x > 0, x, m.zeros(4)),
    "masked_fill": lambda m, x: x.masked_fill(m.tensor([True, False, True, False]), 0.0),
    "tril": _square(_named("tril")),
    "triu": _square(_named("triu")),
    "pdist 0": _square(lambda m, x: m.pdist(x, 0)),
    "cdist 0": _square(lambda m, x: m.cdist(x, m.ones(2, 2), 0)),
    "cross_entropy": _square(lambda m, x: m.nn.functional.cross_entropy(x, m.tensor([0, -100]))),
    "nll_loss": _square(lambda m, x: m.nn.functional.nll_loss(x, m.tensor([0, -100]))),
    "masked softmax": lambda m, x: m.softmax(x.masked_fill(m.isnan(x), -inf), 0),
}
for _name in ("max", "min", "median", "nanmedian", "amax", "amin", "cummax", "cummin", "sort"):
    FUNCTIONS[f"{_name} of rows"] = _square(_named(_name, dim=1))
    if not _name.startswith("cum"):
        FUNCTIONS[_name] = _named(_name)
for _name in ("relu", "relu6", "elu", "selu", "celu", "leaky_relu", "hardswish", "hardsigmoid"):
    FUNCTIONS[_name] = _layer(_name)
for _name in ("hardshrink", "softshrink", "softplus", "logsigmoid", "softsign", "tanhshrink"):
    FUNCTIONS[_name] = _layer(_name)
for _order in (inf, -inf, 1, 2, 3, 0.5):
    FUNCTIONS[f"norm {_order}"] = _square(
        lambda m, x, order=_order: m.linalg.vector_norm(x, order, dim=1)
    )
for _name in ("maximum", "minimum", "fmax", "fmin", "xlogy", "xlog1py", "pow", "copysign"):
    for _other in OTHERS:
        FUNCTIONS[f"{_name}(x, {_other})"] = _with(_name, _other, first=True)
        FUNCTIONS[f"{_name}({_other}, x)"] = _with(_name, _other, first=False)
for _kind in ("sum", "prod", "mean", "amax", "amin"):
    FUNCTIONS[f"scatter_reduce {_kind}"] = lambda m, x, kind=_kind: m.scatter_reduce(
        m.tensor([1.0, inf]), 0, m.tensor([0, 0, 1, 1]), x, kind
    )


def gradient(m: Any, function: Function, values: list[float], cycle: list[float]) -> Any:
    x = m.tensor(values, requires_grad=True)
    result = function(m, x)
    out = result[0] if isinstance(result, tuple) else result
    grad = (cycle * out.numel())[: out.numel()]
    out.backward(m.tensor(grad).reshape(out.shape))
    return None if x.grad is None else np.array(x.grad.tolist())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_at_and_of_infinity(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for values in INPUTS:
            for cycle in GRADIENTS:
                expected = gradient(torch, FUNCTIONS[name], values, cycle)
                actual = gradient(clew, FUNCTIONS[name], values, cycle)
                where = f"of {values} with the gradient {cycle}"
                np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-6, err_msg=where)


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
def test_gradients_with_a_graph_at_infinity(name: str) -> None:
    """The same where the gradient has a history of its own."""
    for values in INPUTS:
        seen = []
        for m in (torch, clew):
            x = m.tensor(values, requires_grad=True)
            (grad,) = m.autograd.grad(getattr(m, name)(x), x, m.tensor(inf), create_graph=True)
            seen.append(np.array(grad.tolist()))
        np.testing.assert_array_equal(seen[1], seen[0], err_msg=str(values))


def test_logcumsumexp_past_infinity() -> None:
    """What comes before an infinite element has its gradient."""
    for values in INPUTS:
        expected = gradient(torch, _named("logcumsumexp", 0), values, [1.0])
        actual = gradient(clew, _named("logcumsumexp", 0), values, [1.0])
        np.testing.assert_allclose(actual, expected, rtol=1e-5, err_msg=str(values))
