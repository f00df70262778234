"""`requires_grad` that changes between forward and backward, and on what it can be changed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import clew
from tests.twice import raised, twice


def _leaf(m: Any) -> Any:
    return m.tensor([1.0, 2.0], requires_grad=True)


FREEZE = {
    "requires_grad_": lambda w: w.requires_grad_(False),
    "assignment": lambda w: setattr(w, "requires_grad", False),
    "detach_": lambda w: w.detach_(),
}
THAW = {
    "not": lambda w: None,
    "requires_grad_": lambda w: w.requires_grad_(),
    "assignment": lambda w: setattr(w, "requires_grad", True),
}


@pytest.mark.parametrize("thaw", THAW)
@pytest.mark.parametrize("freeze", FREEZE)
@pytest.mark.parametrize("how", ["plain", "second", "graph", "hooks", "wide"])
def test_a_frozen_leaf_gets_no_gradient(freeze: str, thaw: str, how: str) -> None:
    def scenario(m: Any) -> Any:
        w, other, seen = _leaf(m), _leaf(m), []
        if how == "second":
            w.grad = m.ones(2)
        if how == "hooks":
            w.register_hook(lambda g: seen.append(("hook", g.tolist())))
            w.register_post_accumulate_grad_hook(
                lambda p: seen.append(("after", None if p.grad is None else p.grad.tolist()))
            )
        loss = (m.ones(64, 2) @ (w * other).reshape(2, 1)).sum() if how == "wide" else (w * w).sum()
        loss = loss + (w * other).sum()
        FREEZE[freeze](w)
        THAW[thaw](w)
        loss.backward(create_graph=how == "graph")
        return w.grad, other.grad, w.requires_grad, w.is_leaf, seen

    twice(scenario)()


@twice
def test_a_frozen_weight_of_a_layer_is_not_trained(m):
    m.manual_seed(0)
    layer = m.nn.Linear(2, 3)
    with m.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.25)
    loss = layer(m.ones(4, 2, requires_grad=True)).pow(2).sum()
    layer.weight.requires_grad_(False)
    loss.backward()
    return layer.weight.grad, layer.bias.grad


@twice
def test_gradients_with_respect_to_what_was_frozen(m):
    w = _leaf(m)
    loss = (w * w).sum()
    w.requires_grad_(False)
    return [
        raised(m.autograd.grad, loss, w, retain_graph=True),
        raised(m.autograd.grad, loss, w, allow_unused=True, retain_graph=True),
        raised(loss.backward, inputs=[w], retain_graph=True),
        raised(w.retain_grad),
        raised(w.register_hook, print),
    ]


@twice
def test_freezing_in_hooks(m):
    seen = []
    for place in ("result", "own"):
        w = _leaf(m)
        h = w * 2
        (h if place == "result" else w).register_hook(lambda g, w=w: seen.append(freeze(w)))
        (h * h).sum().backward()
        seen.append(w.grad)
    return seen


def freeze(w: Any) -> bool:
    w.requires_grad_(False)
    return bool(w.requires_grad)


@twice
def test_hooks_and_accumulators_stay_with_the_leaf(m):
    w, seen = _leaf(m), []
    w.register_hook(lambda g: seen.append(g.tolist()))
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    first = (w * 2).grad_fn
    w.requires_grad_(False)
    w.requires_grad_(True)
    again = (w * 3).grad_fn
    seen.append(first.next_functions[0][0] is again.next_functions[0][0])
    (w * 2).sum().backward()
    w.detach_()
    w.requires_grad_(True)
    (w * 3).sum().backward()
    return seen


@twice
def test_what_hooks_after_accumulation_may_return(m):
    def run(result):
        w = _leaf(m)
        w.register_post_accumulate_grad_hook(result)
        (w * 2).sum().backward()

    returns = (lambda p: None, lambda p: p, lambda p: p.grad, lambda p: 3)
    return [raised(run, result) for result in returns]


@twice
def test_a_leaf_that_moved_into_the_graph(m):
    w, x = _leaf(m), _leaf(m)
    loss = (w * 2).sum()
    w.requires_grad_(False)
    w.mul_(x)
    return raised(loss.backward), w.is_leaf, w.grad_fn.name(), x.grad


@twice
def test_where_requires_grad_can_be_changed(m):
    def assign(tensor, value):
        tensor.requires_grad = value

    results = []
    for flag in (True, False, 1, None):
        for tensor in (_leaf(m), _leaf(m) * 2, m.ones(2), m.ones(2, dtype=m.int64)):
            results.append(raised(assign, tensor, flag, words=9))
            results.append(tensor.requires_grad)
    for flag in (True, False):
        for tensor in (_leaf(m), _leaf(m) * 2, m.ones(2), m.ones(2, dtype=m.int64)):
            results.append(raised(tensor.requires_grad_, flag, words=30))
            results.append(tensor.requires_grad)
    return [*results, raised(_leaf(m).requires_grad_, 1, words=9)]


@twice
def test_data_of_another_kind(m):
    def assign(tensor, value):
        tensor.data = value

    w, seen = _leaf(m), []
    results = [raised(assign, w, 3), raised(assign, w, m.ones(2, dtype=m.int64), words=12)]
    w.register_hook(lambda g: seen.append((g.dtype == w.dtype, g.tolist())))
    first = (w * 2).sum()
    w.data = m.zeros(3)
    first.backward()
    results.append(w.grad)
    w.grad = None
    # PyTorch keeps the leaf's node, with the old shape, as long as a graph does.
    del first
    (w * 3).sum().backward()
    second = (w * 2).sum()
    w.data = w.data.double()
    w.grad = None
    second.backward()
    return [*results, w.grad, seen, raised(_mismatched, m)]


def _mismatched(m: Any) -> None:
    w = _leaf(m)
    (w * 2).sum().backward()
    w.data = m.zeros(3)
    (w * 2).sum().backward()


def test_the_accumulator_of_a_frozen_leaf_is_kept_for_its_memory_only() -> None:
    """Both libraries let a frozen leaf be freed like any other."""
    import weakref

    for m in (torch, clew):
        w = _leaf(m)
        loss = (w * w).sum()
        w.requires_grad_(False)
        gone = weakref.ref(w)
        del loss, w
        assert gone() is None


OTHER_MEMORY = {
    "resize_": lambda x, other: x.resize_(3, 3),
    "resize_ smaller": lambda x, other: x.resize_(1, 2),
    "resize_ to the same": lambda x, other: x.resize_(2, 2),
    "resize_as_": lambda x, other: x.resize_as_(other),
    "set_": lambda x, other: x.set_(other),
    "set_ to nothing": lambda x, other: x.set_(),
    "set_ to itself": lambda x, other: x.set_(x.detach()),
    "set_ to a view": lambda x, other: x.set_(other[0]),
}
OPERANDS = {
    "plain": lambda m: m.ones(2, 2),
    "leaf": lambda m: m.ones(2, 2, requires_grad=True),
    "view": lambda m: m.ones(4).view(2, 2),
    "view of a leaf": lambda m: m.ones(2, 2, requires_grad=True).view(2, 2),
    "detached": lambda m: m.ones(2, 2).detach(),
    "data": lambda m: m.ones(2, 2).data,
}


@pytest.mark.parametrize("change", OTHER_MEMORY)
@pytest.mark.parametrize("operand", OPERANDS)
def test_backward_notices_that_an_operand_got_other_memory(change: str, operand: str) -> None:
    def scenario(m: Any) -> Any:
        w, x, other = m.ones(2, 2, requires_grad=True), OPERANDS[operand](m), m.full((3, 3), 7.0)
        loss, version = (w * x).sum(), x._version
        seen = [raised(OTHER_MEMORY[change], x, other), x._version - version, list(x.shape)]
        seen += [raised(loss.backward), w.grad, x.is_leaf, x.requires_grad, x._is_view()]
        with m.no_grad():
            x.add_(1)
        return [*seen, x._version - version, other._version, other]

    twice(scenario)()
