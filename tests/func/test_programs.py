"""Programs of function transforms, run with both libraries: results, structures and errors."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import clew
from tests.tensors import to_numpy

Program = Callable[[Any, Any], Any]
RANDOM = np.random.RandomState(1)
VECTOR, ROWS, MATRIX = RANDOM.randn(4), RANDOM.randn(3, 4), RANDOM.randn(5, 4)


class Pair(NamedTuple):
    a: Any
    b: Any


class Data:
    """The same numbers as tensors of one library."""

    def __init__(self, m: Any) -> None:
        self.v, self.x, self.w = m.tensor(VECTOR), m.tensor(ROWS), m.tensor(MATRIX)


def scalar(x: Any) -> Any:
    return (x.sin() * x.sum()).sum()


def vector(x: Any) -> Any:
    return (x.sin() * x.sum()).cumsum(0)


def with_data(program: Callable[[Any, Any, Data], Any]) -> Program:
    return lambda m, F: program(m, F, Data(m))


def drawn(program: Callable[[Any, Any, Data], Any]) -> Program:
    def seeded(m: Any, F: Any) -> Any:
        m.manual_seed(0)
        return program(m, F, Data(m))

    return seeded


def _written(x: Any) -> Any:
    y = x.clone()
    y.add_(1)
    y[0] = 5
    return y


def _history(m: Any, F: Any, d: Data) -> Any:
    w = d.v.clone().requires_grad_()
    gradient = F.grad(lambda a: (a * a * w).sum())(w)
    gradient.sum().backward()
    return gradient, w.grad


def _inner_autograd(m: Any, F: Any, d: Data) -> Any:
    def f(a: Any) -> Any:
        (gradient,) = m.autograd.grad((a**3).sum(), a, create_graph=True)
        return (gradient * a).sum()

    return F.grad(f)(d.v)


def _hook(m: Any, F: Any, d: Data) -> Any:
    def f(a: Any) -> Any:
        b = a * 2
        b.register_hook(lambda g: g * 3)
        return (b * b).sum()

    return F.grad(f)(d.v)


def _curvature_products(m: Any, F: Any, d: Data) -> Any:
    """Products with the Gauss-Newton matrix and, by the covariance of scores, with Fisher's."""
    target, direction = m.tensor([0, 3, 1]), d.x.t() @ d.x

    def scores(w: Any) -> Any:
        return (d.x @ w).tanh()

    def loss(z: Any) -> Any:
        return m.nn.functional.cross_entropy(z, target)

    z, along = F.jvp(scores, (direction,), (direction.sin(),))
    pull = F.vjp(scores, direction)[1]
    p = z.softmax(-1)
    covered = p * (along - (p * along).sum(-1, keepdim=True)) / 3
    return pull(F.jvp(F.grad(loss), (z,), (along,))[1]), pull(covered)


def _maml(m: Any, F: Any, d: Data) -> Any:
    """The gradient through two steps of an inner loop, for several tasks at once."""
    model = m.nn.Sequential(m.nn.Linear(4, 3), m.nn.Tanh(), m.nn.Linear(3, 1)).double()
    parameters = {
        name: m.linspace(-1, 1, each.numel(), dtype=m.float64).reshape(each.shape)
        for name, each in model.named_parameters()
    }

    def loss(p: Any, x: Any, y: Any) -> Any:
        return m.nn.functional.mse_loss(F.functional_call(model, p, (x,)), y)

    def adapted(p: Any, x: Any, y: Any) -> Any:
        for _ in range(2):
            gradient = F.grad(loss)(p, x, y)
            p = {name: each - 0.1 * gradient[name] for name, each in p.items()}
        return loss(p, x.sin(), y)

    tasks = m.stack([d.w, d.w.cos(), d.w * 2])
    goals = tasks.sum(-1, keepdim=True)
    return F.grad(lambda p: F.vmap(adapted, in_dims=(None, 0, 0))(p, tasks, goals).mean())(
        parameters
    )


