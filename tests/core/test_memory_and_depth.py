"""Long graphs, memory that stays flat without the garbage collector, and threads."""

from __future__ import annotations

import gc
import resource
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import clew
from clew.core.node import Node

MEGABYTE = 1024  # ru_maxrss counts kilobytes


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Cycles would stay: what is dropped must go by reference counts alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def live_objects() -> int:
    """How many tensors and nodes there are."""
    return sum(isinstance(each, (clew.Tensor, Node)) for each in gc.get_objects())


def assert_flat(step: Callable[[], None], steps: int, warm_up: int = 50) -> None:
    """Run a step many times: neither objects nor memory may grow."""
    for _ in range(warm_up):
        step()
    objects, memory = live_objects(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(steps):
        step()
    assert live_objects() == objects
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 4 * MEGABYTE


# ---------------------------------------------------------------- depth


def chain(length: int) -> tuple[Any, Any]:
    x = y = clew.ones(1, requires_grad=True)
    for _ in range(length):
        y = y + 1.0
    return x, y


def seconds_for_chain(length: int) -> float:
    start = time.perf_counter()
    x, y = chain(length)
    y.backward()
    assert y.item() == length + 1
    del y
    assert x.grad.item() == 1.0
    return time.perf_counter() - start


def test_a_million_operations() -> None:
    short = seconds_for_chain(50_000)
    long = seconds_for_chain(1_000_000)
    # Twenty times the length: quadratic time would be a factor of 400.
    assert long < 80 * short


def test_long_graph_is_freed_without_backward() -> None:
    x = y = clew.full((1,), 0.5, requires_grad=True)
    for _ in range(200_000):
        y = y.sin()
    first = weakref.ref(y.grad_fn)
    del y
    assert first() is None
    assert x.grad is None


def test_long_chain_of_views_and_writes() -> None:
    x = clew.ones(4, requires_grad=True)
    y = x * 1
    for _ in range(2_000):
        y[1:3].mul_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


def test_long_chain_can_be_differentiated_twice() -> None:
    x = clew.full((1,), 0.001, dtype=clew.float64, requires_grad=True)
    y = x
    for _ in range(5_000):
        y = y * x + x
    (g,) = clew.autograd.grad(y, x, create_graph=True)
    g.backward()
    assert x.grad.item() == pytest.approx(2.0, rel=1e-2)


def test_wide_graph() -> None:
    x = clew.ones(1, dtype=clew.float64, requires_grad=True)
    total = clew.stack([x * float(i) for i in range(20_000)]).sum()
    total.backward()
    assert x.grad.item() == sum(range(20_000))


# ---------------------------------------------------------------- memory


def small_model() -> tuple[list[Any], Callable[[], Any]]:
    clew.manual_seed(0)
    w = clew.randn(4, 4, requires_grad=True)
    b = clew.zeros(4, requires_grad=True)
    x, target = clew.randn(8, 4), clew.randn(8, 4)

    def loss() -> Any:
        return (((x @ w + b).tanh() - target) ** 2).mean()

    return [w, b], loss


@pytest.mark.usefixtures("no_collector")
def test_train_steps_hold_memory_flat() -> None:
    params, loss = small_model()

    def step() -> None:
        loss().backward()
        with clew.no_grad():
            for p in params:
                p -= 0.01 * p.grad
                p.grad = None

    assert_flat(step, 10_000)


@pytest.mark.usefixtures("no_collector")
def test_steps_that_accumulate_hold_memory_flat() -> None:
    params, loss = small_model()

    def step() -> None:
        loss().backward()
        for p in params:
            p.grad.zero_()

    assert_flat(step, 1_000)


@pytest.mark.usefixtures("no_collector")
def test_double_backward_steps_hold_memory_flat() -> None:
    params, loss = small_model()

    def step() -> None:
        grads = clew.autograd.grad(loss(), params, create_graph=True)
        sum((g * g).sum() for g in grads).backward()
        for p in params:
            p.grad = None

    assert_flat(step, 1_000)


@pytest.mark.usefixtures("no_collector")
def test_backward_with_create_graph_holds_memory_flat() -> None:
    """The gradient has a graph that ends at its own parameter: a cycle elsewhere."""
    params, loss = small_model()

    def step() -> None:
        loss().backward(create_graph=True)
        sum((p.grad**2).sum() for p in params).backward()
        for p in params:
            p.grad = None

    assert_flat(step, 500)


@pytest.mark.usefixtures("no_collector")
def test_parameter_with_a_graph_in_its_gradient_is_freed() -> None:
    x = clew.ones(2, requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    node = weakref.ref(x.grad.grad_fn)
    leaf = weakref.ref(x)
    del x
    assert leaf() is None and node() is None


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", ["plain", "view", "in-place", "custom", "hooks", "retained"])
def test_dropped_results_free_their_graph(kind: str) -> None:
    x = clew.ones(3, requires_grad=True)
    y = x.exp()
    node = weakref.ref(y.grad_fn)
    if kind == "view":
        y = y[1:].reshape(2, 1).t()
    elif kind == "in-place":
        y[0] = 5.0
        y.mul_(2)
    elif kind == "custom":
        y = Double.apply(y)
    elif kind == "hooks":
        y.register_hook(lambda g: g * 2)
        y.grad_fn.register_hook(lambda inputs, outputs: None)
    elif kind == "retained":
        y.retain_grad()
    loss = y.sum()
    del y
    assert node() is not None
    del loss
    assert node() is None


class Double(clew.autograd.Function):
    """Saves its input and its output."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        out = x * 2
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        _, _ = ctx.saved_tensors
        return g * 2


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", [
    "function", "hooks", "saved hooks", "checkpoint", "forward mode", "multi hook", "views",
    "anomaly",
])  # fmt: skip
def test_every_path_of_the_engine_holds_memory_flat(kind: str) -> None:
    x = clew.full((3,), 0.5, requires_grad=True)
    fwad = clew.autograd.forward_ad
    steps: dict[str, Callable[[], Any]] = {
        "function": lambda: Double.apply(x * 1).sum().backward(),
        "hooks": lambda: _with_hooks(x),
        "saved hooks": lambda: _with_saved_hooks(x),
        "checkpoint": lambda: (
            clew.utils.checkpoint.checkpoint(lambda t: (t * t).exp(), x, use_reentrant=False)
            .sum()
            .backward()
        ),
        "forward mode": lambda: _with_tangent(fwad, x),
        "multi hook": lambda: _with_multi_hook(x),
        "views": lambda: _with_views(x),
        "anomaly": lambda: _with_anomaly(x),
    }

    def step() -> None:
        steps[kind]()
        x.grad = None

    assert_flat(step, 300)


def _with_hooks(x: Any) -> None:
    y = x * 2
    scale = y.detach()
    y.register_hook(lambda g: g * scale)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * scale,))
    y.retain_grad()
    y.sum().backward()


def _with_saved_hooks(x: Any) -> None:
    with clew.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        y = (x * x).exp()
    y.sum().backward()


def _with_tangent(fwad: Any, x: Any) -> None:
    with fwad.dual_level():
        (fwad.make_dual(x, clew.ones(3)) ** 2).sum()
    x.sum().backward()


def _with_multi_hook(x: Any) -> None:
    a, b = x * 2, x * 3
    clew.autograd.graph.register_multi_grad_hook((a, b), lambda grads: None)
    (a * b).sum().backward()


def _with_views(x: Any) -> None:
    y = x * 1
    y[:2].mul_(2)
    y[1:] += y[:1].detach()
    y.sum().backward()


def _with_anomaly(x: Any) -> None:
    with clew.autograd.detect_anomaly():
        (x * x).sum().backward()


@pytest.mark.usefixtures("no_collector")
def test_failed_backward_leaks_nothing() -> None:
    x = clew.ones(3, requires_grad=True)

    def step() -> None:
        y = x * 1
        z = y.sin()
        y.mul_(2)
        with pytest.raises(RuntimeError):
            z.sum().backward()

    # An error's traceback holds its frames, in a cycle that only the collector finds.
    def collected() -> None:
        step()
        gc.collect()

    assert_flat(collected, 20, warm_up=5)


def test_saved_tensors_are_freed_by_backward() -> None:
    x = clew.ones(1000, requires_grad=True)
    big = x * 2
    memory = weakref.ref(big._array)
    loss = (big * big).sum()
    del big
    assert memory() is not None
    loss.backward()
    assert memory() is None


# ---------------------------------------------------------------- threads


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    barrier = threading.Barrier(count)

    def run(number: int) -> Any:
        barrier.wait(20)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_threads_share_parameters() -> None:
    w = clew.ones(50, dtype=clew.float64, requires_grad=True)
    steps = 200

    def work(number: int) -> None:
        for _ in range(steps):
            (w * float(number + 1)).sum().backward()

    in_threads(4, work)
    assert w.grad.tolist() == [steps * (1.0 + 2 + 3 + 4)] * 50


def test_threads_share_a_graph() -> None:
    w = clew.ones(20, dtype=clew.float64, requires_grad=True)
    hidden = (w * 3).exp()

    def work(number: int) -> None:
        for _ in range(50):
            hidden.sum().backward(retain_graph=True)

    in_threads(4, work)
    expected = 200 * 3 * hidden.detach()
    assert clew.allclose(w.grad, expected)


def test_threads_have_their_own_modes_and_levels() -> None:
    w = clew.ones(3, requires_grad=True)

    def work(number: int) -> list[bool]:
        seen = []
        for _ in range(100):
            if number % 2:
                with clew.no_grad():
                    seen.append((w * 2).requires_grad)
            else:
                seen.append(not (w * 2).requires_grad)
        return seen

    assert not any(any(seen) for seen in in_threads(4, work))


def test_hooks_run_in_the_thread_of_their_backward() -> None:
    w = clew.ones(2, requires_grad=True)
    seen: list[tuple[int, int]] = []
    names: dict[int, int] = {}
    w.register_hook(lambda g: seen.append((threading.get_ident(), int(g[0].item()))))

    def work(number: int) -> None:
        names[number] = threading.get_ident()
        (w * float(number)).sum().backward()

    in_threads(4, work)
    assert sorted(seen) == sorted((ident, number) for number, ident in names.items())
