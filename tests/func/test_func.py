"""Function transforms compose in any order and to any depth; PyTorch is the oracle."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import clew
from tests.tensors import to_numpy

RANDOM = np.random.RandomState(0)
VECTOR = RANDOM.randn(4)
ROWS = RANDOM.randn(3, 4)
MATRIX = RANDOM.randn(5, 4)

Program = Callable[[Any, Any], Callable[..., Any]]


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def same(program: Program, *arrays: np.ndarray) -> None:
    """Run a program with both libraries and compare everything it returns."""
    ours, theirs = (
        leaves(program(library, library.func)(*[library.tensor(each) for each in arrays]))
        for library in (clew, torch)
    )
    assert len(ours) == len(theirs)
    for actual, expected in zip(ours, theirs, strict=True):
        assert tuple(actual.shape) == tuple(expected.shape)
        np.testing.assert_allclose(
            to_numpy(actual.detach()), to_numpy(expected.detach()), rtol=1e-9, atol=1e-9
        )


def vector_map(x: Any) -> Any:
    return (x.sin() * x.sum()).cumsum(0)


def scalar_map(x: Any) -> Any:
    return ((x.sin() * x.sum()).exp() / (1 + x * x)).mean()


ON_A_VECTOR: dict[str, Program] = {
    "grad": lambda m, F: F.grad(scalar_map),
    "grad of grad": lambda m, F: F.grad(lambda x: F.grad(scalar_map)(x).pow(2).sum()),
    "grad three times": lambda m, F: F.grad(
        lambda x: F.grad(lambda y: F.grad(scalar_map)(y).sin().sum())(x).cos().sum()
    ),
    "grad_and_value": lambda m, F: F.grad_and_value(scalar_map),
    "aux": lambda m, F: F.grad(lambda x: (scalar_map(x), {"twice": x * 2}), has_aux=True),
    "vjp": lambda m, F: lambda x: F.vjp(lambda x: (x.sin(), x * 2), x)[1]((x, x + 1)),
    "vjp twice": lambda m, F: lambda x: [F.vjp(vector_map, x)[1](x * n) for n in (1, 2)],
    "vjp aux": lambda m, F: lambda x: F.vjp(lambda x: (x.sin(), x * 2), x, has_aux=True)[::2],
    "jvp": lambda m, F: lambda x: F.jvp(vector_map, (x,), (x * 2,)),
    "jvp aux": lambda m, F: lambda x: F.jvp(lambda x: (x.sin(), x * 2), (x,), (x,), has_aux=True),
    "jvp of grad": lambda m, F: lambda x: F.jvp(F.grad(scalar_map), (x,), (x,)),
    "grad of jvp": lambda m, F: F.grad(lambda x: F.jvp(scalar_map, (x,), (x * 2,))[1]),
    "jvp of jvp": lambda m, F: (
        lambda x: F.jvp(lambda y: F.jvp(vector_map, (y,), (y.cos(),))[1], (x,), (x * 3,))
    ),
    "captured dual": lambda m, F: (
        lambda x: F.jvp(
            lambda y: F.jvp(lambda z: z * y.sin(), (y,), (y * 0 + 1,))[1], (x,), (x * 0 + 1,)
        )
    ),
    "jacrev": lambda m, F: F.jacrev(vector_map),
    "jacrev chunks": lambda m, F: F.jacrev(vector_map, chunk_size=3),
    "jacrev chunk of one": lambda m, F: F.jacrev(vector_map, chunk_size=1),
    "jacrev aux": lambda m, F: F.jacrev(lambda x: (x.sin(), x * 2), has_aux=True),
    "jacfwd": lambda m, F: F.jacfwd(vector_map),
    "jacfwd aux": lambda m, F: F.jacfwd(lambda x: (x.sin(), x * 2), has_aux=True),
    "hessian": lambda m, F: F.hessian(scalar_map),
    "jacfwd of jacfwd": lambda m, F: F.jacfwd(F.jacfwd(vector_map)),
    "jacfwd thrice": lambda m, F: F.jacfwd(F.jacfwd(F.jacfwd(vector_map))),
    "jacrev of jacrev": lambda m, F: F.jacrev(F.jacrev(vector_map)),
    "jacrev thrice": lambda m, F: F.jacrev(F.jacrev(F.jacrev(scalar_map))),
    "jacfwd of jacrev": lambda m, F: F.jacfwd(F.jacrev(vector_map)),
    "jacrev of jacfwd": lambda m, F: F.jacrev(F.jacfwd(vector_map)),
    "jacobian of a write": lambda m, F: F.jacfwd(lambda x: _written(m, x)),
    "jacrev of a write": lambda m, F: F.jacrev(lambda x: _written(m, x)),
    "linearize": lambda m, F: lambda x: F.linearize(vector_map, x)[1](x * 2),
    "no_grad inside": lambda m, F: F.grad(lambda x: (_without(m, x) * x).sum()),
}
ON_ROWS: dict[str, Program] = {
    "vmap": lambda m, F: F.vmap(vector_map),
    "vmap of vmap": lambda m, F: F.vmap(F.vmap(lambda x: x.sin() * 2)),
    "vmap of grad": lambda m, F: F.vmap(F.grad(scalar_map)),
    "grad of vmap": lambda m, F: F.grad(lambda x: F.vmap(scalar_map)(x).pow(2).sum()),
    "vmap of grad of vmap": lambda m, F: F.vmap(
        F.grad(lambda x: F.vmap(lambda each: (each * x).sin().sum())(x).pow(2).sum())
    ),
    "grad of vmap of grad": lambda m, F: F.grad(
        lambda x: F.vmap(F.grad(scalar_map))(x).pow(2).sum()
    ),
    "vmap of jvp": lambda m, F: F.vmap(lambda x: F.jvp(vector_map, (x,), (x * 2,))),
    "jvp of vmap": lambda m, F: lambda x: F.jvp(F.vmap(vector_map), (x,), (x * 2,)),
    "vmap of hessian": lambda m, F: F.vmap(F.hessian(scalar_map)),
    "vmap of jacrev of jacfwd": lambda m, F: F.vmap(F.jacrev(F.jacfwd(vector_map))),
    "hessian of vmap": lambda m, F: F.hessian(lambda x: F.vmap(scalar_map)(x).sum()),
    "vmap of a vjp function": lambda m, F: lambda x: F.vmap(F.vjp(vector_map, x[0])[1])(x),
    "vmap of linearize": lambda m, F: lambda x: F.vmap(F.linearize(vector_map, x[0])[1])(x),
    "in_dims and out_dims": lambda m, F: F.vmap(lambda x: (x, x.sum()), in_dims=1, out_dims=(1, 0)),
    "negative dims": lambda m, F: F.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1),
    "shared argument": lambda m, F: lambda x: F.vmap(
        lambda a, b: a * b["w"], in_dims=(0, {"w": None})
    )(x, {"w": x[0]}),
    "nested in_dims": lambda m, F: lambda x: F.vmap(
        lambda pair: pair[0] * pair[1][0], in_dims=((0, [1]),)
    )((x, [x.T])),
    "out_dims none": lambda m, F: lambda x: F.vmap(
        lambda a: (a, x.sum()), out_dims=(0, None)
    )(x),
    "unbatched result": lambda m, F: lambda x: F.vmap(lambda a: x[0] * 1)(x),
    "chunks": lambda m, F: F.vmap(vector_map, chunk_size=2, out_dims=1),
    "write": lambda m, F: F.vmap(lambda x: x.clone().mul_(2).add_(x)),
    "gradient of a write": lambda m, F: F.vmap(
        F.grad(lambda x: (x.clone().mul_(x).add_(x) ** 2).sum())
    ),
    "setitem": lambda m, F: F.vmap(lambda x: _written(m, x)),
    "gradient of setitem": lambda m, F: F.vmap(F.grad(lambda x: (_written(m, x) ** 2).sum())),
    "grad through setitem": lambda m, F: F.grad(
        lambda x: (F.vmap(lambda a: _written(m, a))(x) ** 2).sum()
    ),
    "indices": lambda m, F: lambda x: F.vmap(
        lambda r, i: (r[i], x[i], x[:, i], x[i, 1:], r[None, i])
    )(x, m.tensor([2, 0, -1])),
    "write at an index": lambda m, F: lambda x: F.vmap(lambda r, i: _put(r, i))(
        x, m.tensor([2, 0, 1])
    ),
    "mixed dtypes": lambda m, F: F.vmap(lambda x: x.float() * x.sum() + 1),
    "per-sample gradients": lambda m, F: lambda x: F.vmap(
        F.grad(lambda w, a: ((w * a).sin() ** 2).sum()), in_dims=(None, 0)
    )(x[0], x),
    "mixed second derivative": lambda m, F: lambda x: F.vmap(
        F.jacfwd(F.grad(lambda a, b: (a * b).sin().sum(), argnums=0), argnums=1), in_dims=(0, None)
    )(x, x[0]),
}  # fmt: skip


def _written(m: Any, x: Any) -> Any:
    y = m.zeros_like(x)
    y[0] = x[1] * 2
    y[1:3] = x[:2]
    y[3] += x[0] * x[1]
    return y


def _put(row: Any, index: Any) -> Any:
    row = row.clone()
    row[index] = row.sum()
    return row


def _without(m: Any, x: Any) -> Any:
    with m.no_grad():
        return x.sin()


@pytest.mark.parametrize("name", ON_A_VECTOR)
def test_of_a_vector(name: str) -> None:
    same(ON_A_VECTOR[name], VECTOR)


@pytest.mark.parametrize("name", ON_ROWS)
def test_of_rows(name: str) -> None:
    same(ON_ROWS[name], ROWS)


TWO: dict[str, Program] = {
    "argnums": lambda m, F: F.jacrev(lambda x, w: w @ x.sin(), argnums=(0, 1)),
    "argnums forward": lambda m, F: F.jacfwd(lambda x, w: w @ x.sin(), argnums=(1, 0)),
    "negative argnum": lambda m, F: F.grad(lambda x, w: (w @ x.sin()).sum(), argnums=-1),
    "hessian blocks": lambda m, F: F.hessian(
        lambda x, w: (w @ x.sin()).tanh().sum(), argnums=(0, 1)
    ),
    "dict": lambda m, F: (
        lambda x, w: F.jacrev(lambda p: {"a": (p["w"] @ p["x"]).sin()})({"x": x, "w": w})
    ),
    "dict forward": lambda m, F: (
        lambda x, w: F.jacfwd(lambda p: {"a": (p["w"] @ p["x"]).sin()})({"x": x, "w": w})
    ),
    "gradient of a container": lambda m, F: (
        lambda x, w: F.grad(lambda p: (p["w"][0] @ p["x"]).sum())({"x": x, "w": [w]})
    ),
    "keyword": lambda m, F: (
        lambda x, w: F.grad(lambda x, scale: (x * scale).sum())(x, scale=w.sum())
    ),
}


@pytest.mark.parametrize("name", TWO)
def test_of_two(name: str) -> None:
    same(TWO[name], VECTOR, MATRIX)


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass
class Weights:
    matrix: Any
    offset: Any


def test_namedtuples_and_dataclasses_are_containers() -> None:
    pair = clew.func.grad(lambda p: (p.left * p.right).sum())(
        Pair(clew.ones(2), clew.full((2,), 3.0))
    )
    assert isinstance(pair, Pair) and pair.left.tolist() == [3.0, 3.0]
    weights = Weights(clew.ones(2, 3), clew.zeros(2))

    def loss(w: Weights, x: Any) -> Any:
        return (w.matrix @ x + w.offset).pow(2).sum()

    found = clew.vmap(clew.func.grad(loss), in_dims=(None, 0))(weights, clew.ones(4, 3))
    assert isinstance(found, Weights)
    assert tuple(found.matrix.shape) == (4, 2, 3) and tuple(found.offset.shape) == (4, 2)
    nested = clew.vmap(lambda w: w.matrix.sum() + w.offset.sum(), in_dims=(Weights(0, None),))
    assert nested(weights).tolist() == [3.0, 3.0]


def test_value_and_grad_gives_the_value_first() -> None:
    x = clew.tensor(VECTOR)
    value, gradient = clew.func.value_and_grad(scalar_map)(x)
    other_gradient, other_value = clew.func.grad_and_value(scalar_map)(x)
    assert clew.equal(value, other_value) and clew.equal(gradient, other_gradient)


def test_results_have_a_history_only_where_the_arguments_have_one() -> None:
    def histories(m: Any, requires_grad: bool) -> list[bool]:
        x = m.tensor(VECTOR, requires_grad=requires_grad)
        gradient, value = m.func.grad_and_value(scalar_map)(x)
        rows = m.func.vmap(m.func.grad(scalar_map))(x.reshape(2, 2))
        return [gradient.requires_grad, value.requires_grad, rows.requires_grad]

    for requires_grad in (False, True):
        assert histories(clew, requires_grad) == histories(torch, requires_grad)


def test_no_grad_outside_leaves_no_history() -> None:
    x = clew.tensor(VECTOR, requires_grad=True)
    with clew.no_grad():
        assert not clew.func.grad(scalar_map)(x).requires_grad
        assert not clew.vmap(clew.func.grad(scalar_map))(x.reshape(2, 2)).requires_grad


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_gradients_reach_captured_parameters(where: str) -> None:
    def program(m: Any) -> Any:
        w = m.tensor(VECTOR, requires_grad=True)
        x = m.tensor(ROWS)
        if where == "inside":
            per_row = m.func.vmap(m.func.grad(lambda a: ((a * w).sin() * a).sum()))(x)
        else:
            per_row = m.func.vmap(lambda a: (a * w).sin())(x)
        per_row.pow(2).sum().backward()
        return w.grad

    np.testing.assert_allclose(to_numpy(program(clew)), to_numpy(program(torch)), rtol=1e-9)


def test_a_wider_graph_than_one_call() -> None:
    """The pull-back may be used again, with cotangents that themselves have a history."""

    def program(m: Any) -> Any:
        x = m.tensor(VECTOR, requires_grad=True)
        value, pull = m.func.vjp(vector_map, x)
        (first,) = pull(value.detach())
        (second,) = pull(x)
        (first + second).sum().backward()
        return x.grad

    np.testing.assert_allclose(to_numpy(program(clew)), to_numpy(program(torch)), rtol=1e-9)


def test_batched_gradients_and_vectorized_jacobians() -> None:
    def program(m: Any) -> list[Any]:
        x = m.tensor(VECTOR, requires_grad=True)
        rows = m.eye(4, dtype=m.float64)
        (batched,) = m.autograd.grad(vector_map(x), x, rows, is_grads_batched=True)
        both = [
            m.autograd.functional.jacobian(vector_map, x, vectorize=True, strategy=strategy)
            for strategy in ("reverse-mode", "forward-mode")
        ]
        return [batched, *both, m.autograd.functional.hessian(scalar_map, x, vectorize=True)]

    for ours, theirs in zip(program(clew), program(torch), strict=True):
        np.testing.assert_allclose(to_numpy(ours.detach()), to_numpy(theirs.detach()), rtol=1e-9)


def test_same_names_and_arguments_as_torch() -> None:
    for name in torch.func.__all__:
        ours = inspect.signature(getattr(clew.func, name)).parameters
        theirs = inspect.signature(getattr(torch.func, name)).parameters
        assert list(ours) == list(theirs), name
        assert [p.default for p in ours.values()] == [p.default for p in theirs.values()], name


@pytest.mark.parametrize(
    ("pattern", "lengths"),
    [
        ("b c d e -> e b d c", {}),
        ("b c d e -> b (c d) e", {}),
        ("b c (d s) e -> b (c s) d e", {"s": 2}),
        ("... e -> e ...", {}),
        ("b ... -> (...) b", {}),
        ("b 1 d e -> (b d) e", {}),
        ("b c d e -> b c 1 d e", {}),
    ],
)
def test_rearrange(pattern: str, lengths: dict[str, int]) -> None:
    values = np.arange(2 * (1 if " 1 d" in pattern[:8] else 3) * 4 * 5).reshape(2, -1, 4, 5)
    ours = clew.func.rearrange(clew.tensor(values), pattern, **lengths)
    theirs = torch.func.rearrange(torch.tensor(values), pattern, **lengths)
    np.testing.assert_array_equal(to_numpy(ours), to_numpy(theirs))


def test_rearrange_refuses_what_does_not_fit() -> None:
    for pattern in ("b c -> b", "b c d -> b c d", "b b -> b b", "(b c) d -> b c d", "b c"):
        with pytest.raises(ValueError, match="rearrange"):
            clew.func.rearrange(clew.ones(2, 3), pattern)


def test_batch_norms_without_running_statistics() -> None:
    model = clew.nn.Sequential(clew.nn.Linear(4, 3), clew.nn.BatchNorm1d(3))
    x = clew.randn(5, 6, 4)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor"):
        clew.vmap(model)(x)
    assert clew.func.replace_all_batch_norm_modules_(model) is model
    assert clew.allclose(clew.vmap(model)(x)[2], model(x[2]), atol=1e-6)


def test_looking_behind_a_batched_tensor() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(clew.func.debug_unwrap(x))
        return x

    clew.vmap(clew.vmap(f))(clew.ones(2, 3, 4))
    assert tuple(seen[0].shape) == (2, 3, 4) and type(seen[0]) is clew.Tensor


def test_vmap_counts_its_operations_once() -> None:
    """No loop over the examples: the number of operations does not grow with their number."""

    def count(examples: int) -> int:
        with clew.profiler.profile() as profile:
            clew.vmap(clew.func.grad(scalar_map))(clew.ones(examples, 4))
        return sum(event.count for event in profile.key_averages())

    assert count(2) == count(50)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_randomness(randomness: str) -> None:
    x = clew.zeros(5, 8)

    def drawn(function: Callable[[Any], Any]) -> np.ndarray:
        clew.manual_seed(0)
        return np.asarray(clew.vmap(function, randomness=randomness)(x).numpy())

    for function in (
        lambda a: a + clew.rand(8),
        lambda a: a + clew.randn(8),
        lambda a: a + clew.randint(0, 1000, (8,)),
        lambda a: a + clew.randperm(8),
        lambda a: a + clew.rand_like(a),
        lambda a: a + clew.randn_like(a),
        lambda a: a.clone().normal_(),
        lambda a: clew.empty_like(a).uniform_(),
        lambda a: clew.nn.functional.dropout(a + 1, 0.5),
        lambda a: clew.nn.functional.rrelu(a - 1, training=True),
    ):
        rows = drawn(function)
        distinct = len({tuple(row) for row in rows.round(6).tolist()})
        assert distinct == 1 if randomness == "same" else distinct > 1


def test_writes_made_of_several_operations() -> None:
    def program(m: Any) -> Any:
        x = m.tensor(ROWS)

        def f(a: Any, index: Any) -> Any:
            a = a.clone()
            a.put_(index, a[:2] * 2)
            a.masked_scatter_(a > 0, a.clone().sin())
            a.mul_(2).add_(a.detach())
            return a

        index = m.tensor([[0, 3], [1, 2], [2, 1]])
        return m.func.vmap(f)(x, index), m.func.vmap(m.func.grad(lambda a, i: f(a, i).sum()))(
            x, index
        )

    for ours, theirs in zip(program(clew), program(torch), strict=True):
        np.testing.assert_allclose(to_numpy(ours), to_numpy(theirs), rtol=1e-9)


def test_random_numbers_are_pytorchs() -> None:
    def program(m: Any) -> Any:
        m.manual_seed(3)
        x = m.ones(4, 6)
        dropped = m.func.vmap(lambda a: m.nn.functional.dropout(a, 0.5), randomness="different")(x)
        return dropped, m.func.vmap(lambda a: a + m.rand(6), randomness="different")(x)

    for ours, theirs in zip(program(clew), program(torch), strict=True):
        np.testing.assert_array_equal(to_numpy(ours), to_numpy(theirs))