RESULTS: dict[str, Program] = {
    "Gauss-Newton and Fisher": with_data(_curvature_products),
    "MAML": with_data(_maml),
    "five deep": with_data(
        lambda m, F, d: F.vmap(
            F.jacfwd(F.grad(lambda x: F.vmap(lambda y: (y * x).sin().sum())(d.x).sum()))
        )(d.x)
    ),
    "jacfwd of a pull-back": with_data(
        lambda m, F, d: F.jacfwd(lambda x: F.vjp(vector, x)[1](x)[0])(d.v)
    ),
    "hessian-vector products of rows": with_data(
        lambda m, F, d: F.vmap(
            lambda x: F.jvp(
                lambda w: F.grad(lambda w: ((w * x).tanh() ** 2).sum())(w), (d.v,), (d.v,)
            )[1]
        )(d.x)
    ),
    "vmap over vmap, shared": with_data(
        lambda m, F, d: F.vmap(lambda a: F.vmap(lambda b: a @ b)(d.w))(d.x)
    ),
    "out_dims of a container": with_data(
        lambda m, F, d: F.vmap(lambda a: (a, {"k": a.sum()}), out_dims=(1, {"k": 0}))(d.x)
    ),
    "out_dims as a list": with_data(
        lambda m, F, d: F.vmap(lambda a: [a, a * 2], out_dims=[0, 1])(d.x)
    ),
    "in_dims of a dict": with_data(
        lambda m, F, d: F.vmap(lambda p: p["a"] * p["b"], in_dims=({"a": 0, "b": None},))(
            {"a": d.x, "b": d.v}
        )
    ),
    "named tuples": with_data(
        lambda m, F, d: F.vmap(lambda n: Pair(n.a + n.b, n.b))(Pair(d.x, d.x * 2))
    ),
    "ordered dicts": with_data(
        lambda m, F, d: F.vmap(lambda p: OrderedDict(z=p["x"] * 2, a=p["x"]))(OrderedDict(x=d.x))
    ),
    "keywords are shared": with_data(
        lambda m, F, d: F.vmap(lambda a, scale: a * scale)(d.x, scale=d.v)
    ),
    "other results": with_data(
        lambda m, F, d: F.vmap(lambda a: (a, "x"), out_dims=(0, None))(d.x)[0]
    ),
    "argnums in another order": with_data(
        lambda m, F, d: F.grad(lambda a, b: (a * b * b).sum(), argnums=(-1, -2))(d.v, d.v * 2)
    ),
    "a result that depends on nothing": with_data(
        lambda m, F, d: (
            F.grad(lambda a: d.v.sum())(d.v), F.jacrev(lambda a: d.w.sum(1))(d.v),
            F.jacfwd(lambda a: d.w.sum(1))(d.v), F.jvp(lambda a: d.v * 1, (d.v,), (d.v,)),
        )
    ),
    "complex arguments": with_data(
        lambda m, F, d: F.grad(lambda a: (a * a.conj()).sum().real)(d.v + 1j)
    ),
    "values of auxiliary results": with_data(
        lambda m, F, d: F.grad_and_value(lambda a: (scalar(a), a * 2), has_aux=True)(d.v)
    ),
    "pull-back of a container": with_data(
        lambda m, F, d: F.vjp(lambda a, b: {"s": a * b, "t": (a.sum(), b)}, d.v, d.v * 2)[1](
            {"s": d.v, "t": (d.v.sum(), d.v)}
        )
    ),
    "jvp of dicts": with_data(
        lambda m, F, d: F.jvp(lambda p: (p["a"] * 2, p["a"].sum()), ({"a": d.v},), ({"a": d.v},))
    ),
    "blocks of dicts": with_data(
        lambda m, F, d: [
            jacobian(lambda a, b: {"x": a * b, "y": (a.sum(),)}, argnums=(0, 1))(d.v, d.v * 2)
            for jacobian in (F.jacrev, F.jacfwd)
        ]
    ),
    "hessian of a dict": with_data(
        lambda m, F, d: F.hessian(lambda p: (p["a"] * p["b"]).sin().sum())({"a": d.v, "b": d.v * 2})
    ),
    "hessian of a vector": with_data(lambda m, F, d: F.hessian(vector)(d.v)),
    "jacobian of a solution": with_data(
        lambda m, F, d: F.jacrev(
            lambda a: m.linalg.solve(m.outer(a, a) + m.eye(4, dtype=m.float64) * 5, a)
        )(d.v)
    ),
    "linearize containers": with_data(
        lambda m, F, d: F.linearize(lambda p, b: {"o": p["a"] ** 2 * b}, {"a": d.v}, d.v)[1](
            {"a": d.v}, d.v * 3
        )
    ),
    "functionalize": with_data(
        lambda m, F, d: (
            F.functionalize(_written)(d.v), F.vmap(F.functionalize(_written))(d.x),
            F.functionalize(F.grad(lambda a: _written(a * a).sum()))(d.v),
        )
    ),
    "chunks of gradients": with_data(
        lambda m, F, d: [F.vmap(F.grad(scalar), chunk_size=n)(d.x) for n in (1, 2, 7)]
    ),
    "chunks and places": with_data(
        lambda m, F, d: F.vmap(lambda a: (a, a.sum()), chunk_size=2, out_dims=(1, 0))(d.x)
    ),
    "random numbers, different": drawn(
        lambda m, F, d: F.vmap(
            lambda a: a + m.rand(4, dtype=m.float64), chunk_size=2, randomness="different"
        )(d.x)
    ),
    "random numbers, the same": drawn(
        lambda m, F, d: F.vmap(lambda a: a + m.rand(4, dtype=m.float64), randomness="same")(d.x)
    ),
    "random numbers in two vmaps": drawn(
        lambda m, F, d: [
            F.vmap(F.vmap(lambda b: b + m.rand(()), randomness=a), randomness=b)(d.x.float())
            for a, b in (("same", "different"), ("different", "same"), ("different", "different"))
        ]
    ),
    "forward mode over the same numbers": drawn(
        lambda m, F, d: F.jacfwd(lambda a: a * m.rand(4, dtype=m.float64), randomness="same")(d.v)
    ),
    "iterating over an example": with_data(
        lambda m, F, d: F.vmap(lambda a: m.stack([each * 2 for each in a]) + sum(a))(d.x)
    ),
    "a fixed mask": with_data(
        lambda m, F, d: F.vmap(lambda a: a[m.tensor([True, False, True, False])])(d.x)
    ),
    "a write to an argument": with_data(
        lambda m, F, d: (lambda y: (F.vmap(lambda a: a.mul_(2))(y), y))(d.x.clone())
    ),
    "gradients outside of grad": with_data(_history),
    "autograd.grad inside": with_data(_inner_autograd),
    "a hook inside": with_data(_hook),
    "partial functions": with_data(
        lambda m, F, d: F.grad(functools.partial(lambda a, b: (a * b).sum(), b=d.v))(d.v)
    ),
    "integers and scalars in promotion": with_data(
        lambda m, F, d: (
            F.vmap(lambda a, b: a * b)(d.x.float(), m.arange(3)),
            F.vmap(lambda a: a.sum() * m.ones(2, dtype=m.float32))(d.x),
            F.vmap(lambda i: i * m.ones(2, dtype=m.int32))(m.arange(3)),
        )
    ),
    "singular values of rows": with_data(
        lambda m, F, d: F.vmap(F.grad(lambda a: m.linalg.svdvals(a.reshape(2, 2)).sum()))(d.x)
    ),
    "no examples": with_data(lambda m, F, d: F.vmap(lambda a: a * 2)(m.zeros(0, 3))),
    "free strides": with_data(
        lambda m, F, d: [
            F.vmap(lambda a: a.as_strided((2, 2), (1, 1), 1))(d.w),
            F.vmap(lambda a: a[1:].as_strided((2, 2), (1, 1)))(d.w),
            F.vmap(F.grad(lambda a: (a.as_strided((3, 2), (1, 1)) ** 2).sum()))(d.x),
            F.grad(
                lambda w: (F.vmap(lambda a: a.as_strided((3, 2), (1, 1)))(w) ** 2).sum()
            )(d.w),
            F.vmap(F.vmap(lambda a: a.as_strided((2, 2), (1, 0))))(d.w.reshape(5, 2, 2)),
            F.vmap(F.jacfwd(lambda a: a.as_strided((2, 2), (2, 1)).sin()))(d.x),
        ]
    ),
    "histograms": with_data(
        lambda m, F, d: (
            F.vmap(lambda a: m.histc(a, 5, -2, 2))(d.w),
            F.vmap(lambda a: m.histogram(a, 3, range=(-1.0, 1.0)).hist)(d.w),
            F.vmap(lambda a: m.histogram(a, m.tensor([-9.0, 0.0, 0.5, 9.0]).double()).hist)(d.w),
            F.vmap(lambda a: m.histogram(a, 3, range=(-9.0, 9.0), weight=a * a, density=True)[0])(
                d.w
            ),
        )
    ),
}  # fmt: skip


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in value for leaf in (key, *leaves(value[key]))]
    if isinstance(value, tuple | list):
        return [type(value).__name__, *(leaf for each in value for leaf in leaves(each))]
    return [value]


