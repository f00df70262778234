"""Transforms inside of others and of grad modes: numbers, histories and refusals, as in PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import clew
from tests.twice import outcome, raised, twice


def vector(m: Any, **kwargs: Any) -> Any:
    return m.tensor([1.0, 2.0, 3.0], **kwargs)


# -- pull-backs ------------------------------------------------------------------------------------


@twice
def test_a_pull_back_can_be_differentiated_by_its_cotangent(m: Any) -> Any:
    f, x = m.func, vector(m)
    _, pull_back = f.vjp(lambda x: x**3, x)
    results = [
        f.grad(lambda v: pull_back(v * v)[0].sum())(x),
        f.hessian(lambda v: f.vjp(m.sin, x)[1](v**3)[0].sum())(x),
        f.vmap(f.grad(lambda v: pull_back(v)[0].sum()))(m.eye(3)),
        f.jvp(lambda v: pull_back(v)[0], (x,), (x,)),
        f.grad(lambda v: f.vjp(f.grad(lambda x: -m.cos(x)), x[0])[1](v)[0])(x[1]),
        pull_back(vector(m, requires_grad=True))[0],
    ]
    return [each.detach() if m.is_tensor(each) else each for each in results]


def test_a_linear_map_can_be_differentiated_by_its_tangent() -> None:
    x = clew.tensor([1.0, 2.0, 3.0])
    f = clew.func
    by_tangent = f.grad(lambda v: f.linearize(clew.sin, x)[1](v * v).sum())(x)
    assert clew.allclose(by_tangent, x.cos() * 2 * x) and not by_tangent.requires_grad
    _, constant = f.linearize(lambda x: f.grad(lambda x: 3 * x.sum())(x), x)
    assert constant(x).tolist() == [0.0, 0.0, 0.0]


@twice
def test_grad_mode_counts_where_a_pull_back_is_called(m: Any) -> Any:
    x, ones = vector(m, requires_grad=True), m.ones(3)
    with m.no_grad():
        without, pull_back = m.func.vjp(lambda x: x**3, x)
    with_history = pull_back(ones)[0]
    value, again = m.func.vjp(lambda x: x**3, x)
    with m.no_grad():
        cut = again(ones)[0]
    return (
        without, with_history, m.autograd.grad(with_history.sum(), x), cut, cut.requires_grad,
        again(ones, create_graph=False)[0].requires_grad, m.autograd.grad(value.sum(), x),
        m.func.vjp(m.sin, ones)[1](ones, create_graph=True)[0].requires_grad,
        m.func.grad(lambda v: m.func.vjp(m.sin, ones)[1](v)[0].sum())(ones).requires_grad,
    )  # fmt: skip


@twice
def test_an_unused_argument_has_a_plain_gradient_of_zeros(m: Any) -> Any:
    x, y = vector(m, requires_grad=True), vector(m)
    grads = m.func.grad(lambda x, y: (x * x).sum(), argnums=(0, 1))(x, y)
    return grads, [each.requires_grad for each in grads]


# -- inference mode --------------------------------------------------------------------------------


@twice
def test_inside_inference_mode(m: Any) -> Any:
    f, seen, x = m.func, [], vector(m)

    def cube(x: Any) -> Any:
        seen.append((m.is_inference_mode_enabled(), m.is_grad_enabled()))
        return (x**3).sum()

    with m.inference_mode():
        inside = vector(m)
        results = [
            f.grad(cube)(x), f.grad(cube)(inside), f.jacrev(f.grad(cube))(x), f.hessian(cube)(x),
            f.grad(lambda x: f.grad(cube)(x).sum())(x), f.vjp(cube, x)[1](m.tensor(2.0))[0],
            *f.jvp(cube, (inside,), (inside,)), f.vmap(lambda x: x * 2)(x),
        ]  # fmt: skip
        seen.append((m.is_inference_mode_enabled(), m.is_grad_enabled()))
    results.append(f.grad(lambda x: (x * inside).sum())(x))
    results.append(f.grad(cube)(inside))
    return results, [each.is_inference() for each in results], seen


# -- views and tangents ----------------------------------------------------------------------------


def _base(x: Any, y: Any) -> Any:
    view = x[0]
    x.copy_(y)
    return view, x, view * view


def _sibling(x: Any, y: Any) -> Any:
    view, other = x[0], x.view(6)[1:]
    other.copy_(y.view(6)[1:])
    return view, x, other


def _view_of_view(x: Any, y: Any) -> Any:
    view = x[0]
    inner = view[1:]
    view.mul_(y[0])
    return view, x, inner


def _both(x: Any, y: Any) -> Any:
    turned = x.t()
    x.add_(y)
    turned.mul_(y.t())
    return turned, x, turned.sum()


@pytest.mark.parametrize("program", [_base, _sibling, _view_of_view, _both])
def test_views_follow_the_tangents_that_are_written_to_their_base(
    program: Callable[[Any, Any], Any],
) -> None:
    @twice
    def scenario(m: Any) -> Any:
        f = m.func
        x = m.arange(6.0).view(2, 3)
        y, tangent = x * 2 + 1, x - 1
        stacked = [m.stack([each, each + 1]) for each in (x, y, tangent)]

        def pushed(x: Any, y: Any, tangent: Any) -> Any:
            return f.jvp(lambda y: program(x.clone(), y), (y,), (tangent,))

        return (
            pushed(x, y, tangent), f.vmap(pushed)(*stacked),
            f.jacfwd(lambda y: program(x.clone(), y))(y),
            f.jvp(f.vmap(lambda x, y: program(x.clone(), y)), tuple(stacked[:2]),
                  (stacked[0], stacked[2])),
        )  # fmt: skip

    scenario()


@twice
def test_a_value_that_fills_a_tensor_brings_its_tangent(m: Any) -> Any:
    def filled(y: Any) -> Any:
        x = m.zeros(2, 3)
        view = x[0]
        x.fill_(y[1])
        return view, x

    y = vector(m)
    return m.func.jvp(filled, (y,), (y * 2,))


# -- detaching inside of vmap ----------------------------------------------------------------------


@twice
def test_what_is_detached_inside_of_vmap_is_detached_outside(m: Any) -> Any:
    f = m.func
    x = m.arange(1.0, 7.0).view(3, 2)

    def squared(x: Any) -> Any:
        return x * x.detach()

    tracked = x.clone().requires_grad_()
    f.vmap(squared)(tracked).sum().backward()
    return (
        tracked.grad, f.vmap(lambda x: x.detach())(tracked).requires_grad,
        f.grad(lambda x: f.vmap(squared)(x).sum())(x), f.jvp(f.vmap(squared), (x,), (x,)),
        f.vmap(f.grad(lambda x: squared(x).sum()))(x),
    )  # fmt: skip


# -- refusals --------------------------------------------------------------------------------------

INSIDE: dict[str, Callable[[Any, Any], Any]] = {
    "requires_grad_": lambda m, x: x.requires_grad_(),
    "of a new tensor": lambda m, x: m.ones(2).requires_grad_(),
    "requires_grad_(False)": lambda m, x: x.requires_grad_(False),
    "retain_grad": lambda m, x: x.sin().retain_grad(),
    "backward": lambda m, x: x.sum().backward(),
    "jacobian": lambda m, x: m.autograd.functional.jacobian(m.sin, x),
    "hessian": lambda m, x: m.autograd.functional.hessian(lambda x: x.sin().sum(), x),
    "functional.jvp": lambda m, x: m.autograd.functional.jvp(m.sin, x, x),
    "functional.vjp": lambda m, x: m.autograd.functional.vjp(m.sin, x, x),
    "a factory": lambda m, x: m.ones(2, requires_grad=True),
    "a parameter": lambda m, x: m.nn.Parameter(m.ones(2)),
    "a layer": lambda m, x: m.nn.Linear(2, 2),
}


@pytest.mark.parametrize("what", INSIDE)
def test_what_a_transform_does_not_allow(what: str) -> None:
    @twice
    def scenario(m: Any) -> Any:
        f, x = m.func, vector(m)

        def function(x: Any) -> Any:
            INSIDE[what](m, x)
            return x.sum()

        return [
            outcome(call, words=9)
            for call in (
                lambda: f.grad(function)(x),
                lambda: f.vjp(function, x)[0],
                lambda: f.jvp(function, (x,), (x,)),
                lambda: f.vmap(function)(m.ones(2, 3)),
                lambda: f.functionalize(function)(x),
                lambda: f.vmap(f.grad(function))(m.ones(2, 3)),
            )
        ]

    scenario()


def test_vectorized_jacobians_are_not_inside_of_a_transform() -> None:
    x = clew.tensor([1.0, 2.0])
    functional = clew.autograd.functional
    for strategy in ("forward-mode", "reverse-mode"):
        found = functional.hessian(
            lambda x: (x**3).sum(), x, vectorize=True, outer_jacobian_strategy=strategy
        )
        assert found.tolist() == [[6.0, 0.0], [0.0, 12.0]]


@twice
def test_hooks_on_saved_tensors(m: Any) -> Any:
    f, x, words = m.func, vector(m), 8
    hooks = m.autograd.graph.save_on_cpu

    def hooked(x: Any) -> Any:
        with hooks():
            return x.sin().sum()

    def plain(x: Any) -> Any:
        return x.sin().sum()

    def around(transform: Callable[[], Any]) -> Any:
        with hooks():
            return outcome(transform, words=words)

    return [
        raised(f.grad(hooked), x, words=words), raised(f.vjp, hooked, x, words=words),
        f.jvp(hooked, (x,), (x,)), f.vmap(hooked)(m.ones(2, 3)),
        around(lambda: f.grad(plain)(x)), around(lambda: f.vjp(plain, x)[0]),
        around(lambda: f.jacrev(plain)(x)), around(lambda: f.hessian(plain)(x)),
        around(lambda: f.jvp(plain, (x,), (x,))), around(lambda: f.vmap(m.sin)(x)),
    ]  # fmt: skip


@pytest.mark.parametrize("transform", ["vmap", "grad", "jacrev", "jacfwd", "functionalize"])
def test_custom_functions_with_a_context_in_forward(transform: str) -> None:
    @twice
    def scenario(m: Any) -> Any:
        class Sine(m.autograd.Function):  # type: ignore[misc]  # m is clew or torch
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.sin()

        return raised(getattr(m.func, transform)(Sine.apply), vector(m), words=20)

    scenario()


@pytest.mark.parametrize(
    ("save_for", "saved", "dirty"),
    list(itertools.product(("forward", "backward"), ("input", "output", "none"), (True, False))),
)
def test_saving_an_input_that_is_returned_as_it_is(save_for: str, saved: str, dirty: bool) -> None:
    @twice
    def scenario(m: Any) -> Any:
        class Same(m.autograd.Function):  # type: ignore[misc]  # m is clew or torch
            @staticmethod
            def forward(x: Any) -> Any:
                return x

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                if dirty:
                    ctx.mark_dirty(inputs[0])
                kept = {"input": inputs, "output": (output,), "none": ()}[saved]
                getattr(ctx, f"save_for_{save_for}")(*kept)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g

            @staticmethod
            def jvp(ctx: Any, tangent: Any) -> Any:
                return tangent.add_(0) if dirty else tangent.view_as(tangent)

        def function(x: Any) -> Any:
            return Same.apply(x.clone())

        results = []
        for requires_grad in (True, False):
            x = m.tensor(2.0, requires_grad=requires_grad)
            results += [
                outcome(lambda x=x: m.func.grad(function)(x).item(), words=20),
                outcome(lambda x=x: m.func.jvp(function, (x,), (x.detach(),))[1].item(), words=20),
                outcome(lambda x=x: function(x).item(), words=20),
            ]
        return results

    scenario()


# -- arguments and results -------------------------------------------------------------------------


@twice
def test_what_functions_may_return(m: Any) -> Any:
    f, x = m.func, vector(m)
    results = []
    for aux in (None, 1, "a", [None], (), [], {"a": x}, [x, 1]):
        results += [
            outcome(lambda aux=aux: f.grad(lambda x: (x.sum(), aux), has_aux=True)(x)),
            outcome(lambda aux=aux: f.vjp(lambda x: (x, aux), x, has_aux=True)[2]),
            outcome(lambda aux=aux: f.jvp(lambda x: (x, aux), (x,), (x,), has_aux=True)),
            outcome(lambda aux=aux: f.jacrev(lambda x: (x, aux), has_aux=True)(x)),
            outcome(lambda aux=aux: f.jacfwd(lambda x: (x, aux), has_aux=True)(x)),
        ]
    for out in (None, (), [], {}, 1, "a", [x, 1], [None], [[]]):
        results += [
            raised(f.vjp, lambda x, out=out: out, x, words=12),
            raised(f.jvp, lambda x, out=out: out, (x,), (x,), words=12),
            raised(f.jacrev(lambda x, out=out: out), x, words=12),
            raised(f.jacfwd(lambda x, out=out: out), x, words=12),
        ]
    return results


@twice
def test_primals_and_tangents_of_jvp(m: Any) -> Any:
    x = vector(m)
    given = (x, (), [], [x], ((),), (x, 1), ((x, x), 1), (1.0,), (None,), ({"a": x},))
    return [
        outcome(lambda pair=pair: m.func.jvp(lambda *args: x.sum(), *pair), words=10)
        for each in given
        for pair in ((each, each), (each, (x,)), ((x,), each))
    ]


@twice
def test_a_constant_factor_gives_a_tangent_its_history(m: Any) -> Any:
    x, ones, factor = vector(m, requires_grad=True), m.ones(3), vector(m)
    has_history = [
        m.func.jvp(function, (x,), (ones,))[1].requires_grad
        for function in (
            lambda x: x * 2, lambda x: x / 2, lambda x: x + 2, lambda x: x * factor,
            lambda x: x / factor, lambda x: x - factor, lambda x: x.dot(factor), m.neg,
            lambda x: m.outer(x, factor), lambda x: m.maximum(x, factor), lambda x: x.clamp(1, 2),
            lambda x: x.view(1, 3) @ factor, lambda x: m.nn.functional.linear(x, m.eye(3), factor),
            lambda x: m.lerp(x, factor, 0.3), lambda x: m.lerp(x, factor, factor), m.sum,
            lambda x: m.addcmul(factor, x, factor), lambda x: x.masked_fill(factor > 1, 0.0),
            lambda x: m.cat([x, factor]), lambda x: m.xlogy(x, factor), lambda x: x.clone().mul_(2),
        )
    ]  # fmt: skip
    hessian = m.func.hessian(lambda x: (x * x).sum())(x)
    jacobian = m.func.jacfwd(lambda x: x * 2)(x)
    of_outer = m.autograd.grad(hessian.sum() + jacobian.sum(), x)
    with m.no_grad():
        tangent = m.func.jvp(lambda x: x * 2, (x,), (ones,))[1]
    return [has_history, hessian, jacobian, of_outer, tangent, jacobian.grad_fn.name()]


@twice
def test_hessians_through_writes(m: Any) -> Any:
    hessian, x = m.func.hessian, vector(m)
    functions = (
        lambda p: p.clone().mul_(2).sum(), lambda p: p.clone().mul_(p).sum(),
        lambda p: (p * 1).pow_(3).sum(), lambda p: (p * 1).mul_(p * p).sum(),
        lambda p: (p * 1).exp_().sum(), lambda p: (p * p).div_(p + 1).sin_().sum(),
        lambda p: (p * 1).addcmul_(p, p).mul_(p).sum(),
    )  # fmt: skip
    many = m.stack([x, x + 1])
    return [
        *[hessian(function)(x) for function in functions],
        *[m.func.vmap(hessian(function))(many) + 0 for function in functions],
        m.func.vmap(m.func.jacfwd(lambda p: (p * 1).mul_(p)))(many),
    ]
