"""Usual cases that skip the checks of unusual ones: both end as in PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from tests.twice import leaf, outcome, raised, twice

# What is assigned, and where, to a tensor of 4 × 3.
PLACES = {
    "row": (lambda lib: 1, (3,)),
    "last row": (lambda lib: -1, (3,)),
    "rows": (lambda lib: slice(1, 3), (2, 3)),
    "rows, broadcast": (lambda lib: slice(1, 3), (3,)),
    "rows, with a one before": (lambda lib: slice(1, 3), (1, 2, 3)),
    "no rows": (lambda lib: slice(3, 1), (0, 3)),
    "rows, to the end": (lambda lib: slice(-2, None), (2, 3)),
    "every second": (lambda lib: slice(None, None, 2), (2, 3)),
    "number": (lambda lib: 2, ()),
    "too many": (lambda lib: 4, (3,)),
    "wrong shape": (lambda lib: 1, (2,)),
    "listed": (lambda lib: lib.tensor([3, 0]), (2, 3)),
    "listed, broadcast": (lambda lib: lib.tensor([3, -1]), (3,)),
    "listed, with a one before": (lambda lib: lib.tensor([3, 0]), (1, 2, 3)),
    "listed, too many": (lambda lib: lib.tensor([0, 4]), (2, 3)),
    "listed, wrong shape": (lambda lib: lib.tensor([0, 1]), (2, 2)),
    "pairs": (lambda lib: (lib.tensor([3, 0]), lib.tensor([0, 2])), (2,)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
def test_assigning_to_a_part(place: str, dtype: str) -> None:
    index, shape = PLACES[place]

    def scenario(lib: Any) -> Any:
        x = lib.arange(12).reshape(4, 3).to(getattr(lib, dtype))
        value = 100 + lib.arange(int(np.prod(shape))).reshape(shape)
        seen = []
        for given in (value.to(x.dtype), value, value.double() / 8, 7, 2.5):
            for target in (x, x.clone().t().contiguous().t(), x[:, :3], lib.zeros(4, 4)[:, :3]):
                y = target.clone() if target is x else target
                error = raised(y.__setitem__, index(lib), given, words=4)
                seen += [error, y, y._version, None if y._base is None else y._base]
        return seen

    twice(scenario)()


@twice
def test_an_assignment_to_a_part_is_a_write(lib: Any) -> Any:
    w = leaf(lib, [1.0, 2.0, 3.0])
    seen: list[Any] = []
    for index in (0, slice(0, 2), lib.tensor([0, 1])):
        x = lib.ones(3, dtype=lib.float64)
        y = (w * x).sum()
        x[index] = 5.0
        seen += [x, x._version, raised(y.backward, words=14)]
    own = w * 2
    own[1] = lib.tensor(3.0, dtype=lib.float64)
    own.sum().backward()
    mixed = lib.zeros(3, dtype=lib.float64)
    mixed[1] = w[0]
    mixed.sum().backward()
    seen += [own, mixed, w.grad, raised(w.__setitem__, 0, 1.0)]
    with lib.no_grad():
        w[0] = 9.0
    part = own.detach()[1:]
    part[0] = 4.0
    return [*seen, w, own, own._version, part]


@twice
def test_an_assignment_from_memory_that_is_written_to(lib: Any) -> Any:
    x = lib.arange(6.0).reshape(3, 2)
    x[0] = x[1]
    x[lib.tensor([1, 2])] = x[0].clone()
    array = np.arange(4.0)
    y, z = lib.from_numpy(array), lib.from_numpy(array)
    y[0] = z[1]
    places = lib.tensor([2, 0, 1])
    seen = [x.clone(), y, z, raised(places.__setitem__, places, places)]
    x[:2] = lib.tensor([8.0])
    x.add_(x)
    x.sub_(x[0].clone()).add_(lib.ones(2), alpha=0.5).add_(lib.ones(3, 1), alpha=2)
    expanded = lib.zeros(1, 2).expand(3, 2)
    return [*seen, x, x._version, raised(expanded.add_, x), raised(x.add_, lib.ones(3))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_gradients_are_summed_to_what_was_broadcast(dtype: str) -> None:
    def scenario(lib: Any) -> Any:
        kind = getattr(lib, dtype)
        x = lib.arange(24).reshape(4, 2, 3).to(kind)
        shapes = (3,), (2, 3), (1, 3), (2, 1), (4, 1, 1), (1,), (), (1, 1, 1)
        leaves = [lib.full(shape, 2).to(kind).requires_grad_() for shape in shapes]
        total = x
        for each in leaves:
            total = total * each if each.ndim < 2 else total + each
        for _ in range(2):
            total.abs().sum().backward(retain_graph=True)
        found = lib.autograd.grad(total.abs().sum(), leaves[:2])
        return [each.grad for each in leaves], [each.grad._version for each in leaves], found

    twice(scenario)()


@twice
def test_parts_and_joined_tensors_give_gradients(lib: Any) -> Any:
    x, y = leaf(lib, np.arange(6.0).reshape(2, 3)), leaf(lib, np.ones((2, 3)))
    joined = lib.cat([x, y, x * 2], 1)
    piled = lib.stack([x, y.detach(), y], 1)
    loss = (joined**2).sum() + (piled[:, 0] * piled[:, 2]).sum() + joined[1, 2:7].sum()
    loss.backward()
    gradients = lib.autograd.grad(
        (lib.cat([x, y]) ** 3).select(0, 1).sum(), (x, y), create_graph=True
    )
    return x.grad, y.grad, gradients, lib.autograd.grad(gradients[0].sum(), x)


@twice
def test_gradients_of_all_outputs_of_a_layer_norm(lib: Any) -> Any:
    seen = []
    for used in ((0,), (0, 1), (2,), (0, 1, 2)):
        for dtype in ("float32", "float64"):
            x = leaf(lib, np.arange(12.0).reshape(2, 6) ** 1.5, dtype)
            weight, bias = leaf(lib, np.arange(6.0), dtype), leaf(lib, np.ones(6), dtype)
            outs = lib.native_layer_norm(x * 1, (6,), weight, bias, 1e-5)
            loss = sum((outs[i] ** 2).sum() for i in used)
            error = raised(lambda loss=loss: loss.backward(), words=3)
            seen += [error, x.grad, weight.grad, bias.grad]
    return seen


@twice
def test_a_weight_that_is_an_attribute_of_the_class(lib: Any) -> Any:
    class Doubled(lib.nn.Linear):
        @property
        def weight(self) -> Any:
            if "weight" not in self._parameters:
                raise AttributeError("not yet")
            return 2 * self._parameters["weight"]

    lib.manual_seed(0)
    layer, plain = Doubled(3, 2), lib.nn.Linear(3, 2)
    lib.nn.init.constant_(layer._parameters["weight"], 0.5)
    x = lib.ones(2, 3)
    prune = importlib.import_module(f"{lib.__name__}.nn.utils.prune")
    pruned = prune.l1_unstructured(lib.nn.Linear(3, 2), "weight", 2)
    unbiased = lib.nn.Linear(3, 2, bias=False)
    return outcome(layer, x), plain(x), pruned(x), unbiased(x), unbiased(x[None])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_few_random_numbers(dtype: str) -> None:
    def scenario(lib: Any) -> Any:
        kind, seen = getattr(lib, dtype), []
        lib.manual_seed(3)
        for count in (1, 2, 3, 0, 5, 15, 16, 17, 4):
            seen += [lib.randn(count, dtype=kind), lib.rand(count, dtype=kind)]
            seen += [lib.empty(count, dtype=kind).uniform_(-0.3, 1.7)]
            seen += [lib.empty(count, dtype=kind).normal_(0.5, 3.0)]
            seen += [lib.empty(2, count, dtype=kind).t().normal_()]
        return seen, lib.randint(0, 9, (3,)), lib.arange(3), lib.arange(0)

    twice(scenario)()


@twice
def test_weights_that_cannot_be_drawn_from(lib: Any) -> Any:
    lib.manual_seed(0)
    wrong = [
        [[1.0, -1.0]], [[0.0, 0.0]], [[1.0, float("nan")]], [[float("inf"), 1.0]], [[1.0], [0.0]],
    ]  # fmt: skip
    largest = lib.tensor([3e38, 3e38])
    return [outcome(lib.multinomial, lib.tensor(each), 1) for each in wrong], [
        lib.multinomial(lib.tensor([[0.2, 0.8, 0.0]] * 5), 1),
        outcome(lib.multinomial, largest, 1),
        outcome(lib.distributions.Categorical, None, lib.tensor([[0.0, float("nan")]])),
        outcome(lib.distributions.Categorical(lib.tensor([0.5, 0.5])).log_prob, lib.tensor(2)),
    ]