@pytest.mark.parametrize("name", RESULTS)
def test_results(name: str) -> None:
    ours, theirs = (leaves(RESULTS[name](m, m.func)) for m in (clew, torch))
    assert len(ours) == len(theirs)
    for actual, expected in zip(ours, theirs, strict=True):
        if not isinstance(expected, torch.Tensor):
            assert actual == expected
            continue
        assert str(actual.dtype) == str(expected.dtype)
        assert actual.requires_grad == expected.requires_grad
        np.testing.assert_allclose(
            to_numpy(actual.detach()), to_numpy(expected.detach()), rtol=1e-7, atol=1e-9
        )


ERRORS: dict[str, Program] = {
    "in_dims as a list": with_data(
        lambda m, F, d: F.vmap(lambda a, b: a + b, in_dims=[0, None])(d.x, d.v)
    ),
    "a fraction in in_dims": with_data(lambda m, F, d: F.vmap(lambda a: a, in_dims=(0.5,))(d.x)),
    "a fraction as out_dims": with_data(lambda m, F, d: F.vmap(lambda a: a, out_dims=0.5)(d.x)),
    "keys of out_dims": with_data(
        lambda m, F, d: F.vmap(lambda a: {"k": a}, out_dims={"j": 0})(d.x)
    ),
    "equal argnums": with_data(
        lambda m, F, d: F.grad(lambda a, b: (a * b).sum(), argnums=(0, -2))(d.v, d.v)
    ),
    "argnums as a list": with_data(
        lambda m, F, d: F.grad(lambda a, b: (a * b).sum(), argnums=[0, 1])(d.v, d.v)
    ),
    "jacrev of nothing": with_data(lambda m, F, d: F.jacrev(lambda a: ())(d.v)),
    "jvp of nothing": with_data(lambda m, F, d: F.jvp(lambda a: (), (d.v,), (d.v,))),
    "strict": with_data(lambda m, F, d: F.jvp(lambda a: d.v * 1, (d.v,), (d.v,), strict=True)),
    "tangents for linearize": with_data(
        lambda m, F, d: F.linearize(lambda a: a * 2, d.v)[1](d.v, d.v)
    ),
    "shape for linearize": with_data(lambda m, F, d: F.linearize(lambda a: a * 2, d.v)[1](d.v[1:])),
    "dtype for linearize": with_data(
        lambda m, F, d: F.linearize(lambda a: a * 2, d.v)[1](d.v.float())
    ),
    "functionalize": with_data(lambda m, F, d: F.functionalize(lambda a: a, remove="x")(d.v)),
    "complex jacrev": with_data(lambda m, F, d: F.jacrev(lambda a: a * 2)(d.v + 0j)),
    "complex jacfwd": with_data(lambda m, F, d: F.jacfwd(lambda a: a * 1j)(d.v)),
    "backward inside grad": with_data(
        lambda m, F, d: F.grad(lambda a: ((a * 2).sum().backward(), a.sum())[1])(d.v)
    ),
    "frozen in some": with_data(
        lambda m, F, d: F.stack_module_state(
            [m.nn.Linear(2, 2), m.nn.Linear(2, 2).requires_grad_(False)]
        )
    ),
    "strides that leave the example": with_data(
        lambda m, F, d: F.vmap(lambda a: a.as_strided((3, 4), (3, 1)))(d.x)
    ),
    "strides that begin before it": with_data(
        lambda m, F, d: F.vmap(lambda a: a[2:].as_strided((2,), (1,), 1))(d.x)
    ),
    "one_hot without classes": with_data(
        lambda m, F, d: F.vmap(m.nn.functional.one_hot)(m.tensor([[1, 2], [0, 0]]))
    ),
    "while": with_data(lambda m, F, d: F.vmap(_doubled)(d.x)),
    "assert": with_data(lambda m, F, d: F.vmap(lambda a: (_checked(a), a)[1])(d.x)),
    "max of Python": with_data(lambda m, F, d: F.vmap(lambda a: max(a[0], a[1]))(d.x)),
    "int": with_data(lambda m, F, d: F.vmap(lambda a: a[int(a[0])])(d.x)),
}


