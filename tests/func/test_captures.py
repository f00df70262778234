"""What a transformed function may write to: its arguments and what it made, nothing it captured."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import clew

Program = Callable[[Any, Any, Any], Any]


def held(m: Any) -> Any:
    """A tensor that is reached through an object."""
    return types.SimpleNamespace(tensor=m.zeros(3), inside={"rows": [m.zeros(3)]})


def writes_view(m: Any, F: Any, x: Any) -> Any:
    outside = held(m)

    def f(a: Any) -> Any:
        view = outside.tensor.view(3, 1)[1:]
        view.add_(1)
        return a.sum()

    return F.grad(f)(x)


def writes_item(m: Any, F: Any, x: Any) -> Any:
    outside = held(m)

    def f(a: Any) -> Any:
        outside.inside["rows"][0][1] = 5.0
        return a.sum()

    return F.grad(f)(x)


def writes_without_history(m: Any, F: Any, x: Any) -> Any:
    outside = held(m)

    def f(a: Any) -> Any:
        with m.no_grad():
            outside.tensor.add_(1)
        return a.sum()

    return F.grad(f)(x)


def writes_outer(m: Any, F: Any, x: Any) -> Any:
    """What the function of an outer transform made is captured by the inner one."""

    def f(a: Any) -> Any:
        made = m.zeros(3)
        return F.grad(lambda c: made.add_(c).sum())(a).sum()

    return F.grad(f)(x)


def writes_result_of_earlier_call(m: Any, F: Any, x: Any) -> Any:
    gradient = F.grad(lambda a: (a * a).sum())(x)
    return F.grad(lambda a: (gradient.add_(1), a.sum())[1])(x)


def writes_statistics(m: Any, F: Any, x: Any) -> Any:
    norm = m.nn.BatchNorm1d(3)
    return F.grad(lambda a: norm(a).sum())(m.ones(2, 3))


def with_write(how: Callable[[Any, Callable[[Any], Any]], Any]) -> Program:
    """A transform of a function that writes to a tensor in an object."""

    def program(m: Any, F: Any, x: Any) -> Any:
        outside = held(m)

        def f(a: Any) -> Any:
            outside.tensor.add_(1)
            return a * 2

        return how(F, f)

    return program


REFUSED: dict[str, Program] = {
    "view": writes_view,
    "item": writes_item,
    "no_grad": writes_without_history,
    "outer function": writes_outer,
    "earlier result": writes_result_of_earlier_call,
    "running statistics": writes_statistics,
    "data": lambda m, F, x: F.grad(lambda a: (x.data.add_(1), a.sum())[1])(m.ones(3)),
    "parameter's data": lambda m, F, x: (
        lambda w: F.grad(lambda a: (w.data.add_(1), a.sum())[1])(m.ones(3))
    )(m.nn.Parameter(m.zeros(3))),
    "vjp": with_write(lambda F, f: F.vjp(f, _ones(F))),
    "jvp": with_write(lambda F, f: F.jvp(f, (_ones(F),), (_ones(F),))),
    "jacrev": with_write(lambda F, f: F.jacrev(f)(_ones(F))),
    "jacfwd": with_write(lambda F, f: F.jacfwd(f)(_ones(F))),
    "hessian": with_write(lambda F, f: F.hessian(lambda a: f(a).sum())(_ones(F))),
    "grad inside vmap": with_write(
        lambda F, f: F.vmap(F.grad(lambda a: f(a).sum()))(_ones(F).expand(2, 3))
    ),
    "vmap inside grad": with_write(
        lambda F, f: F.grad(lambda b: F.vmap(f)(b).sum())(_ones(F).expand(2, 3))
    ),
}


def _ones(F: Any) -> Any:
    return (clew if F is clew.func else torch).ones(3)


def fills_what_it_made(m: Any, F: Any, x: Any) -> Any:
    outside = held(m)

    def f(a: Any) -> Any:
        outside.tensor = m.zeros(3)
        outside.tensor.add_(1)
        outside.tensor.add_(a * a)
        filled = m.empty(3)
        filled.copy_(a)
        filled[1:] *= 2
        return outside.tensor.sum() + filled.sum()

    return F.grad(f)(x)


def writes_inner_gradient(m: Any, F: Any, x: Any) -> Any:
    def f(a: Any) -> Any:
        gradient = F.grad(lambda b: (b**3).sum())(a)
        gradient.mul_(2)
        rows = F.vmap(F.grad(lambda b: b**3))(a)
        rows.add_(1)
        return (gradient * rows).sum()

    return F.grad(f)(x)


def makes_a_module(m: Any, F: Any, x: Any) -> Any:
    def f(a: Any) -> Any:
        layer = m.nn.Linear(3, 2)
        m.nn.init.ones_(layer.weight)
        m.nn.init.zeros_(layer.bias)
        return layer(a).sum()

    return F.grad(f)(x)


def updates_given_statistics(m: Any, F: Any, x: Any) -> Any:
    norm = m.nn.BatchNorm1d(3)
    parameters = dict(norm.named_parameters())
    buffers = {name: each.clone() for name, each in norm.named_buffers()}
    rows = m.arange(6.0).reshape(2, 3)
    F.grad(lambda p, b, a: F.functional_call(norm, (p, b), (a,)).sum())(parameters, buffers, rows)
    return buffers["running_mean"]


ALLOWED: dict[str, Program] = {
    "what it made": fills_what_it_made,
    "inner gradient": writes_inner_gradient,
    "a module": makes_a_module,
    "given statistics": updates_given_statistics,
    "an argument": lambda m, F, x: F.grad(lambda a, b: (b.add_(1), (a * b).sum())[1])(x, m.ones(3)),
    "a copy of an argument": lambda m, F, x: F.grad(lambda a: a.clone().mul_(a).sum())(x),
    "jvp's argument": lambda m, F, x: F.jvp(lambda a: a.mul_(2), (m.ones(3),), (m.ones(3),))[1],
    "after a transform": lambda m, F, x: F.grad(lambda a: (a * a).sum())(x).add_(1),
}


def run(m: Any, program: Program) -> Any:
    return program(m, m.func, m.tensor([1.0, 2.0, -3.0]))


@pytest.mark.parametrize("name", REFUSED)
def test_captured_tensors_are_not_written_to(name: str) -> None:
    texts = []
    for m in (clew, torch):
        with pytest.raises(RuntimeError) as caught:
            run(m, REFUSED[name])
        texts.append(str(caught.value))
    assert texts[0].split()[:14] == texts[1].split()[:14]
    assert "test_captures.py" in texts[0]


@pytest.mark.parametrize("name", ALLOWED)
def test_own_tensors_are(name: str) -> None:
    ours, theirs = run(clew, ALLOWED[name]), run(torch, ALLOWED[name])
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)


def test_nothing_stays_refused_after_an_error() -> None:
    outside = clew.zeros(3)

    def fails(a: Any) -> Any:
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        clew.func.grad(fails)(clew.ones(3))
    outside.add_(1)
    assert outside.tolist() == [1.0] * 3
