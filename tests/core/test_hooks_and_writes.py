"""Hooks and retained gradients of a tensor and its views, before and after writes to them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import clew
from tests.twice import twice

TENSORS = ("base", "view", "other view")
ENDS = (("base",), ("view",), ("base", "view"), ("other view", "base"))


def _under_no_grad(m: Any, t: Any, w: Any) -> None:
    with m.no_grad():
        t.mul_(2)


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul_(2)": lambda m, t, w: t.mul_(2),
    "mul_(w)": lambda m, t, w: t.mul_(w),
    "copy_": lambda m, t, w: t.copy_(t.detach().clone() * w),
    "zero_": lambda m, t, w: t.zero_(),
    "square_": lambda m, t, w: t.square_(),
    "item": lambda m, t, w: t.__setitem__(0, w),
    "twice": lambda m, t, w: t.mul_(w).mul_(3),
    "no_grad": _under_no_grad,
}


def listed(tensor: Any) -> Any:
    return None if tensor is None else tensor.tolist()


def register(tensor: Any, what: str, tag: str, seen: list[Any]) -> None:
    # PyTorch crashes if a hook is put on a view whose history is out of date.
    node = tensor.grad_fn
    if what in ("hook", "hook and retain"):
        tensor.register_hook(lambda g: seen.append((tag, listed(g))))
    if what in ("retain", "hook and retain"):
        tensor.retain_grad()
    if what == "replacing hook":
        tensor.register_hook(lambda g: (seen.append((tag, listed(g))), g * 10)[1])
    if what == "hook before node":
        node.register_prehook(lambda grads: seen.append((tag, [listed(g) for g in grads])))


def run(
    m: Any, who: str, what: str, when: tuple[str, ...], write: tuple[str, str], end: tuple[str, ...]
) -> list[Any]:
    x = m.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    w = m.tensor(3.0, requires_grad=True)
    base = x * 2
    made = {"base": base, "view": base[1:3], "other view": base.view(2, 2)[0]}
    seen: list[Any] = []
    if "before" in when:
        register(made[who], what, "before", seen)
    WRITES[write[1]](m, made[write[0]], w)
    if "after" in when:
        register(made[who], what, "after", seen)
    total = sum((made[name] * made[name]).sum() for name in end)
    total.backward()  # type: ignore[union-attr]  # at least one name: a tensor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grads = {name: listed(tensor.grad) for name, tensor in made.items()}
    retains = [tensor.retains_grad for tensor in made.values()]
    return [seen, grads, retains, listed(x.grad), listed(w.grad)]


@pytest.mark.parametrize("what", ["hook", "retain", "hook and retain", "replacing hook"])
@pytest.mark.parametrize("who", TENSORS)
def test_hooks_before_and_after_a_write(who: str, what: str) -> None:
    whens = (("before",), ("after",), ("before", "after"))
    for when, write in itertools.product(whens, itertools.product(TENSORS, WRITES)):
        for end in ENDS:
            program = who, what, when, write, end
            assert run(clew, *program) == run(torch, *program), program


@pytest.mark.parametrize("who", TENSORS)
def test_hooks_of_nodes_before_and_after_a_write(who: str) -> None:
    for when, write in itertools.product((("before",), ("after",)), WRITES):
        for target, end in itertools.product(TENSORS, ENDS):
            program = who, "hook before node", when, (target, write), end
            assert run(clew, *program) == run(torch, *program), program


@twice
def test_hooks_on_a_tensor_that_is_not_a_view(m):
    results = []
    for write in WRITES.values():
        x, w, seen = m.tensor([1.0, 2.0], requires_grad=True), m.tensor(3.0, requires_grad=True), []
        h = x * 2
        h.register_hook(lambda g, seen=seen: seen.append(("before", g.tolist())))
        h.retain_grad()
        write(m, h, w)
        h.register_hook(lambda g, seen=seen: seen.append(("after", g.tolist())))
        (h * h).sum().backward()
        results.append([seen, h.grad, h.retains_grad, x.grad, w.grad])
    return results


@twice
def test_hooks_of_nodes_see_gradients_of_the_inputs_shapes(m):
    seen = []
    x, w = m.ones(2, 3, requires_grad=True), m.tensor(3.0, requires_grad=True)
    y = x * w
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    y.sum().backward()
    part = (x * 2)[0]
    base = part._base
    part.mul_(w)
    base.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    base.sum().backward()
    return seen


@twice
def test_second_derivatives_through_writes_to_views(m):
    x = m.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True, dtype=m.float64)
    w = m.tensor([0.5, 2.0], requires_grad=True, dtype=m.float64)
    results = []
    for write in ("mul_", "exp_", "sigmoid_", "copy_", "add_", "square_", "tanh_"):
        base = x * 2
        part = base[1:3]
        getattr(part, write)(*([w] if write in ("mul_", "copy_", "add_") else []))
        loss = (base * base * part.sum()).sum()
        first = m.autograd.grad(loss, [x, w], create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None)
        results += [*first, *m.autograd.grad(total, [x, w], allow_unused=True)]
    return results


@twice
def test_gradients_of_some_inputs_through_writes_to_views(m):
    x = m.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    w = m.tensor([3.0, 5.0], requires_grad=True)
    results = []
    for inputs in ([x], [w], [x, w]):
        base = x * 2
        base[1:3].mul_(w)
        base[2:].add_(w)
        results.append(m.autograd.grad((base * base).sum(), inputs))
    plain = m.zeros(4)
    plain[1:3].copy_(w)
    results.append(m.autograd.grad((plain * plain).sum(), [w]))
    return results
