"""Hooks on tensors and on nodes; retained gradients; anomaly mode."""

from __future__ import annotations

import re
from typing import Any

import pytest

import clew
from tests.twice import leaf, raised, twice

# ---------------------------------------------------------------- tensor hooks


@twice
def test_hooks_run_in_order_and_replace(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    log: list[Any] = []
    y = x * 3

    def note(name: str, factor: float | None) -> Any:
        def hook(g: Any) -> Any:
            log.append((name, g.tolist()))
            return None if factor is None else g * factor

        return hook

    for tensor, name in ((x, "x"), (y, "y")):
        tensor.register_hook(note(name + "1", 2.0))
        tensor.register_hook(note(name + "2", None))
        tensor.register_hook(note(name + "3", 10.0))
    y.sum().backward()
    return log, x.grad


@twice
def test_removal(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    log: list[str] = []
    first = x.register_hook(lambda g: log.append("first"))
    x.register_hook(lambda g: log.append("second"))
    (x * 2).backward()
    first.remove()
    first.remove()
    (x * 2).backward()
    with x.register_hook(lambda g: log.append("third")):
        (x * 2).backward()
    (x * 2).backward()
    return log


@twice
def test_hook_that_removes_itself(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    log: list[str] = []

    def once(g: Any) -> None:
        log.append("once")
        handle.remove()

    handle = x.register_hook(once)
    x.register_hook(lambda g: log.append("always"))
    for _ in range(2):
        (x * 2).backward()
    return log


@twice
def test_hook_errors(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])

    def run(result: Any) -> Any:
        y = x * 2
        y.register_hook(result)
        return raised(y.sum().backward, words=2)

    return [
        run(lambda g: g[:1]),
        run(lambda g: g.float()),
        run(lambda g: 3.0),
        raised(torch.ones(2).register_hook, print, words=9),
        raised(x.register_post_accumulate_grad_hook, None, words=0) == "nothing raised",
        raised((x * 2).register_post_accumulate_grad_hook, print, words=6),
        raised(torch.ones(1).register_post_accumulate_grad_hook, print, words=9),
    ]


@twice
def test_hook_error_propagates(torch: Any) -> Any:
    x = leaf(torch, [1.0])

    def fail(g: Any) -> None:
        raise KeyError("from the hook")

    x.register_hook(fail)
    return raised((x * 2).backward), x.grad


@twice
def test_hook_sees_the_sum_once(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    seen: list[float] = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 3 + y * 4 + y).backward()
    return seen, x.grad


@twice
def test_hook_keeps_its_gradient_after_an_in_place_write(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    seen: list[Any] = []
    y = x * 1
    y.register_hook(lambda g: seen.append(("before", g.tolist())))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.tolist())))
    y.sum().backward()
    return seen, x.grad


@twice
def test_hook_on_a_view_after_its_base_was_written(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0, 3.0])
    seen: list[Any] = []
    base = x * 1
    view = base[:2]
    view.register_hook(lambda g: seen.append(("old", g.tolist())))
    base.mul_(2)
    assert view.grad_fn is not None
    view.register_hook(lambda g: seen.append(("new", g.tolist())))
    (view * 3).sum().backward()
    return seen, x.grad


@twice
def test_hooks_with_create_graph(torch: Any) -> Any:
    x = leaf(torch, [2.0])
    y = x**3
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g.detach(), torch.autograd.grad(g, x)


@twice
def test_hook_on_grad_input(torch: Any) -> Any:
    x = leaf(torch, [2.0])
    x.register_hook(lambda g: g * 10)
    y = x * 3
    y.register_hook(lambda g: g + 1)
    found = torch.autograd.grad(y, [x, y])
    return found, x.grad


# ---------------------------------------------------------------- node hooks


