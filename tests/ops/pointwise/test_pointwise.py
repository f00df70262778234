"""Pointwise ops where the op table cannot reach: names, saved tensors, errors, numerics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

import clew
from tests import oracle

Function = Callable[..., Any]

# -- names of nodes and what they save -------------------------------------------------------

GRAPHS: dict[str, Function] = {
    **{
        name: lambda lib, x, y, name=name: getattr(lib, name)(x)
        for name in (
            "exp",
            "exp2",
            "expm1",
            "log",
            "log1p",
            "sqrt",
            "rsqrt",
            "tanh",
            "sigmoid",
            "relu",
            "sin",
            "tan",
            "reciprocal",
            "erf",
            "erfinv",
            "lgamma",
            "digamma",
            "abs",
            "sgn",
            "floor",
            "round",
            "frac",
            "deg2rad",
            "sinc",
            "i0",
            "square",
            "logit",
            "nan_to_num",
        )
    },
    **{
        name: lambda lib, x, y, name=name: getattr(lib, name)(x, y)
        for name in (
            "add",
            "sub",
            "rsub",
            "mul",
            "div",
            "pow",
            "maximum",
            "fmin",
            "atan2",
            "hypot",
            "copysign",
            "xlogy",
            "logaddexp",
            "remainder",
            "fmod",
            "floor_divide",
            "clamp_min",
            "nextafter",
            "ldexp",
            "complex",
            "polar",
        )
    },
    "x + 1": lambda lib, x, y: x + 1,
    "1 + x": lambda lib, x, y: 1 + x,
    "1 - x": lambda lib, x, y: 1 - x,
    "2 / x": lambda lib, x, y: 2 / x,
    "x ** 3": lambda lib, x, y: x**3,
    "2 ** x": lambda lib, x, y: 2**x,
    "x % 2": lambda lib, x, y: x % 2,
    "2 % x": lambda lib, x, y: 2 % x,
    "add alpha": lambda lib, x, y: lib.add(x, y, alpha=2),
    "div floor": lambda lib, x, y: lib.div(x, y, rounding_mode="floor"),
    "fmod number": lambda lib, x, y: lib.fmod(x, 2),
    "clamp numbers": lambda lib, x, y: x.clamp(0, 1),
    "clamp tensors": lambda lib, x, y: x.clamp(y, y),
    "clamp_max number": lambda lib, x, y: x.clamp_max(1),
    "where": lambda lib, x, y: lib.where(x > y, x, y),
    "lerp number": lambda lib, x, y: lib.lerp(x, y, 0.5),
    "lerp tensor": lambda lib, x, y: lib.lerp(x, y, y),
    "addcmul": lambda lib, x, y: lib.addcmul(x, y, x),
    "addcdiv": lambda lib, x, y: lib.addcdiv(x, y, x),
    "round decimals": lambda lib, x, y: lib.round(x, decimals=1),
    "copysign number": lambda lib, x, y: lib.copysign(x, -1),
    "xlogy of number": lambda lib, x, y: lib.xlogy(2, x),
    "xlogy number": lambda lib, x, y: lib.xlogy(x, 2),
    "float_power": lambda lib, x, y: lib.float_power(x, 2),
}
every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())


def _leaves(library: Any) -> tuple[Any, Any]:
    x, y = torch.tensor([0.3, 0.6, 0.8]), torch.tensor([0.5, 0.4, 0.9])
    if library is torch:
        return x.requires_grad_(), y.requires_grad_()
    ours = oracle.to_clew((x, y))
    return ours[0].requires_grad_(), ours[1].requires_grad_()


@every_graph
def test_node_has_torchs_name(graph: Function) -> None:
    ours, theirs = graph(clew, *_leaves(clew)), graph(torch, *_leaves(torch))
    assert ours.grad_fn.name() == theirs.grad_fn.name()


def _backward_after_write(library: Any, graph: Function, which: str) -> bool:
    """Whether backward refuses after the result or an input was overwritten."""
    x, y = (leaf * 1 for leaf in _leaves(library))
    out = graph(library, x, y)
    total = (out * 1).real.sum() if out.dtype.is_complex else (out * 1).sum()
    with library.no_grad():
        {"x": x, "y": y, "out": out}[which].add_(1)
    try:
        total.backward()
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            return True
        if "not implemented" not in str(error):
            raise
    return False


@pytest.mark.parametrize("which", ["x", "y", "out"])
@every_graph
def test_overwriting_what_is_saved_raises_as_in_torch(graph: Function, which: str) -> None:
    ours = _backward_after_write(clew, graph, which)
    assert ours == _backward_after_write(torch, graph, which)


# -- errors ----------------------------------------------------------------------------------

BAD_CALLS: dict[str, Function] = {
    "float into int": lambda t: t.tensor([1]).add_(1.5),
    "quotient into int": lambda t: t.tensor([1]).div_(2),
    "wider than the target": lambda t: t.ones(3).add_(t.ones(2, 3)),
    "shapes": lambda t: t.ones(3) * t.ones(4),
    "bool - bool": lambda t: t.tensor([True]) - t.tensor([True]),
    "bool - int": lambda t: t.tensor([True]) - 1,
    "int - bool": lambda t: 1 - t.tensor([True]),
    "-bool": lambda t: -t.tensor([True]),
    "+bool": lambda t: +t.tensor([True]),
    "negative power of integers": lambda t: t.tensor([2]) ** -1,
    "negative power of bytes": lambda t: t.tensor([2], dtype=t.uint8) ** -1,
    "integer // 0": lambda t: t.tensor([1]) // t.tensor([0]),
    "integer % 0": lambda t: t.tensor([1]) % 0,
    "float alpha": lambda t: t.add(t.tensor([1]), t.tensor([1]), alpha=1.5),
    "bool alpha": lambda t: t.add(t.tensor([1]), t.tensor([1]), alpha=True),
    "clamp without bounds": lambda t: t.ones(2).clamp(),
    "clamp with mixed bounds": lambda t: t.ones(2).clamp(0, t.ones(2)),
    "where of floats": lambda t: t.where(t.ones(2), t.ones(2), t.ones(2)),
    "negative rtol": lambda t: t.isclose(t.ones(2), t.ones(2), rtol=-1.0),
    "isclose of two dtypes": lambda t: t.isclose(t.ones(2), t.ones(2, dtype=t.float64)),
    "lerp of two dtypes": lambda t: t.lerp(t.ones(2), t.ones(2, dtype=t.float64), 0.5),
    "addcmul of a number": lambda t: t.addcmul(t.ones(2), 2.0, t.ones(2)),
    "addcdiv of integers": lambda t: t.addcdiv(t.tensor([1]), t.tensor([1]), t.tensor([1])),
    "maximum of complex": lambda t: t.maximum(t.tensor([1j]), t.tensor([1j])),
    "sign of complex": lambda t: t.sign(t.tensor([1j])),
    "imag of real": lambda t: t.imag(t.ones(2)),
    "view_as_real of real": lambda t: t.view_as_real(t.ones(2)),
    "view_as_complex of threes": lambda t: t.view_as_complex(t.ones(3, 3)),
    "complex of two dtypes": lambda t: t.complex(t.ones(2), t.ones(2, dtype=t.float64)),
    "negative polygamma": lambda t: t.polygamma(-1, t.ones(2)),
    "mvlgamma of 0 dimensions": lambda t: t.mvlgamma(t.ones(2), 0),
    "x < str": lambda t: t.ones(2) < "a",
    "x + None": lambda t: t.ones(2) + None,
    "add str": lambda t: t.add(t.ones(2), "a"),
    "out of another dtype": lambda t: t.abs(t.ones(2), out=t.ones(2, dtype=t.float64)),
}


@pytest.mark.parametrize("call", BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_refuses_what_torch_refuses(call: Function) -> None:
    _, expected = oracle.outcome(call, torch)
    _, actual = oracle.outcome(call, clew)
    assert expected is not None, "torch takes this; it is no bad call"
    oracle.assert_same_error(actual, expected, words=3)


@pytest.mark.parametrize("call", [
    lambda t, x: x.add_(1.5), lambda t, x: x.div_(2), lambda t, x: x.mul_(t.ones(4)),
    lambda t, x: x.pow_(-1), lambda t, x: x.remainder_(0),
])  # fmt: skip
def test_refused_write_changes_nothing(call: Function) -> None:
    x = clew.tensor([1, 2, 3])
    version = x._version
    with pytest.raises(RuntimeError):
        call(clew, x)
    assert x.tolist() == [1, 2, 3]
    assert x._version == version


# -- operators and other types ---------------------------------------------------------------


def test_comparison_with_other_types_is_left_to_them() -> None:
    x = clew.tensor([1])
    assert (x == "a") is False
    assert (x != None) is True  # noqa: E711  # the operator is what is tested
    assert x.__eq__("a") is NotImplemented


def test_shifts_out_of_range() -> None:
    for shift in (-1, 0, 1, 63, 64, 100):
        ours = clew.tensor([1, -1, -8, 7])
        theirs = torch.tensor([1, -1, -8, 7])
        oracle.assert_same(ours << shift, theirs << shift)
        oracle.assert_same(ours >> shift, theirs >> shift)


def test_integer_powers_that_vanish() -> None:
    base, exponent = [2, 1, -1, -1, 0], [-1, -2, -3, -4, 0]
    ours = clew.tensor(base) ** clew.tensor(exponent)
    oracle.assert_same(ours, torch.tensor(base) ** torch.tensor(exponent))


def test_real_and_imag_are_views() -> None:
    z = clew.tensor([1 + 2j, 3 + 4j])
    z.real.mul_(10)
    clew.view_as_real(z)[:, 1] = 0
    z.imag = clew.tensor([5.0, 6.0])
    assert z.tolist() == [10 + 5j, 30 + 6j]


# -- special functions, against 30 digits ----------------------------------------------------

REFERENCES: dict[str, tuple[Function, Function, tuple[float, float]]] = {
    "erf": (clew.erf, mpmath.erf, (-5, 5)),
    "erfc": (clew.erfc, mpmath.erfc, (-5, 26)),
    "erfcx": (clew.special.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (-4, 40)),
    "erfinv": (clew.erfinv, mpmath.erfinv, (-0.999, 0.999)),
    "ndtri": (
        clew.special.ndtri,
        lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1),
        (0.01, 0.99),
    ),
    "log_ndtr": (clew.special.log_ndtr, lambda x: mpmath.log(mpmath.ncdf(x)), (-30, 3)),
    "lgamma": (clew.lgamma, mpmath.loggamma, (0.01, 50)),
    "digamma": (clew.digamma, mpmath.digamma, (2, 50)),
    "trigamma": (lambda x: clew.polygamma(1, x), lambda x: mpmath.polygamma(1, x), (-3.9, 30)),
    "polygamma 3": (lambda x: clew.polygamma(3, x), lambda x: mpmath.polygamma(3, x), (0.1, 30)),
    "i0": (clew.i0, lambda x: mpmath.besseli(0, x), (-30, 30)),
    "i0e": (clew.special.i0e, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), (-90, 90)),
    "i1": (clew.special.i1, lambda x: mpmath.besseli(1, x), (-30, 30)),
    "i1e": (clew.special.i1e, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), (-90, 90)),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_special_function_is_accurate(name: str) -> None:
    function, reference, (low, high) = REFERENCES[name]
    points = np.random.default_rng(0).uniform(low, high, 150)
    ours = function(clew.from_numpy(points)).numpy()
    with mpmath.workdps(30):
        exact = [reference(mpmath.mpf(float(x))) for x in points]
        errors = [abs((mpmath.mpf(float(a)) - b) / b) for a, b in zip(ours, exact, strict=True)]
    assert max(errors) < 1e-14


def test_single_precision_erf_is_within_four_ulps() -> None:
    x = np.linspace(-6, 6, 20_001).astype(np.float32)
    ours = clew.erf(clew.from_numpy(x)).numpy().astype(np.float64)
    exact = np.array([math.erf(float(v)) for v in x])
    assert np.all(np.abs(ours - exact) <= 4 * 2.0**-23 * np.abs(exact))


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "lgamma", "digamma", "i0", "sinc"])
def test_special_values(name: str) -> None:
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, math.inf, -math.inf, math.nan, 1e300, 1e-300]
    ours = getattr(clew, name)(clew.tensor(values, dtype=clew.float64))
    oracle.assert_same(ours, getattr(torch, name)(torch.tensor(values, dtype=torch.float64)))
