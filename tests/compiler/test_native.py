"""Native segments: what they compute, on which memory, and what they leave to Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clew
from clew import nn
from clew.compiler import program
from clew.compiler.native.layouts import Layout, core_dims, loops_over
from clew.compiler.native.segments import Segment
from clew.nn import functional as F

Step = Callable[..., Any]


def gradient_of(loss: Step) -> Step:
    """The loss and its gradient."""

    def step(x: clew.Tensor) -> Any:
        x = x.detach().requires_grad_()
        value = loss(x * 1.0)
        return value, *clew.autograd.grad(value, x)

    return step


TARGET = clew.tensor([3, 0, 31, 7, 7, 2, 9, 30])
IGNORING = clew.tensor([3, -100, 31, 7, -100, 2, 9, 30])
OTHER = clew.linspace(-3, 3, 8 * 32).reshape(8, 32)
WEIGHT, BIAS = clew.linspace(-1, 1, 32 * 32).reshape(32, 32), clew.linspace(0, 1, 32)
NORM = nn.LayerNorm(32)

STEPS: dict[str, Step] = {
    "products": lambda x: (x @ WEIGHT, (x @ WEIGHT).T @ x, (x * 2).T @ x),
    "linear": lambda x: F.linear(F.linear(x, WEIGHT, BIAS), WEIGHT, BIAS).sin(),
    "sums": lambda x: ((x * 2).sum(0), (x * 2).sum(1, keepdim=True), (x * 2).sum(), x.sin().mean()),
    "sums of blocks": lambda x: tuple(
        (x * 2).reshape(4, 2, 8, 4).sum(dims)
        for dims in ((0,), (1, 2), (2, 3), (0, 1), (3,), (0, 2))
    ),
    "transposed": lambda x: ((x.T + 1) * x.T).sum(1) + (x.T.exp() @ x).sum(1),
    "broadcast": lambda x: (x.reshape(8, 1, 32) * x.reshape(8, 32, 1)).sin().sum(1) + x,
    "gather": gradient_of(lambda x: x.gather(1, TARGET.unsqueeze(1)).square().sum()),
    "cross entropy": gradient_of(lambda x: F.cross_entropy(x, TARGET)),
    "ignored classes": gradient_of(lambda x: F.cross_entropy(x, IGNORING)),
    "sum of losses": gradient_of(lambda x: F.cross_entropy(x, TARGET, reduction="sum")),
    "smooth l1": gradient_of(lambda x: F.smooth_l1_loss(x, OTHER, beta=0.5)),
    "mse": gradient_of(lambda x: F.mse_loss(x, OTHER)),
    "softmax": gradient_of(lambda x: (F.softmax(x, 0) * OTHER + F.log_softmax(x, -1)).sum()),
    "layer norm": gradient_of(lambda x: (NORM(x) * OTHER).mean()),
}  # fmt: skip


def segments(compiled: Any) -> list[Segment]:
    """The native segments of all that a function has compiled."""
    programs = [event.trace.program for event in compiled.events if event.trace is not None]
    return [item for each in programs for item in each.items if isinstance(item, Segment)]


def assert_same(found: Any, right: Any) -> None:
    """But for rounding: a fused kernel may round once where eager rounds twice."""
    clew.testing.assert_close(found, right, rtol=1e-5, atol=1e-5)


def bits(results: Any) -> list[bytes]:
    found = results if isinstance(results, tuple) else (results,)
    return [each.detach().numpy().tobytes() for each in found]


@pytest.mark.parametrize("name", STEPS)
def test_a_segment_computes_what_eager_computes(name: str) -> None:
    step = STEPS[name]
    compiled = clew.compile(step)
    for seed in range(3):
        clew.manual_seed(seed)
        x = clew.randn(8, 32)
        assert_same(compiled(x), step(x))
    assert segments(compiled)


class Poisoned:
    """NumPy with memory as it may be where nobody has written to it yet."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: np.dtype) -> np.ndarray:
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8).fill(0xFF)
        return array