@twice
def test_node_hooks_and_prehooks(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    log: list[Any] = []
    y = x * w
    node = y.grad_fn

    def pre(grads: Any) -> Any:
        log.append(("pre", [g.tolist() for g in grads]))
        return (grads[0] * 2,)

    def post(inputs: Any, outputs: Any) -> Any:
        log.append(("post", [g.tolist() for g in inputs], [g.tolist() for g in outputs]))
        return inputs[0] * 10, inputs[1]

    y.register_hook(lambda g: log.append("tensor hook"))
    node.register_prehook(pre)
    handle = node.register_hook(post)
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    return log, x.grad, w.grad


@twice
def test_node_hook_errors(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])

    def run(kind: str, result: Any) -> Any:
        y = x * 2
        getattr(y.grad_fn, kind)(result)
        return raised(y.sum().backward, words=0)

    return [
        run("register_hook", lambda i, o: (i[0],)),
        run("register_hook", lambda i, o: (i[0], None, None)),
        run("register_prehook", lambda o: (o[0], o[0])),
    ]


@twice
def test_accumulate_node_hooks(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    log: list[Any] = []
    node = (x * 2).grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: log.append(("pre", grads[0].item(), x.grad is None)))
    node.register_hook(lambda i, o: log.append(("post", len(i), len(o), x.grad is None)))
    x.register_hook(lambda g: log.append("tensor"))
    (x * 2).backward()
    return log


# ---------------------------------------------------------------- retain_grad


@twice
def test_retain_grad(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    y.retain_grad()
    y.retain_grad()
    flags = y.retains_grad, x.retains_grad
    y.register_hook(lambda g: g * 2)
    (y * y).sum().backward()
    first = y.grad.clone()
    x.retain_grad()
    return [
        flags, first, x.grad, raised(torch.ones(1).retain_grad, words=9), y.grad.requires_grad,
    ]  # fmt: skip


@twice
def test_retained_gradient_accumulates(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    y = x * 3
    y.retain_grad()
    (y * 2).backward(retain_graph=True)
    (y * 5).backward()
    return y.grad


@twice
def test_retain_grad_follows_an_in_place_write(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    y.retain_grad()
    y.mul_(5)
    (y * 2).sum().backward()
    return y.grad, x.grad, y.retains_grad


@twice
def test_retained_gradient_has_a_graph(torch: Any) -> Any:
    x = leaf(torch, [2.0])
    y = x * x
    y.retain_grad()
    (y**2).backward(create_graph=True)
    return y.grad.detach(), torch.autograd.grad(y.grad, x)


# ---------------------------------------------------------------- after accumulation


@twice
def test_post_accumulate_hook(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    log: list[Any] = []
    x.register_hook(lambda g: log.append("tensor"))
    handle = x.register_post_accumulate_grad_hook(lambda p: log.append((p is x, p.grad.tolist())))
    for _ in range(2):
        (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    return log


@twice
def test_optimizer_in_backward(torch: Any) -> Any:
    params = [leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])]

    def step(p: Any) -> None:
        with torch.no_grad():
            p -= 0.1 * p.grad
        p.grad = None

    for p in params:
        p.register_post_accumulate_grad_hook(step)
    losses = []
    for _ in range(5):
        loss = ((params[0] + params[1]) ** 2).sum()
        loss.backward()
        losses.append(loss.item())
    return losses, [p.detach() for p in params], [p.grad for p in params]


# ---------------------------------------------------------------- anomaly mode


def test_anomaly_names_the_forward_line() -> None:
    x = clew.tensor([0.0, 1.0], requires_grad=True)
    with clew.autograd.detect_anomaly():
        root = x.sqrt()  # the forward line
        out = (root * 0).sum()
        with pytest.raises(
            RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"
        ) as caught:
            out.backward()
    assert re.search(r"test_hooks\.py:\d+: root = x\.sqrt\(\)", str(caught.value))


@twice
def test_anomaly_modes(torch: Any) -> Any:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    enabled = torch.is_anomaly_enabled
    seen = [enabled()]
    with torch.autograd.set_detect_anomaly(True):
        seen.append(enabled())
        error = raised((x.sqrt() * 0).sum().backward, words=9)
        with torch.autograd.set_detect_anomaly(False):
            seen.append(enabled())
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    (x.sqrt() * 0).sum().backward()
    torch.autograd.set_detect_anomaly(False)
    return [*seen, enabled()], error, torch.isnan(x.grad).tolist()
