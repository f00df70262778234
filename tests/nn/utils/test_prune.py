"""nn.utils.prune, compared with PyTorch's: the same masks for the same seed."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from typing import Any

import pytest
import torch
import torch.nn.utils.prune

import clew
from clew.nn.utils import prune
from tests.twice import raised, twice

AMOUNTS = [0, 1, 3, 0.0, 0.3, 0.5, 1.0]


def state(module: Any) -> Any:
    return (
        {name: tensor.clone() for name, tensor in module.state_dict().items()},
        [name for name, _ in module.named_parameters()],
        [type(hook).__name__ for hook in module._forward_pre_hooks.values()],
        repr(module),
    )


def test_every_function_has_the_same_arguments() -> None:
    own = torch.nn.utils.prune
    for name, function in inspect.getmembers(own, inspect.isfunction):
        if function.__module__ == own.__name__ and not name.startswith("_"):
            theirs = list(inspect.signature(function).parameters)
            assert list(inspect.signature(getattr(prune, name)).parameters) == theirs, name


# ---------------------------------------------------------------- single methods

METHODS: dict[str, Any] = {
    "identity": lambda prune, layer, amount: prune.identity(layer, "weight"),
    "random": lambda prune, layer, amount: prune.random_unstructured(layer, "weight", amount),
    "l1": lambda prune, layer, amount: prune.l1_unstructured(layer, "weight", amount),
    "rows": lambda prune, layer, amount: prune.random_structured(layer, "weight", amount, dim=0),
    "last": lambda prune, layer, amount: prune.random_structured(layer, "weight", amount, -1),
    "l2 rows": lambda prune, layer, amount: prune.ln_structured(layer, "weight", amount, 2, 0),
    "l1 columns": lambda prune, layer, amount: prune.ln_structured(layer, "weight", amount, 1, 1),
    "most": lambda prune, layer, amount: prune.ln_structured(
        layer, "weight", amount, n=math.inf, dim=-1
    ),
    "least": lambda prune, layer, amount: prune.ln_structured(
        layer, "weight", amount, n=-math.inf, dim=-2
    ),
    "length": lambda prune, layer, amount: prune.ln_structured(
        layer, "weight", amount, n="fro", dim=0
    ),
}


# torch has no Frobenius norm over three dimensions; and by its smallest element every slice is the
# same once something is pruned in each.
ANYWHERE = [name for name in METHODS if name not in ("length", "least")]


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize(
    ("kind", "method"),
    [("linear", name) for name in METHODS] + [("conv", name) for name in ANYWHERE],
)
def test_methods(method: str, kind: str, amount: Any) -> None:
    def scenario(lib: Any) -> Any:
        nn = lib.nn
        layer = nn.Linear(5, 4) if kind == "linear" else nn.Conv2d(3, 4, (3, 4))
        x = lib.randn(2, 5) if kind == "linear" else lib.randn(2, 3, 5, 5)
        weight = layer.weight
        assert METHODS[method](nn.utils.prune, layer, amount) is layer
        layer(x).square().sum().backward()
        first = state(layer), layer.weight, [p.grad for p in layer.parameters()]
        lib.optim.SGD(layer.parameters(), lr=0.1).step()
        out = layer(x)
        assert nn.utils.prune.remove(layer, "weight") is layer
        return first, out, state(layer), layer.weight is weight, layer(x)

    twice(scenario)()


@pytest.mark.parametrize("second", ANYWHERE)
@pytest.mark.parametrize("first", ANYWHERE)
def test_one_after_the_other(first: str, second: str) -> None:
    def scenario(lib: Any) -> Any:
        prune = lib.nn.utils.prune
        layer = lib.nn.Conv2d(4, 5, (5, 4))
        METHODS[first](prune, layer, 2)
        METHODS[second](prune, layer, 0.5)
        seen = [state(layer)]
        METHODS[first](prune, layer, 0.5)
        seen.append(state(layer))
        hook = next(iter(layer._forward_pre_hooks.values()))
        seen.append([type(each).__name__ for each in hook])
        prune.remove(layer, "weight")
        return seen, state(layer)

    twice(scenario)()


@twice
def test_importance_scores_and_masks(lib: Any) -> Any:
    prune, seen = lib.nn.utils.prune, []
    scores = lib.arange(12.0).view(4, 3)
    for function, options in (
        (prune.l1_unstructured, {"amount": 5}),
        (prune.ln_structured, {"amount": 2, "n": 2, "dim": 0}),
    ):
        layer = function(lib.nn.Linear(3, 4), "weight", importance_scores=-scores, **options)
        function(layer, "weight", importance_scores=scores, **options)
        seen.append(state(layer))
    for mask in (scores > 4, (scores > 4).int(), (scores % 2).double()):
        layer = prune.custom_from_mask(lib.nn.Linear(3, 4), "weight", mask)
        prune.custom_from_mask(layer, "weight", mask=scores < 9)
        seen.append((state(layer), layer.weight))
    half = prune.l1_unstructured(lib.nn.Linear(3, 4).bfloat16(), "weight", 3)
    return seen, str(half.weight.dtype), str(half.weight_mask.dtype)


@twice
def test_several_parameters_of_one_module(lib: Any) -> Any:
    prune = lib.nn.utils.prune
    layer = lib.nn.GRU(2, 3)
    prune.l1_unstructured(layer, "weight_ih_l0", 0.5)
    prune.random_unstructured(layer, "bias_hh_l0", 2)
    out = layer(lib.ones(4, 1, 2))[0]
    out.sum().backward()
    seen = state(layer), {name: p.grad for name, p in layer.named_parameters()}
    prune.remove(layer, "weight_ih_l0")
    return out, seen, state(layer), prune.is_pruned(layer), prune.is_pruned(lib.nn.Linear(2, 2)), (
        prune.is_pruned(lib.nn.Sequential(lib.nn.Sequential(layer))), layer(lib.ones(4, 1, 2))[0],
    )  # fmt: skip


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("method", ["L1Unstructured", "RandomUnstructured"])
def test_global(method: str, amount: Any) -> None:
    def scenario(lib: Any) -> Any:
        prune = lib.nn.utils.prune
        one, two = lib.nn.Linear(3, 4), lib.nn.Conv1d(2, 3, 2)
        prune.random_unstructured(one, "weight", 2)
        places = [(one, "weight"), (two, "weight"), (two, "bias")]
        kind = getattr(prune, method)
        prune.global_unstructured(places, kind, amount=amount)
        seen = [state(one), state(two)]
        scores = {(two, "weight"): lib.rand(3, 2, 2) + 1}
        prune.global_unstructured(tuple(places), kind, importance_scores=scores, amount=0.5)
        return seen, state(one), state(two)

    twice(scenario)()


def test_global_takes_a_generator() -> None:
    model = clew.nn.Sequential(clew.nn.Linear(3, 3), clew.nn.Linear(3, 3))
    prune.global_unstructured(((m, "weight") for m in model), prune.L1Unstructured, amount=9)
    assert sum(int(m.weight_mask.sum()) for m in model) == 9


# ---------------------------------------------------------------- methods as objects


@twice
def test_prune_of_tensors(lib: Any) -> Any:
    prune = lib.nn.utils.prune
    t = lib.tensor([[3.0, -1.0, 2.0], [-5.0, 0.5, 4.0]])
    mask = lib.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    methods = (
        prune.L1Unstructured(2), prune.RandomUnstructured(0.5), prune.LnStructured(1, 2, -1),
        prune.RandomStructured(1, dim=0), prune.Identity(), prune.CustomFromMask(mask == 0),
    )  # fmt: skip
    return [
        (
            each.prune(t),
            each.prune(t, default_mask=mask),
            each.prune(t, importance_scores=-t * t),
            each.compute_mask(t, default_mask=mask.clone()),
            each.PRUNING_TYPE,
            raised(each.prune, t, importance_scores=lib.ones(2), words=20),
        )
        for each in methods
    ]


@twice
def test_containers(lib: Any) -> Any:
    prune = lib.nn.utils.prune
    one, two, other = (prune.L1Unstructured(amount=1) for _ in range(3))
    one._tensor_name = two._tensor_name = "weight"
    other._tensor_name = "bias"
    empty, container = prune.PruningContainer(), prune.PruningContainer(one)
    empty._tensor_name = "weight"
    container.add_pruning_method(two)
    t, mask = lib.tensor([1.0, 2.0, 3.0]), lib.tensor([1.0, 0.0, 1.0])
    return (
        len(empty), len(container), container[0] is one, list(container)[1] is two,
        container.compute_mask(t, mask),
        raised(container.add_pruning_method, other, words=11),
        raised(container.add_pruning_method, 3),
        raised(prune.PruningContainer, 3),
        raised(prune.BasePruningMethod, words=5),
    )  # fmt: skip


def test_a_container_does_not_write_to_the_mask_it_starts_from() -> None:
    method = prune.L1Unstructured(1)
    method._tensor_name = "weight"
    mask = clew.ones(3)
    prune.PruningContainer(method).compute_mask(clew.tensor([1.0, 2.0, 3.0]), mask)
    assert mask.tolist() == [1.0, 1.0, 1.0]


def custom(lib: Any, kind: Any, **members: Any) -> Any:
    """A method as users write it: every second element goes."""

    def compute_mask(self: Any, t: Any, default_mask: Any) -> Any:
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask

    body = {"compute_mask": compute_mask, **({} if kind is None else {"PRUNING_TYPE": kind})}
    return type("Custom", (lib.nn.utils.prune.BasePruningMethod,), {**body, **members})


@twice
def test_custom_methods(lib: Any) -> Any:
    seen = []
    for kind in ("unstructured", "global"):
        layer = lib.nn.Linear(3, 4)
        returned = [type(custom(lib, kind).apply(layer, "weight")).__name__ for _ in range(2)]
        seen.append((returned, state(layer)))
    layer = lib.nn.utils.prune.l1_unstructured(lib.nn.Linear(3, 4), "weight", 2)
    return seen, (
        raised(custom(lib, "other").apply, layer, "weight"),
        raised(custom(lib, "structured").apply, lib.nn.utils.prune.identity(
            lib.nn.Linear(3, 4), "weight"), "weight", words=10),
        raised(custom(lib, "structured", dim=-5).apply, lib.nn.utils.prune.identity(
            lib.nn.Linear(3, 4), "weight"), "weight", words=8),
    )  # fmt: skip


@pytest.mark.parametrize("pruned_before", [False, True])
def test_a_method_that_fails_changes_nothing(pruned_before: bool) -> None:
    def fail(self: Any, t: Any, default_mask: Any) -> Any:
        raise ZeroDivisionError

    layer = clew.nn.Linear(3, 4)
    if pruned_before:
        prune.l1_unstructured(layer, "weight", 3)
    before = list(layer.state_dict()), dict(layer._forward_pre_hooks), layer.weight
    with pytest.raises(ZeroDivisionError):
        custom(clew, "unstructured", compute_mask=fail).apply(layer, "weight")
    after = list(layer.state_dict()), dict(layer._forward_pre_hooks), layer.weight
    assert all(a is b or a == b for a, b in zip(before, after, strict=True))
    layer(clew.ones(1, 3))


# ---------------------------------------------------------------- errors and copies


@twice
def test_errors(lib: Any) -> Any:
    nn, prune = lib.nn, lib.nn.utils.prune
    ones = lib.ones(2)

    def layer() -> Any:
        return nn.Linear(3, 4)

    amounts = [
        raised(function, layer(), "weight", amount, *rest, words=20)
        for amount in (-1, -0.5, 1.5, 100, "a", None)
        for function, *rest in (
            (prune.l1_unstructured,), (prune.random_unstructured,), (prune.random_structured, 0),
            (prune.ln_structured, 2, 1),
        )
    ]  # fmt: skip
    places = [(layer(), "weight")]
    return amounts, (
        raised(prune.l1_unstructured, layer(), "scale", 1),
        raised(prune.l1_unstructured, nn.Linear(3, 4, bias=False), "bias", 1),
        raised(prune.ln_structured, layer(), "weight", 1, 2, 3, words=12),
        raised(prune.random_structured, layer(), "weight", 1, -3, words=3),
        raised(prune.random_structured, layer(), "bias", 1, 0, words=20),
        raised(prune.ln_structured, layer(), "weight", 1, n="most", dim=0, words=4),
        raised(prune.l1_unstructured, layer(), "weight", 1, ones, words=30),
        raised(prune.custom_from_mask, layer(), "weight", ones, words=12),
        raised(prune.remove, layer(), "weight", words=30),
        raised(prune.global_unstructured, 3, prune.L1Unstructured, amount=1),
        raised(prune.global_unstructured, [], prune.L1Unstructured, amount=1),
        raised(prune.global_unstructured, places, prune.RandomStructured, amount=1, words=10),
        raised(prune.global_unstructured, places, prune.L1Unstructured, 3, amount=1, words=8),
        raised(prune.global_unstructured, places, prune.L1Unstructured, amount=100, words=12),
        raised(prune.L1Unstructured, -1, words=20),
    )


@twice
def test_copies_and_files(lib: Any) -> Any:
    prune = lib.nn.utils.prune
    with lib.no_grad():
        layer = prune.l1_unstructured(lib.nn.Linear(3, 4), "weight", 3)
        prune.random_structured(layer, "weight", 1, 0)
    seen = []
    for replica in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        with lib.no_grad():
            replica.weight_orig.fill_(2.0)
        seen.append((replica(lib.ones(1, 3)), state(replica)))
        seen.append(state(prune.remove(replica, "weight")))
    fresh = prune.identity(lib.nn.Linear(3, 4), "weight")
    fresh.load_state_dict(layer.state_dict())
    return seen, fresh(lib.ones(1, 3)), layer(lib.ones(1, 3))
