"""Transforms, double backward, custom functions and checkpoints in a compiled call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import clew
from clew import func, nn
from clew.compiler.graph import CONSTANT
from clew.utils._pytree import tree_flatten
from clew.utils.checkpoint import checkpoint
from tests.compiler.test_compile import bits

clew.manual_seed(0)
MATRIX, EXAMPLES, CLASSES = clew.randn(5, 5) / 3, clew.randn(4, 5), clew.arange(4) % 3
MODEL = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))
PARAMETERS = {name: each.detach() for name, each in MODEL.named_parameters()}


class Square(clew.autograd.Function):
    """One whose backward looks at what it saved."""

    @staticmethod
    def forward(ctx: Any, x: clew.Tensor) -> clew.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: clew.Tensor) -> clew.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * g * x


class Exponential(clew.autograd.Function):
    """One for vmap and forward mode."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: clew.Tensor) -> clew.Tensor:
        return x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx: Any, g: clew.Tensor) -> clew.Tensor:
        return g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, tangent: clew.Tensor) -> clew.Tensor:
        return tangent * ctx.saved_tensors[0]


def scalar(x: clew.Tensor) -> clew.Tensor:
    return ((MATRIX @ x).tanh() * x).sum() + (x**4).mean()


def vector(x: clew.Tensor) -> clew.Tensor:
    return (MATRIX @ x.sin()).tanh() * x


def loss(parameters: Any, sample: clew.Tensor, target: clew.Tensor) -> clew.Tensor:
    out = func.functional_call(MODEL, parameters, (sample.unsqueeze(0),))
    return nn.functional.cross_entropy(out, target.unsqueeze(0))


def twice_backward(x: clew.Tensor) -> clew.Tensor:
    y = x.clone().requires_grad_()
    (first,) = clew.autograd.grad(scalar(y), y, create_graph=True)
    first.square().sum().backward()
    return y.grad


def penalty(x: clew.Tensor) -> clew.Tensor:
    y = x.detach().clone().requires_grad_()
    (slopes,) = clew.autograd.grad(MODEL(y).sum(), y, create_graph=True)
    value = (slopes.norm(dim=-1) - 1).square().mean()
    MODEL.zero_grad()
    value.backward()
    return value.detach()


def through_function(x: clew.Tensor) -> clew.Tensor:
    MODEL.zero_grad()
    value = Square.apply(MODEL(x)).mean()
    value.backward()
    return value.detach()


def through_checkpoint(x: clew.Tensor, use_reentrant: bool) -> clew.Tensor:
    MODEL.zero_grad()
    y = x.detach().requires_grad_()
    value = checkpoint(MODEL, y, use_reentrant=use_reentrant).square().mean()
    value.backward()
    return value.detach()


OF_ONE: dict[str, Callable[[Any], Any]] = {
    "hessian": func.hessian(scalar),
    "jacrev": func.jacrev(vector),
    "jacrev, in chunks": func.jacrev(vector, chunk_size=2),
    "jacfwd": func.jacfwd(vector),
    "jacrev twice": func.jacrev(func.jacrev(scalar)),
    "jacfwd twice": func.jacfwd(func.jacfwd(scalar)),
    "grad of grad": func.grad(lambda x: func.grad(scalar)(x).sin().sum()),
    "grad_and_value": func.grad_and_value(scalar),
    "jvp": lambda x: func.jvp(vector, (x,), (x.cos(),)),
    "jvp of grad": lambda x: func.jvp(func.grad(scalar), (x,), (x.cos(),)),
    "vjp": lambda x: func.vjp(vector, x)[1](x.cos()),
    "vjp of grad": lambda x: func.vjp(func.grad(scalar), x)[1](x),
    "linearize": lambda x: func.linearize(vector, x)[1](x),
    "jvp of a custom function": lambda x: func.jvp(lambda z: Exponential.apply(z), (x,), (x,)),
    "autograd's hessian": lambda x: clew.autograd.functional.hessian(scalar, x),
    "autograd's jacobian": lambda x: clew.autograd.functional.jacobian(vector, x),
    "double backward": twice_backward,
}
OF_MANY: dict[str, Callable[[Any], Any]] = {
    "vmap of grad": func.vmap(func.grad(scalar)),
    "vmap of hessian": func.vmap(func.hessian(scalar)),
    "vmap in chunks": func.vmap(func.grad(scalar), chunk_size=3),
    "vmap of a custom function": func.vmap(func.grad(lambda x: Exponential.apply(x).sum())),
    "vmap with random numbers": func.vmap(lambda x: x * clew.randn(5), randomness="different"),
    "per-sample gradients": lambda x: func.vmap(func.grad(loss), in_dims=(None, 0, 0))(
        PARAMETERS, x, CLASSES
    ),
    "jacobian of a model": lambda x: func.jacrev(
        lambda parameters: func.functional_call(MODEL, parameters, (x,))
    )(PARAMETERS),
    "hessian of a model": lambda x: func.hessian(
        lambda parameters: func.functional_call(MODEL, parameters, (x,)).square().mean()
    )(PARAMETERS),
    "gradient penalty": penalty,
    "custom function": through_function,
    "checkpoint": lambda x: through_checkpoint(x, False),
    "reentrant checkpoint": lambda x: through_checkpoint(x, True),
}