def test_no_memory_is_read_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several segments, with Python between them, that share what they compute."""
    model = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 32), nn.ReLU())
    chosen = TARGET.unsqueeze(1)

    def step(x: clew.Tensor) -> Any:
        model.zero_grad()
        out = model(x)
        # Sorting has no native form.
        loss = (out.gather(1, chosen).sort(0)[0] * out).square().mean() + out.cumsum(1).mean()
        loss.backward()
        return [loss, *[each.grad for each in model.parameters()]]

    expected = step(OTHER)
    monkeypatch.setattr(program, "np", Poisoned())
    compiled = clew.compile(step)
    for _ in range(3):
        assert_same(compiled(OTHER), expected)
    assert len(segments(compiled)) > 1


def test_a_whole_train_step_is_one_segment() -> None:
    model = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 32))
    optimizer = clew.optim.Adam(model.parameters())

    def step(x: clew.Tensor) -> clew.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), TARGET)
        loss.backward()
        optimizer.step()
        return loss

    compiled = clew.compile(step)
    for _ in range(3):
        compiled(OTHER)
    (segment,) = segments(compiled)
    assert len(segment.calls) > 12


def test_a_class_that_does_not_exist_raises_as_it_does_eagerly() -> None:
    model = nn.Linear(32, 4)
    target = clew.tensor([0, 1, 2, 3, 0, 1, 2, 3])

    def step(x: clew.Tensor) -> clew.Tensor:
        model.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        return loss

    compiled = clew.compile(step)
    for _ in range(3):
        compiled(OTHER)
    assert segments(compiled)
    before = model.weight.detach().clone()
    for wrong in (4, -1, 2**32 + 1):
        target[2] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            compiled(OTHER)
        assert model.weight.grad is None and clew.equal(model.weight, before)
    target[2] = 2
    assert_same(compiled(OTHER), step(OTHER))


def test_an_index_out_of_bounds_raises_as_it_does_eagerly() -> None:
    index = TARGET.clone().unsqueeze(1)
    compiled = clew.compile(lambda x: (x * 2).gather(1, index) + 1)
    for _ in range(3):
        compiled(OTHER)
    assert segments(compiled)
    for wrong in (32, -1, 2**32):
        index[3] = wrong
        with pytest.raises(RuntimeError, match=f"index {wrong} is out of bounds for dimension 1"):
            compiled(OTHER)


def test_a_gradient_from_outside_may_lie_in_memory_in_any_order() -> None:
    model = nn.Linear(32, 32)
    compiled = clew.compile(model)
    compiled(OTHER)
    weights = (clew.ones(8, 32), clew.randn(32, 8).T, clew.ones(1, 1).expand(8, 32))
    for weight in weights:
        found = [
            clew.autograd.grad(each(OTHER), list(model.parameters()), weight)
            for each in (compiled, model)
        ]
        assert_same(found[0], found[1])


def test_threads_may_run_one_segment_at_once() -> None:
    step = STEPS["linear"]
    compiled = clew.compile(step)
    inputs = [clew.randn(8, 32) for _ in range(8)]
    compiled(inputs[0]), compiled(inputs[0])
    right = [bits(compiled(each)) for each in inputs]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            if bits(compiled(inputs[number])) != right[number]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert not wrong and not any(each.is_alive() for each in threads)


def test_memory_of_an_arena_is_used_again() -> None:
    def step(x: clew.Tensor) -> clew.Tensor:
        for _ in range(20):
            x = (x @ WEIGHT).tanh()
        return x

    compiled = clew.compile(step)
    compiled(OTHER), compiled(OTHER)
    (segment,) = segments(compiled)
    assert segment.arena_size <= 3 * OTHER.nbytes


def layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> Layout:
    return Layout(None, 0, shape, strides, np.dtype(np.float32))


def test_loops_that_are_one_in_memory_are_one() -> None:
    whole = layout((4, 5, 6), (120, 24, 4))
    assert loops_over(None, [whole, whole]) == ((120,), (4, 4), ())
    row = layout((6,), (4,))
    assert loops_over(None, [whole, row, whole]) == ((6,), (4, 4, 4), ((20, (24, 0, 24)),))
    permuted = whole.permuted((2, 0, 1))
    assert loops_over(None, [permuted, permuted]) == ((6,), (4, 4), ((20, (24, 24)),))
    assert core_dims("(m,k),(k,n)->(m,n)", 3) == [("m", "k"), ("k", "n"), ("m", "n")]
    loops = loops_over("(n)->()", [whole, layout((4, 5), (20, 4))])
    assert loops == ((20, 6), (24, 4, 4), ())
