"""Hooks on tensors, on nodes and on what is saved; retained gradients; anomaly mode."""

from __future__ import annotations

import re
from typing import Any

import pytest

import clew
from tests.twice import raised, twice


def leaf(torch: Any, values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


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


# ---------------------------------------------------------------- saved tensors


@twice
def test_saved_tensors_hooks(torch: Any) -> Any:
    x, w = leaf(torch, [1.0, 2.0]), leaf(torch, [3.0, 4.0])
    log: list[Any] = []

    def pack(t: Any) -> Any:
        log.append(("pack", t.tolist()))
        return t.tolist()

    def unpack(values: Any) -> Any:
        log.append(("unpack", values))
        return torch.tensor(values, dtype=torch.float64)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * w).exp()
    z = y * 2
    z.sum().backward()
    return log, x.grad, w.grad


@twice
def test_the_innermost_hooks_apply(torch: Any) -> Any:
    x = leaf(torch, [2.0])
    hooks = torch.autograd.graph.saved_tensors_hooks
    log: list[str] = []

    def named(name: str) -> Any:
        return hooks(lambda t: (log.append(name), t)[1], lambda t: t)

    with named("outer"):
        a = x.exp()
        with named("inner"):
            b = a.exp()
        c = b.exp()
    c.backward()
    return log, x.grad


@twice
def test_saved_tensors_hook_errors(torch: Any) -> Any:
    x = leaf(torch, [2.0])
    graph = torch.autograd.graph
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        wrong_type = x.exp()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t[:0]):
        wrong_shape = x.exp()

    def disabled() -> None:
        refused = graph.disable_saved_tensors_hooks("not here")
        with refused, graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            x.exp()

    def fails(t: Any) -> None:
        raise KeyError("pack")

    def packing() -> None:
        with graph.saved_tensors_hooks(fails, lambda t: t):
            x.exp()

    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        nested = raised(lambda: graph.disable_saved_tensors_hooks("inner").__enter__())
    return [
        raised(wrong_type.backward, words=6),
        raised(wrong_shape.sum().backward, words=0) != "nothing raised",
        raised(disabled),
        raised(packing),
        nested,
    ]


@twice
def test_pack_hook_that_writes(torch: Any) -> Any:
    x = leaf(torch, [2.0]) * 1

    def run() -> None:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            x.sin()

    return raised(run, words=10)


@twice
def test_save_on_cpu(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sin()
    y.sum().backward()
    return x.grad


@twice
def test_double_backward_through_hooks(torch: Any) -> Any:
    x = leaf(torch, [0.5, 0.7])
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: t.clone(), lambda t: t):
        y = (x.exp() * x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()
    return g.detach(), x.grad


@twice
def test_raw_saved_tensors(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x.sin()
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: t.tolist(), lambda v: torch.tensor(v).double())
    again = raised(saved.register_hooks, lambda t: t, lambda t: t, words=11)
    y.sum().backward()
    freed = raised(y.grad_fn._raw_saved_self.register_hooks, lambda t: t, lambda t: t, words=11)
    return x.grad, again, freed


# ---------------------------------------------------------------- several tensors, edges


@twice
def test_multi_grad_hook(torch: Any) -> Any:
    a, b, c = leaf(torch, [1.0]), leaf(torch, [2.0]), leaf(torch, [3.0])
    log: list[Any] = []
    register = torch.autograd.graph.register_multi_grad_hook

    def all_of(grads: Any) -> None:
        log.append(["all", *[g if g is None else g.item() for g in grads]])

    first = register((a, b, c), all_of)
    handle = register((a, b, c), lambda g: log.append(["any", g.item()]), mode="any")
    (a * b * c).backward()
    (a * b).backward()
    handle.remove()
    first.remove()
    (a * c).backward()
    y, z = a * 2, b * 3
    register((y, z), all_of)
    torch.autograd.grad(y * z, [a], retain_graph=True)
    torch.autograd.grad(y * z, [a, b])
    return log, raised(register, (a,), print, mode="most")


@twice
def test_gradient_edges(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x * 3
    edge = torch.autograd.graph.get_gradient_edge(y)
    leaf_edge = torch.autograd.graph.get_gradient_edge(x)
    out = (y * y).sum()
    found = torch.autograd.grad(out, [edge, leaf_edge], retain_graph=True)
    root = torch.autograd.graph.get_gradient_edge(out)
    from_edge = torch.autograd.grad(root, [x], torch.tensor(2.0).double(), retain_graph=True)
    torch.autograd.backward(root, torch.tensor(1.0).double())
    return [
        edge.node is y.grad_fn, edge.output_nr, leaf_edge.node.name(), found, from_edge, x.grad,
        raised(torch.autograd.graph.get_gradient_edge, torch.ones(1), words=6),
    ]  # fmt: skip


@twice
def test_increment_version(torch: Any) -> Any:
    x = leaf(torch, [1.0])
    y = x * 1
    z = y.sin()
    before = y._version
    torch.autograd.graph.increment_version(y)
    return y._version - before, raised(z.backward, words=10)


@twice
def test_allow_mutation(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y.sin()
        y.mul_(100)
        w = y**2
        y[0] = 0
        (z + w).sum().backward()
    return x.grad


@twice
def test_mutation_is_refused_outside(torch: Any) -> Any:
    x = leaf(torch, [1.0, 2.0])
    y = x * 1
    z = y.sin()
    y.mul_(100)
    return raised(z.sum().backward, words=10)


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