def outcome(function: Callable[[Any], Any], x: clew.Tensor) -> list[Any]:
    """What a call returns, and the gradients that the model has after it."""
    clew.manual_seed(3)
    MODEL.zero_grad()
    returned = tree_flatten(function(x))[0]
    return [*returned, *[each.grad for each in MODEL.parameters()]]


@pytest.mark.parametrize("name", [*OF_ONE, *OF_MANY])
def test_it_is_captured_and_replayed_as_eager_runs_it(name: str) -> None:
    function = {**OF_ONE, **OF_MANY}[name]
    # One trace is for all values.
    compiled = clew.compile(function, fullgraph=True)
    given = EXAMPLES if name in OF_MANY else EXAMPLES[0]
    for call in range(3):
        x = given * (1 + call / 8)
        expected, found = outcome(function, x), outcome(compiled, x)
        clew.testing.assert_close(found, expected)
        assert [each is None or each.requires_grad for each in found] == [
            each is None or each.requires_grad for each in expected
        ]
    assert [event.trace.replays for event in compiled.events] == [2]


def test_constants_are_copied_only_where_somebody_may_write_to_them() -> None:
    def program(x: clew.Tensor) -> tuple[clew.Tensor, ...]:
        used, written, returned = (clew.tensor([1.0, 2.0, number]) for number in (3.0, 4.0, 5.0))
        written.view(3)[1:].mul_(x[:2])
        return used * x, written + x, returned

    compiled = clew.compile(program)
    x = clew.tensor([2.0, 3.0, 5.0])
    for _ in range(3):
        results = compiled(x)
        assert list(map(bits, results)) == list(map(bits, program(x)))
        results[2].zero_()
    graph = compiled.events[0].trace.graph
    assert [each.name for each in graph.instructions].count("constant") == 2
    assert any(v.kind == CONSTANT for each in graph.instructions for v in each.reads())


def test_products_with_one_row_or_column_are_those_of_eager() -> None:
    special = clew.tensor([0.0, float("inf"), float("nan"), -1.0])

    def program(x: clew.Tensor) -> tuple[clew.Tensor, ...]:
        outer = (x[:, None] + 0) @ (x[None] + 0)
        moved = nn.functional.linear(x[:, None] + 0, x[:, None] + 0, x + 0)
        pairs = clew.bmm(clew.stack([outer, moved]), clew.stack([outer, moved]).mT)
        return outer + 1, moved + 1, (outer * 2).mv(x + 0) + 1, pairs + 1

    compiled = clew.compile(program)
    for factor in (1.0, 2.0, 3.0):
        given = special * factor
        clew.testing.assert_close(compiled(given), program(given), equal_nan=True, rtol=0, atol=0)
    assert compiled.events[0].problem is None