def _doubled(a: Any) -> Any:
    while a.sum() < 10:
        a = a * 2 + 1
    return a


def _checked(a: Any) -> None:
    assert (a < 100).all()


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    caught = []
    for m in (clew, torch):
        with pytest.raises(Exception) as found:  # the type is what is compared
            ERRORS[name](m, m.func)
        caught.append(found.value)
    ours, theirs = caught
    assert type(ours) is type(theirs)
    assert str(ours).split()[:8] == str(theirs).split()[:8]


@pytest.mark.parametrize("rule", ["generated", "own"])
def test_custom_functions_inside_two_vmaps(rule: str) -> None:
    class Power(clew.autograd.Function):
        generate_vmap_rule = rule == "generated"

        @staticmethod
        def forward(x: Any, n: int) -> Any:
            return x**n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.n = inputs[1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

        if rule == "own":

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any, n: int) -> Any:
                return Power.apply(x, n), in_dims[0]

    x = clew.tensor(ROWS)
    F = clew.func
    found = F.vmap(F.vmap(lambda a: Power.apply(a, 3)))(x)
    np.testing.assert_allclose(found.numpy(), ROWS**3)
    slopes = F.vmap(F.vmap(F.grad(lambda a: Power.apply(a, 3))))(x)
    np.testing.assert_allclose(slopes.numpy(), 3 * ROWS**2)
    outside = F.grad(lambda a: F.vmap(F.vmap(lambda b: Power.apply(b, 3)))(a).sum())(x)
    np.testing.assert_allclose(outside.numpy(), 3 * ROWS**2)
